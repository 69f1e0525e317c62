"""What counts of a soak so far, by the rules of the gate: read on from where it stopped, and no more often than it is worth."""

from __future__ import annotations

import time
from dataclasses import dataclass

from checks.parsers import soak_journal, soak_state
from checks.parsers.soak_journal import Line, Segment
from checks.probe import UnreadableOutput
from checks.soak.accounting import Account, account
from checks.soak.sampling import Sampled, sampled
from checks.soak.tables import Table, joined, tables, tells
from checks.soak.track import track
from kvgate.soak.store import Copy, Store

#: Reckoning takes no more than such a share of the time of whoever looks.
_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Reckoned:
    """One host: its minutes, and the stream that was sampled worst. ``why`` instead, where the journal cannot be read."""

    account: Account | None = None
    worst: Sampled | None = None
    why: str = ""


class Reckoning:
    """Reckons one host's copy again and again."""

    def __init__(self, store: Store, host: str) -> None:
        self._store, self._host = store, host
        self._story: list[Line] = []
        self._parts: dict[str, list[Table]] = {}
        self._read = 0  # number of the last segment that is read and closed
        self._again, self._found = 0.0, Reckoned()

    def look(self, *, now: bool = False) -> Reckoned:
        """Reckon, or return what was reckoned a moment ago, unless it shall be of now."""
        begun = time.monotonic()
        if begun < self._again and not now:
            return self._found
        try:
            self._found = self._reckon()
        except UnreadableOutput as error:
            self._found = Reckoned(why=str(error))
        self._again = time.monotonic() + (time.monotonic() - begun) / _SHARE
        return self._found

    def _reckon(self) -> Reckoned:
        segments = Copy.listed(self._store.path / self._host)
        if not segments:
            return Reckoned()
        *closed, (_, last) = segments
        for number, path in closed:
            if number > self._read:
                self._take(soak_journal.parse(path.read_text("utf-8", "surrogateescape")), self._story, self._parts)
                self._read = number
        story, parts = list(self._story), {name: list(some) for name, some in self._parts.items()}
        text = last.read_text("utf-8", "surrogateescape")
        if whole := text[: text.rfind("\n") + 1]:
            self._take(soak_journal.parse(whole), story, parts)
        if not story:
            return Reckoned()
        raw = self._store.state(self._host)
        state = None if raw is None else soak_state.parse(raw.decode("ascii"))
        found = track(story, {name: joined(some) for name, some in parts.items()}, state)
        return Reckoned(account(found), min(sampled(found), key=lambda one: one.share, default=None))

    @staticmethod
    def _take(segment: Segment, story: list[Line], parts: dict[str, list[Table]]) -> None:
        story += [line for line in segment.lines if tells(line)]
        for stream, table in tables(segment.lines).items():
            parts.setdefault(stream, []).append(table)
