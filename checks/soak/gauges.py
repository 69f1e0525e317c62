"""Values that go up and down over a soak: their hours, their ends, and the first and last state of everything that has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checks.parsers import chronyc_tracking
from checks.probe import UnreadableOutput
from checks.soak.restarts import Windows, restarts
from checks.soak.sampling import good
from checks.soak.track import Track

#: What is kept of each stream: its fields, and whether every minute is (for a picture) or every hour.
KEPT: Mapping[str, tuple[str, ...]] = {
    "memory": ("MemAvailable", "MemTotal", "SUnreclaim", "Slab"),
    "process": ("rss_bytes", "fds"),
    "worker": ("rss_bytes", "fds", "cpu_seconds", "journal_bytes", "late_seconds"),
    "load": ("files", "load1"),
    "space": ("available", "size", "inodes_free", "inodes"),
    "thermal": ("celsius", "max", "critical"),
}

#: Words that tell what a thing is and how it stands; they must be the same at the end.
STANDING: Mapping[str, tuple[str, ...]] = {
    "nvme": ("state", "transport", "serial", "subsysnqn", "ana_state", "address"),
    "net": ("operstate",),
    "rdma": ("state", "phys_state"),
}


#: What must not grow, and so is told restart by restart too.
_GROWING = frozenset({
    ("memory", "MemAvailable"), ("load", "files"), *((stream, field) for stream in ("process", "worker") for field in ("rss_bytes", "fds")),
})  # fmt: skip

#: Seconds after a begin in which caches fill and allocators find their size: no slope is told of them.
FILLING = 7200.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A value from one restart to the next, in seconds of the soak.

    ``hours`` are its hours (middle in hours of the soak, median) without those in which it filled; ``floor`` is its median while
    it filled, None where the stretch is no longer than that.
    """

    begin: float
    end: float
    hours: tuple[tuple[float, float], ...]
    floor: float | None


@dataclass(frozen=True, slots=True)
class Gauge:
    """One value over the soak: medians of its hours (hour, median), lowest and highest with their minutes, first and last.

    ``stretches`` are those between restarts, of values that must not grow.
    """

    stream: str
    subject: str
    field: str
    hours: tuple[tuple[int, float], ...]
    low: float
    low_at: int
    high: float
    high_at: int
    first: float
    last: float
    stretches: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class Clock:
    """Offsets of the clock as its daemon tells: how many were read, the largest and its minute, how many told nothing."""

    read: int
    largest: float
    largest_at: int
    unsynchronised: int
    first_unsynchronised: int | None
    untold: int
    why: str


def gauges(track: Track) -> tuple[Gauge, ...]:
    """Return every kept value."""
    found = []
    for stream, fields in KEPT.items():
        table = track.tables.get(stream)
        if table is None:
            continue
        rows = good(table)
        for subject in sorted({*table.subject} - {""}):
            mine = rows & (table.subject == subject)
            for field in fields:
                if field in table.numbers:
                    values = table.numbers[field]
                    known = mine & ~np.isnan(values)
                    if known.any():
                        seconds, told = track.seconds[stream][known], values[known]
                        grows = (stream, field) in _GROWING
                        stretches = _stretches(restarts(track, stream, subject), seconds, told) if grows else ()
                        found.append(_gauge(stream, subject, field, seconds, told, tuple(stretches)))
    return tuple(found)


def _stretches(
    windows: Windows, seconds: npt.NDArray[np.float64], values: npt.NDArray[np.float64]
) -> Iterable[Stretch]:
    """What was told between restarts; a sample within one belongs to neither side."""
    place = np.zeros(len(seconds), dtype=np.int64)
    inside = np.zeros(len(seconds), dtype=bool)
    for begin, end in windows:
        place += seconds >= end
        inside |= (seconds > begin) & (seconds < end)
    for number in np.unique(place[~inside]):
        mine = (place == number) & ~inside
        when, value = seconds[mine], values[mine]
        begin, end = float(when[0]), float(when[-1])
        since = when - begin
        hour = (since // 3600).astype(np.int64)
        hours = tuple(
            (begin / 3600 + int(one) + 0.5, float(np.median(value[hour == one])))
            for one in np.unique(hour[since >= FILLING])
        )
        filled = float(np.median(value[since < FILLING])) if end - begin > FILLING else None
        yield Stretch(begin, end, hours, filled)


def _gauge(
    stream: str, subject: str, field: str, seconds: npt.NDArray[np.float64], values: npt.NDArray[np.float64],
    stretches: tuple[Stretch, ...],
) -> Gauge:  # fmt: skip
    hour = (seconds // 3600).astype(np.int64)
    edges = np.flatnonzero(np.diff(hour)) + 1
    hours = tuple(
        (int(part_hour[0]), float(np.median(part)))
        for part_hour, part in zip(np.split(hour, edges), np.split(values, edges), strict=True)
    )
    low, high = int(np.argmin(values)), int(np.argmax(values))
    return Gauge(
        stream, subject, field, hours,
        float(values[low]), int(seconds[low] // 60), float(values[high]), int(seconds[high] // 60),
        float(values[0]), float(values[-1]), stretches,
    )  # fmt: skip


def standing(track: Track, *, last: bool) -> Mapping[tuple[str, str, str], str]:
    """How everything stood in the first or the last sample of each stream, by stream, subject and field."""
    found: dict[tuple[str, str, str], str] = {}
    for stream, fields in STANDING.items():
        table = track.tables.get(stream)
        if table is None or not len(table):
            continue
        told = table.seq[
            (table.subject != "") | good(table)
        ]  # where all was read and nothing is there, that is how it stands
        if not len(told):
            continue
        for row in np.flatnonzero((table.seq == (told[-1] if last else told[0])) & (table.subject != "")):
            words = {field: table.texts[field][row] for field in fields if field in table.texts}
            found[stream, str(table.subject[row]), ""] = "present"
            found |= {
                (stream, str(table.subject[row]), field): str(word) for field, word in words.items() if word is not None
            }
    space = track.tables.get("space")
    if space is not None and len(space):
        for row in np.flatnonzero(space.seq == (space.seq[-1] if last else space.seq[0])):
            for field in ("mounted", "read_only"):
                value = space.numbers[field][row] if field in space.numbers else np.nan
                if not np.isnan(value):
                    found["space", str(space.subject[row]), field] = "yes" if value else "no"
    return found


def clock(track: Track) -> Clock | None:
    """Read the offsets of the clock; None where the journal holds none."""
    table = track.tables.get("clock")
    if table is None:
        return None
    seconds, rows = track.seconds["clock"], good(table)
    texts = table.texts.get("stdout", np.full(len(table), None, dtype=object))
    read, largest, largest_at, loose, loose_at, untold, why = 0, 0.0, 0, 0, None, 0, ""
    for place in range(len(table)):
        minute = int(seconds[place] // 60)
        try:
            if not rows[place] or not texts[place]:
                raise UnreadableOutput("the tool did not answer")
            tracking = chronyc_tracking.parse(str(texts[place]))
        except UnreadableOutput as error:
            untold, why = untold + 1, why or f"{error} (minute {minute})"
            continue
        read += 1
        if tracking.leap == "Not synchronised":
            loose, loose_at = loose + 1, minute if loose_at is None else loose_at
        if abs(tracking.offset) > largest:
            largest, largest_at = abs(tracking.offset), minute
    return Clock(read, largest, largest_at, loose, loose_at, untold, why)
