"""When the clock of a host can be trusted, and when the clocks of a rack agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.parsers.chronyc_sources import Sources
from checks.parsers.chronyc_tracking import Tracking
from checks.parsers.timedatectl import TimeDate
from checks.phrase import Phrase, say
from checks.verdict import Quantity, Verdict

_SYNCHRONISED = frozenset({"Normal", "Insert second", "Delete second", "normal"})
#: What chrony names as its reference when it has none and serves its own clock (127.127.1.1), or has not begun.
_OWN_CLOCK = frozenset({"7F7F0101", "127.127.1.1"})


def clock_synchronised(found: Tracking | TimeDate, offset_ms: float, stratum: int, dispersion_ms: float) -> Verdict:
    """The time daemon follows a source of at most ``stratum``, within ``offset_ms``, and its estimate is not stale."""
    required = say("synchronised, stratum 1-{stratum}, offset at most {limit} ms", stratum=stratum, limit=offset_ms)
    leap = found.leap
    if isinstance(found, TimeDate) and found.server is None:
        return Verdict.of(False, say("not synchronised: no server answers"), required)
    if isinstance(found, Tracking) and found.reference.upper() in _OWN_CLOCK:
        return Verdict.of(False, say("follows its own clock ('local stratum'), no source"), required)
    if leap not in _SYNCHRONISED:
        return Verdict.of(False, say("leap status: {leap}", leap=leap or "-"), required)
    if found.stratum is None or found.offset is None:
        return Verdict.undecided(say("the time daemon does not tell stratum and offset"), required)
    milliseconds = abs(found.offset) * 1000
    shown = f"{milliseconds:.6g}"
    measured = say("stratum {stratum}, offset {offset} ms", stratum=found.stratum, offset=shown)
    holds = 1 <= found.stratum <= stratum and milliseconds <= offset_ms
    note: Phrase | None = None
    if isinstance(found, Tracking) and found.root_dispersion * 1000 > dispersion_ms:
        holds = False
        note = say(
            "root dispersion {found} s, at most {limit} ms: the source has not answered for long",
            found=found.root_dispersion, limit=dispersion_ms,
        )  # fmt: skip
    return Verdict.of(holds, measured, required, "ms", note, (Quantity("clock offset", milliseconds, "ms"),))


def kernel_clock_synchronised(found: TimeDate) -> Verdict:
    """The kernel counts its clock as synchronised, whichever daemon does it."""
    if found.synchronized is None:
        return Verdict.undecided(say("systemd does not tell whether the clock is synchronised"), say("synchronised"))
    return Verdict.of(
        found.synchronized, say("synchronised") if found.synchronized else say("not synchronised"), say("synchronised")
    )


def time_source_answers(found: Sources) -> Verdict:
    """The selected source has answered each of the last eight polls."""
    required = say("a selected source with reach 377")
    selected = [source for source in found.sources if source.state == "*"]
    if not selected:
        return Verdict.of(False, say("{count} sources, none selected", count=len(found.sources)), required)
    measured = say("{source}, reach {reach:o}", source=selected[0].name, reach=selected[0].reach)
    if selected[0].name.startswith("127."):  # 127.127.1.0: the host's own clock, written down as if it were a server
        return Verdict.of(False, measured, required, note=say("follows its own clock ('local stratum'), no source"))
    return Verdict.of(selected[0].reach == 0o377, measured, required)


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the clocks of several hosts are apart, in seconds: at least ``least``, at most ``most``."""

    least: float
    most: float
    ahead: str
    behind: str


def spread(clocks: Mapping[str, tuple[float, float]]) -> Spread:
    """From each host's clock as an interval (low, high) to the spread. Raises ValueError without clocks."""
    if not clocks:
        raise ValueError("no clocks to compare")
    ahead = max(clocks, key=lambda host: clocks[host][0])
    behind = min(clocks, key=lambda host: clocks[host][1])
    most = max(high for _, high in clocks.values()) - min(low for low, _ in clocks.values())
    if len(clocks) == 1:
        most = 0.0
    return Spread(max(0.0, clocks[ahead][0] - clocks[behind][1]), most, ahead, behind)


def clocks_agree(found: Spread, limit_ms: float) -> Verdict:
    """The clocks of all hosts lie within ``limit_ms`` of each other, the uncertainty of the measurement included."""
    least, most = found.least * 1000, found.most * 1000
    required = say("at most {limit:g} ms apart", limit=limit_ms)
    measured = say("{least:.1f} to {most:.1f} ms apart", least=least, most=most)
    if least <= limit_ms < most:
        note = say("the round trip over SSH is too long to tell: ask again from nearer, or on a quiet network")
        return Verdict.undecided(note, required, measured)
    who: Phrase | None = None
    if found.ahead != found.behind:
        who = say("{ahead} is ahead of {behind}", ahead=found.ahead, behind=found.behind)
    return Verdict.of(most <= limit_ms, measured, required, "ms", who, (Quantity("clock spread", most, "ms"),))
