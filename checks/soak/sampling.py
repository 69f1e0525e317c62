"""How completely a host was sampled, stream by stream; a gap is a defect of the evidence and never silently good."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checks.soak.outages import scheduled
from checks.soak.tables import Table, said
from checks.soak.track import Track

#: Streams without which nobody can say what a minute was.
CORE = ("disk", "net", "nvme", "memory", "space", "load", "kernel")

#: What a sample must tell of each subject, so that somebody can say whether it was there: one of these fields.
_STANDING = {"nvme": ("state", "ana_state"), "net": ("operstate",), "rdma": ("state",), "space": ("mounted",)}

#: Streams whose subjects come and go by nature.
_PASSING = frozenset({"kernel"})

#: Streams that cannot answer while the engine is restarted as planned.
_ENGINE = frozenset({"metrics", "process"})

#: Periods without a sample after which the time between is a gap.
_PERIODS = 3


@dataclass(frozen=True, slots=True)
class Sampled:
    """One stream: samples that were due and that are there, of its worst subject; ``why`` one gave none, if it said so."""

    stream: str
    wanted: int
    got: int
    subject: str
    longest: float
    at: float
    why: str
    twice: int

    @property
    def share(self) -> float:
        """Share of the samples that are there; 0 where none was due."""
        return self.got / self.wanted if self.wanted else 0.0


def good(table: Table) -> npt.NDArray[np.bool_]:
    """Rows that tell something: no error, and of a tool an exit status of 0 (of a page 200)."""
    rows = np.ones(len(table), dtype=bool)
    if "error" in table.texts:
        rows &= ~said(table.texts["error"])
    if "stdout" in table.texts and "status" in table.numbers:
        rows &= np.isin(table.numbers["status"], (0.0, 200.0))
    return rows


def sampled(track: Track) -> tuple[Sampled, ...]:
    """Every planned stream; samples due while the host was off or asleep are not wanted."""
    return tuple(_sampled(track, stream) for stream in track.plan.streams)


def _sampled(track: Track, stream: str) -> Sampled:
    every = track.plan.streams[stream].every
    wanted = _wanted(track, stream, every)
    table = track.tables.get(stream)
    if table is None:
        return Sampled(stream, len(wanted), 0, "", track.last, 0.0, "", 0)
    rows = good(table)
    subjects = list(track.plan.streams[stream].subjects) or sorted({*table.subject} - {""}) or [""]
    if stream in _PASSING:
        subjects = [""]
    counts = []
    for subject in subjects:
        mine = rows if stream in _PASSING else rows & (table.subject == subject)
        counts.append((int(np.isin(wanted, np.unique(table.tick[mine])).sum()), subject))
    got, worst = min(counts)
    mine = rows if stream in _PASSING else rows & (table.subject == worst)
    longest, at = _longest(track.seconds[stream][mine], track.last)
    errors = table.texts["error"][(table.subject == worst) | (table.subject == "")] if "error" in table.texts else ()
    why = next((str(one) for one in errors if one), "")
    firsts = np.unique(table.seq[np.concatenate(([True], table.seq[1:] != table.seq[:-1]))])
    ticks = len(np.unique(table.tick))
    return Sampled(stream, len(wanted), got, worst, longest, at, why, len(firsts) - ticks)


def _wanted(track: Track, stream: str, every: float) -> npt.NDArray[np.int64]:
    last = min(track.last, track.plan.seconds)
    # The tick that falls on the end is not wanted: the worker may have ended just before it.
    ticks = np.arange(1, int(np.ceil((last - 1e-6) / every)), dtype=np.int64)
    away = [(one.begin - every, one.end + every) for one in track.breaks]
    if stream in _ENGINE:
        away += [(begin - every, end + every) for begin, end in scheduled(track)]
    due = ticks * every
    keep = np.ones(len(ticks), dtype=bool)
    for begin, end in away:
        keep &= (due < begin) | (due > end)
    return ticks[keep]


def _longest(seconds: npt.NDArray[np.float64], last: float) -> tuple[float, float]:
    """The longest time without a sample and where it begins, from the soak's begin to its last line."""
    edges = np.concatenate(([0.0], np.sort(seconds), [last]))
    steps = np.diff(edges)
    place = int(np.argmax(steps))
    return float(steps[place]), float(edges[place])


def gaps(track: Track) -> Iterable[tuple[float, float]]:
    """Times (seconds of the soak) in which a core stream, or one of its subjects, is silent for more than three of its periods."""
    for stream, fields in _STANDING.items():
        if stream in track.plan.streams and (standing := track.tables.get(stream)) is not None:
            yield from _untold(track, stream, standing, fields)
    for stream in CORE:
        if stream not in track.plan.streams:
            continue
        every = track.plan.streams[stream].every
        table = track.tables.get(stream)
        if table is None:
            yield 0.0, track.last
            continue
        known = np.unique(track.seconds[stream][good(table) | (table.subject != "")])
        # What a break explains is an interruption and no gap.
        broken = [
            edge for one in track.breaks for edge in np.arange(one.begin, min(one.end, track.last) + every, every)
        ]
        edges = np.sort(np.concatenate(([0.0], known, broken, [min(track.last, track.plan.seconds)])))
        steps = np.diff(edges)
        for place in np.flatnonzero(steps > _PERIODS * every + 1.0):
            yield float(edges[place] + every), float(edges[place + 1])


def _untold(track: Track, stream: str, table: Table, fields: tuple[str, ...]) -> Iterable[tuple[float, float]]:
    """Times in which a subject that tells how it stands does not, though it is there. One that is not there is another matter."""
    told = np.zeros(len(table), dtype=bool)
    for field in fields:
        if field in table.texts:
            told |= said(table.texts[field])
        if field in table.numbers:
            told |= ~np.isnan(table.numbers[field])
    most = _PERIODS * track.plan.streams[stream].every
    for subject in sorted({*table.subject[~told]} - {""}):
        mine = table.subject == subject
        when, dark = track.seconds[stream][mine], ~told[mine]
        if dark.all():
            continue  # it never tells: what that means the clauses of its stream say
        edges = np.flatnonzero(np.diff(np.concatenate(([0], dark.astype(np.int8), [0]))))
        for first, after in zip(edges[::2], edges[1::2], strict=True):
            end = float(when[after]) if after < len(when) else track.last
            if end - float(when[first]) > most:
                yield float(when[first]), end
