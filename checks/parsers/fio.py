"""``fio --output-format=json``: what a load run did, how it ended, and what makes its numbers worth reading.

Seen: 2.21 (microseconds, KiB/s only, ``0.00`` repeated among the percentiles), 3.33 and 3.42 (nanoseconds, B/s). Notes and
error lines stand around the JSON; with ``--status-interval`` several documents follow one another and the last is the
result. Directions that did nothing are filled with zeros by fio and left out here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import decimal, entry, json_documents
from checks.probe import UnreadableOutput

COMMAND = "fio"

_NUMBER = (int, float)


@dataclass(frozen=True, slots=True)
class Latency:
    """One latency distribution in nanoseconds. ``percentiles`` are (percent, ns) pairs; empty when the job kept none."""

    mean_ns: float
    max_ns: float
    percentiles: tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True)
class Direction:
    """What one direction (read, write, trim) moved. ``clat`` is completion, ``lat`` total latency; None: not recorded."""

    name: str
    io_bytes: int
    total_ios: int
    runtime_ms: int
    iops: float
    bytes_per_second: int
    clat: Latency | None
    lat: Latency | None


@dataclass(frozen=True, slots=True)
class Job:
    """One job (or one group). ``error`` is an errno: 84 is a failed verify. ``total_errors`` is None when fio gives none.

    ``user_cpu`` and ``system_cpu`` are percent of one core, of all processes of the group together.
    """

    name: str
    error: int
    total_errors: int | None
    first_error: int | None
    options: tuple[tuple[str, str], ...]
    directions: tuple[Direction, ...]
    user_cpu: float | None = None
    system_cpu: float | None = None


@dataclass(frozen=True, slots=True)
class FioRun:
    """The last document of a run. ``notes`` are the lines that fio printed around the JSON."""

    version: str
    documents: int
    options: tuple[tuple[str, str], ...]
    jobs: tuple[Job, ...]
    notes: tuple[str, ...]

    @property
    def interrupted(self) -> bool:
        """Whether fio says that a signal ended the run; ``error`` stays 0 then."""
        return any("terminating on signal" in note for note in self.notes)


def parse(text: str) -> FioRun:
    """Read the last JSON document, or say what fio printed instead."""
    if not text.strip():
        raise UnreadableOutput("the output is empty: fio was killed or never started")
    if re.search(r"^\{", text, re.MULTILINE) is None:
        raise UnreadableOutput(f"fio printed no result, it says: {text.strip().splitlines()[0][:160]!r}")
    documents = json_documents(text, placeholders=("0.00",))
    last = documents[-1]
    version = entry(last, "fio version", str, "fio")
    jobs = entry(last, "jobs", list, "fio")
    if not jobs:
        raise UnreadableOutput("fio lists no jobs")
    return FioRun(
        version=version,
        documents=len(documents),
        options=_options(last, "global options"),
        jobs=tuple(_job(job) for job in jobs),
        notes=_notes(text),
    )


def _notes(text: str) -> tuple[str, ...]:
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        if inside:
            inside = not line.startswith("}")
        elif line.startswith("{"):
            inside = not line.rstrip().endswith("}")
        elif line.strip():
            found.append(line.strip())
    return tuple(found)


def _options(table: Any, key: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(table, dict) or key not in table:
        return ()
    options = entry(table, key, dict, "fio")
    return tuple((name, entry(options, name, str, key)) for name in options)


def _job(job: Any) -> Job:
    return Job(
        name=entry(job, "jobname", str, "job"),
        error=entry(job, "error", int, "job"),
        total_errors=entry(job, "total_err", int, "job") if "total_err" in job else None,
        first_error=entry(job, "first_error", int, "job") if "first_error" in job else None,
        options=_options(job, "job options"),
        directions=tuple(
            direction
            for name in ("read", "write", "trim")
            if (direction := _direction(name, entry(job, name, dict, "job"))) is not None
        ),
        user_cpu=float(entry(job, "usr_cpu", _NUMBER, "job")) if "usr_cpu" in job else None,
        system_cpu=float(entry(job, "sys_cpu", _NUMBER, "job")) if "sys_cpu" in job else None,
    )


def _direction(name: str, table: dict[str, Any]) -> Direction | None:
    moved = entry(table, "io_bytes", int, name)
    ios = entry(table, "total_ios", int, name)
    runtime = entry(table, "runtime", int, name)
    if moved == 0 and ios == 0 and runtime == 0:
        return None
    rate = entry(table, "bw_bytes", int, name) if "bw_bytes" in table else entry(table, "bw", int, name) * 1024
    return Direction(
        name=name,
        io_bytes=moved,
        total_ios=ios,
        runtime_ms=runtime,
        iops=float(entry(table, "iops", _NUMBER, name)),
        bytes_per_second=rate,
        clat=_latency(table, "clat", name),
        lat=_latency(table, "lat", name),
    )


def _latency(direction: dict[str, Any], kind: str, name: str) -> Latency | None:
    key, factor = (f"{kind}_ns", 1) if f"{kind}_ns" in direction else (kind, 1000)
    table = entry(direction, key, dict, name)
    mean = entry(table, "mean", _NUMBER, key)
    top = entry(table, "max", _NUMBER, key)
    if ("N" in table and entry(table, "N", int, key) == 0) or (mean == 0 and top == 0):
        return None
    given = entry(table, "percentile", dict, key) if "percentile" in table else {}
    return Latency(
        mean_ns=round(float(mean) * factor, 6),
        max_ns=float(top) * factor,
        percentiles=tuple(
            (decimal(percent, "percentile"), entry(given, percent, int, key) * factor) for percent in given
        ),
    )
