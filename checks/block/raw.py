"""Load on a raw disk, behind the guard: filled twice over, then random writes until they are steady."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from checks.block import burst as bursts
from checks.block import guard
from checks.block.guard import Guarded
from checks.block.live import rates
from checks.block.patterns import Pattern
from checks.block.rounds import Round
from checks.block.trials import PACE
from checks.parsers import fio
from checks.parsers.fio import FioRun
from checks.phrase import say
from checks.probe import UnreadableOutput, Word
from checks.trial import Step, Trial

#: Bytes a second that filling is given at least: below it a disk hangs.
_SLOWEST = 200 * 10**6
_FILLS = 2


def steady_writes(
    host: str,
    serial: str,
    capacity: int,
    pattern: Pattern,
    count: int,
    at_most: int,
    enough: Callable[[Sequence[Round]], bool],
    device: Word | None = None,
    root: str = "/sys",
) -> Trial[Round]:
    """Write the whole disk twice, then ``pattern`` in rounds until ``enough``. Everything on the disk is lost.

    Runs only on a disk that the guard finds clear, each time anew.
    """

    def written(words: tuple[str, ...], limit: float) -> Any:
        return guard.write(serial, words, fio.parse, limit, device, root)

    fill = (
        "fio", "--name=fill", f"--size={capacity}", f"--loops={_FILLS}", "--rw=write", "--bs=131072", "--iodepth=32",
        "--ioengine=libaio", "--direct=1", "--refill_buffers=1", "--output-format=json",
    )  # fmt: skip
    others = ("--filename", "--allow_file_create")
    load = tuple(word for word in pattern.argv("", capacity) if not word.startswith(others))
    return Trial(
        id=f"raw.{pattern.name}:{host}:{serial}",
        title=say("{pattern} on the raw disk {serial} of {host}", pattern=pattern.name, serial=serial, host=host),
        prepare=(
            (Step("guard", host, guard.look(serial, device, root), must=guard.clear),),
            (Step("fill", host, written(fill, 600.0 + _FILLS * capacity / _SLOWEST), must=guard.clear),),
        ),
        stages=((Step("load", host, written(load, pattern.seconds + pattern.ramp + 60.0), must=guard.clear),),),
        read=partial(_read, pattern=pattern, serial=serial, capacity=capacity),
        errors_decide=True,
        rounds=count,
        at_most=at_most,
        enough=enough,
        seconds=pattern.seconds + pattern.ramp + 5.0,
        setup=_FILLS * capacity / PACE,
        live=rates(host),
    )


def _read(facts: Mapping[str, Any], pattern: Pattern, serial: str, capacity: int) -> Round:
    if "fill" in facts:
        _filled(facts["fill"], capacity)
    found: Guarded[FioRun] = facts["load"]
    if found.said is None:
        raise UnreadableOutput("fio did not run")
    moved = bursts.moved(found.said, pattern, capacity)
    if moved.clat is None or not moved.clat.percentiles:
        raise UnreadableOutput("fio kept no latencies")
    return Round(
        bytes_per_second=float(moved.bytes_per_second),
        iops=moved.iops,
        io_bytes=moved.io_bytes,
        latency_us={percent: nanoseconds / 1000 for percent, nanoseconds in moved.clat.percentiles},
        cpu_percent=None,
        version=found.said.version,
        device=serial,
        device_bytes=None,
        watched=say("a raw disk is not watched beside fio"),
        celsius=(None, None),
    )


def _filled(found: Guarded[FioRun], capacity: int) -> None:
    run = found.said
    if run is None or run.interrupted or any(job.error or job.total_errors for job in run.jobs):
        raise UnreadableOutput("the disk could not be filled")
    moved = sum(one.io_bytes for job in run.jobs for one in job.directions if one.name == "write")
    if moved < _FILLS * capacity:
        raise UnreadableOutput(f"the disk was filled with {moved:,} bytes, wanted {_FILLS * capacity:,}")
