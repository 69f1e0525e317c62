"""One measured load: fio and iostat side by side, and whether its numbers may be believed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from checks.block.patterns import Pattern
from checks.parsers import fio, iostat
from checks.parsers.fio import Direction, FioRun
from checks.parsers.iostat import Activity, Report
from checks.phrase import Phrase, say
from checks.probe import Level, Probe, Streams, UnreadableOutput

#: Reports at each end of iostat's list that may be of a second in which the load began or ended.
_EDGE = 1

# Both at the same time: fio and its notes on stdout, iostat on stderr. -y leaves out the average since boot.
_TOGETHER = (
    "iostat -x -y -o JSON 1 >&2 & watch=$!; "
    '"$@" 2>&1; status=$?; '
    'kill -INT "$watch" 2>/dev/null; wait "$watch"; exit "$status"'
)
_PATH = re.compile(r"nvme(\d+)c\d+n(\d+)")
_IOSTAT = '{"sysstat"'


@dataclass(frozen=True, slots=True)
class Burst:
    """What fio and iostat said. ``reports`` is empty where iostat said something else, kept in ``without``."""

    run: FioRun
    reports: tuple[Report, ...]
    without: str = ""


def burst(pattern: Pattern, file: str, size: int) -> Probe[Burst]:
    """Load a file and watch the device. The limit leaves fio time to open, ramp and close."""
    argv = ("sh", "-c", _TOGETHER, "sh", *pattern.argv(file, size))
    limit = pattern.seconds + pattern.ramp + 60.0
    return Probe(f"fio-{pattern.name}", argv, parse, limit, streams=Streams.BOTH, level=Level.LOAD)


def parse(text: str) -> Burst:
    """Read fio's result and iostat's reports. Raises UnreadableOutput where fio gave none."""
    place = text.find(_IOSTAT)
    said, watched = (text, "") if place < 0 else (text[:place], text[place:])
    try:
        reports = iostat.parse(watched) if watched else ()
        without = "" if reports else "iostat printed nothing"
    except UnreadableOutput as error:
        reports, without = (), str(error)
    return Burst(fio.parse(said), reports, without)


def moved(run: FioRun, pattern: Pattern, size: int, file: str = "") -> Direction:
    """Return what the asked direction moved. Raises UnreadableOutput with the reason why the run does not count.

    ``size`` is the working set that was asked for, ``file`` where; empty: its name was found by the guard.
    """
    if (why := invalid(run, pattern, size, file)) is not None:
        raise UnreadableOutput(str(why))
    return next(one for one in run.jobs[0].directions if one.name == pattern.way.direction)


def invalid(run: FioRun, pattern: Pattern, size: int, file: str = "") -> Phrase | None:
    """Say why a run must not be shown as a number, or None.

    fio ends with status 0 and fine-looking rates after SIGTERM, after a failed verify that it was told to go on from, and
    where a disk was full: each of these leaves another trace. A smaller working set, one job instead of eight, another file
    or engine measure something else; so does a run that went the other way too.
    """
    if run.interrupted:
        return say("fio was ended by a signal")
    if len(run.jobs) != 1:
        return say("fio reports {count} jobs, wanted one group", count=len(run.jobs))
    job = run.jobs[0]
    if job.error or job.total_errors:
        count = job.total_errors or 0
        return say("fio reports error {error} ({count} in all)", error=job.error or job.first_error or 0, count=count)
    settings = dict((*run.options, *job.options))
    wrong = [
        f"{name}={settings.get(name)}" for name, value in _wanted(pattern, size, file) if settings.get(name) != value
    ]
    if wrong:
        return say("fio ran with other settings than asked: {wrong}", wrong=", ".join(wrong))
    found = [one for one in job.directions if one.name == pattern.way.direction]
    if not found or found[0].io_bytes <= 0 or found[0].total_ios <= 0:
        return say("fio moved nothing in the asked direction")
    if other := [one.name for one in job.directions if one.name != pattern.way.direction and one.io_bytes > 0]:
        return say("fio moved bytes that nobody asked for: {names}", names=", ".join(other))
    if found[0].runtime_ms < 980 * pattern.seconds:
        seconds = found[0].runtime_ms / 1000
        return say("fio ran {seconds:.1f} s of {wanted} s", seconds=seconds, wanted=pattern.seconds)
    return None


def _wanted(pattern: Pattern, size: int, file: str) -> Sequence[tuple[str, str]]:
    return (
        ("direct", "1"), ("rw", pattern.way.value), ("bs", str(pattern.block)), ("iodepth", str(pattern.depth)),
        ("runtime", str(pattern.seconds)), ("numjobs", str(pattern.jobs)), ("size", str(size)), ("ioengine", "libaio"),
        *((("filename", file),) if file else ()),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Watched:
    """The device's own view in the middle of a load: bytes a second in the asked direction, utilisation in percent.

    ``other`` is what it moved in the direction that nobody asked for, bytes a second.
    """

    bytes_per_second: float
    utilisation: float
    queue: float
    other: float


def watched(found: Burst, pattern: Pattern, device: str) -> Watched | Phrase:
    """Average of the whole seconds that iostat saw of a device, ramp and edges left out; or why there is none."""
    if not found.reports:
        return say("iostat did not watch: {why}", why=found.without)
    inside = found.reports[pattern.ramp + _EDGE : pattern.ramp + pattern.seconds - _EDGE]
    seen = [row for report in inside if (row := _row(report, device)) is not None]
    if len(seen) < max(1, pattern.seconds - 2 * _EDGE - 2):
        return say(
            "iostat saw {device} in {count} of {wanted} seconds", device=device, count=len(seen), wanted=pattern.seconds
        )
    reading = pattern.way.direction == "read"
    read, written = fmean(row.read_bytes for row in seen), fmean(row.write_bytes for row in seen)
    asked, other = (read, written) if reading else (written, read)
    return Watched(asked, fmean(row.utilisation for row in seen), fmean(row.queue for row in seen), other)


def is_path_of(name: str, device: str) -> bool:
    """Whether ``nvme1c0n1`` is a path of ``nvme1n1``: older kernels count on the paths and leave the multipath device at 0."""
    found = _PATH.fullmatch(name)
    return found is not None and f"nvme{found[1]}n{found[2]}" == device


def _row(report: Report, device: str) -> Activity | None:
    """One device in one second; of a multipath device whichever level the kernel counts on."""
    own = next((one for one in report.devices if one.device == device), None)
    paths = [one for one in report.devices if is_path_of(one.device, device)]
    if own is None or (paths and own.reads == own.writes == 0):
        return _together(device, paths) if paths else own
    return own


def _together(device: str, paths: Sequence[Activity]) -> Activity:
    return Activity(
        device,
        sum(one.reads for one in paths),
        sum(one.writes for one in paths),
        sum(one.read_bytes for one in paths),
        sum(one.write_bytes for one in paths),
        max(one.read_wait_ms for one in paths),
        max(one.write_wait_ms for one in paths),
        sum(one.queue for one in paths),
        max(one.utilisation for one in paths),
    )
