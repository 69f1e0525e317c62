"""``gdsio``: result lines of the GPUDirect Storage load tool.

Seen: CUDA 12. ``XferType: GPUD`` says which path was asked for; it does not prove that nvidia-fs carried the data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import decimal, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "gdsio"

_RESULT = re.compile(
    r"IoType: (\S+) XferType: (\S+) Threads: (\d+)\s+DataSetSize: (\d+)/(\d+)\(KiB\) IOSize: (\d+)\(KiB\) "
    r"Throughput: (\d+\.\d+) GiB/sec, Avg_Latency: (\d+\.\d+) usecs ops: (\d+) total_time (\d+\.\d+) secs ?"
)


@dataclass(frozen=True, slots=True)
class GdsResult:
    """One result: sizes in bytes, throughput in bytes a second, latency in microseconds, time in seconds."""

    io_type: str
    transfer: str
    threads: int
    moved: int
    planned: int
    io_size: int
    throughput: float
    latency_us: float
    operations: int
    seconds: float


def parse(text: str) -> tuple[GdsResult, ...]:
    """Read every result line; other lines are talk, but a result line that does not fit is refused."""
    found: list[GdsResult] = []
    for line in lines(text):
        if "IoType:" not in line:
            continue
        match = _RESULT.fullmatch(line)
        if match is None:
            raise UnreadableOutput(f"found {line[:120]!r}, wanted a result line of gdsio")
        found.append(
            GdsResult(
                io_type=match[1],
                transfer=match[2],
                threads=integer(match[3], "Threads"),
                moved=integer(match[4], "DataSetSize") * 1024,
                planned=integer(match[5], "DataSetSize") * 1024,
                io_size=integer(match[6], "IOSize") * 1024,
                throughput=decimal(match[7], "Throughput") * 2**30,
                latency_us=decimal(match[8], "Avg_Latency"),
                operations=integer(match[9], "ops"),
                seconds=decimal(match[10], "total_time"),
            )
        )
    if not found:
        raise UnreadableOutput(f"no result line, the tool says: {text.strip().splitlines()[0][:120]!r}")
    return tuple(found)
