"""What the kernel wrote during a soak: every record read by the parser that reads kernel logs, with the minute it was written."""

from __future__ import annotations

from dataclasses import dataclass

from checks.parsers import dmesg
from checks.parsers.dmesg import Kind
from checks.soak.track import Track

#: Wordings that tell no trouble by themselves.
HARMLESS = frozenset({Kind.FABRIC_CONNECTED, Kind.FABRIC_RECOVERED, Kind.NFS_RECOVERED})

#: Troubles that a clause about counters weighs by their rate.
BY_RATE = frozenset({Kind.MEMORY_CORRECTED, Kind.AER_CORRECTED})

#: Wordings of a path to the array that went away or came back: each of them is a reconnect.
RECONNECTS = frozenset(
    {Kind.FABRIC_LOST, Kind.FABRIC_REMOVED, Kind.FABRIC_DISCONNECTED, Kind.FABRIC_RECOVERED, Kind.PATH_LOST, Kind.FABRIC_REFUSED}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Logged:
    """One record of trouble in the kernel's log."""

    minute: int
    kind: Kind
    device: str
    message: str


@dataclass(frozen=True, slots=True)
class Log:
    """The kernel's log over the soak. ``lost`` records were overwritten before they were read, the first in ``lost_at``."""

    records: int
    events: tuple[Logged, ...]
    lost: int
    lost_at: int | None

    def of(self, *kinds: Kind) -> tuple[Logged, ...]:
        """Events of these kinds."""
        return tuple(event for event in self.events if event.kind in kinds)


def log(track: Track) -> Log | None:
    """Read the kernel stream; None where the journal holds none."""
    table = track.tables.get("kernel")
    if table is None:
        return None
    seconds = track.seconds["kernel"]
    texts = table.texts.get("text")
    places = [place for place, subject in enumerate(table.subject) if subject and texts is not None and texts[place]]
    # Each record is one line: what the kernel wrote over several lines would move the numbers of the lines after it.
    lines = (
        [f"[{max(0.0, seconds[place]):.6f}] {' '.join(str(texts[place]).split())}" for place in places]
        if texts is not None
        else []
    )
    events: list[Logged] = []
    if lines:
        # Each line begins with a stamp that the parser knows: it never refuses, and silence is silence.
        found = dmesg.parse("\n".join(lines) + "\n")
        for kind, some in found.events.items():
            events += [Logged(int(seconds[places[one.line - 1]] // 60), kind, one.device, one.message) for one in some]
    lost, lost_at = 0, None
    if "lost" in table.numbers:
        for place, count in enumerate(table.numbers["lost"]):
            if count > 0:
                lost, lost_at = lost + int(count), int(seconds[place] // 60) if lost_at is None else lost_at
    return Log(len(lines), tuple(sorted(events, key=lambda one: one.minute)), lost, lost_at)
