"""Where a value of a host begins anew: its process was restarted, planned or not, or the whole machine was."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from checks.soak.outages import merged, scheduled
from checks.soak.track import Track

#: Times (seconds of the soak) from the last sample before a restart to the first one after it.
Windows = list[tuple[float, float]]


def restarts(track: Track, stream: str, subject: str) -> Windows:
    """When a value began anew: of a process its own restarts, of the worker its own, of the host those of every process.

    A reboot begins everything anew.
    """
    found = [(one.begin, one.end) for one in track.breaks if one.cause == "reboot"]
    if stream == "process":
        found += _others(track, subject)
    elif stream == "worker":
        found += [(one.begin, one.end) for one in track.breaks if one.cause == "worker"]
    else:
        found += scheduled(track)
        found += [window for process in _processes(track) for window in _others(track, process)]
    return merged(found)


def _processes(track: Track) -> Iterable[str]:
    table = track.tables.get("process")
    return sorted({*table.subject} - {""}) if table is not None else ()


def _others(track: Track, subject: str) -> Iterable[tuple[float, float]]:
    """From the last sample of a process to the first of the next one that has its name."""
    table = track.tables.get("process")
    if table is None or "pid" not in table.numbers:
        return
    pid = table.numbers["pid"]
    start = table.numbers.get("start", np.full(len(table), np.nan))
    rows = np.flatnonzero((table.subject == subject) & ~np.isnan(pid))
    before, after = rows[:-1], rows[1:]
    known = ~np.isnan(start[before]) & ~np.isnan(start[after])
    other = (pid[before] != pid[after]) | (known & (start[before] != start[after]))
    seconds = track.seconds["process"]
    yield from zip(seconds[before[other]].tolist(), seconds[after[other]].tolist(), strict=True)
