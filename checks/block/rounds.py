"""One round of a load on a file: what the device moved for it, how hot the disk was, and the numbers that came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.block import burst as bursts
from checks.block.burst import Burst, Watched, is_path_of
from checks.block.patterns import Pattern
from checks.nvme.facts import Health
from checks.parsers.diskstats import Moved
from checks.parsers.findmnt import Mounted
from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput
from checks.trial import Voided
from checks.units import show_bytes

#: Share of fio's bytes that the device must have moved at least: less means that memory answered.
_SERVED = 0.95

_NETWORK = ("nfs", "nfs4")


@dataclass(frozen=True, slots=True)
class Round:
    """Numbers of one round. Latencies in microseconds by percent; CPU in percent of one core.

    ``device_bytes`` is what the device moved while fio moved ``io_bytes`` (its ramp included); None on a network filesystem.
    """

    bytes_per_second: float
    iops: float
    io_bytes: int
    latency_us: Mapping[float, float]
    cpu_percent: float | None
    version: str
    device: str
    device_bytes: int | None
    watched: Watched | Phrase
    celsius: tuple[int | None, int | None]

    @property
    def brief(self) -> Phrase:
        """In a few words, for whoever watches."""
        return say("{rate}/s, {iops:,.0f} operations/s", rate=show_bytes(int(self.bytes_per_second)), iops=self.iops)


def read(facts: Mapping[str, Any], pattern: Pattern, path: str) -> Round:
    """Facts of the steps of a round -> its numbers. Raises UnreadableOutput where they may not be believed, Voided for heat."""
    burst: Burst = facts["load"]
    moved = bursts.moved(burst.run, pattern)
    device, network = _device(facts["mounts"], path)
    served = None if network else _served(facts, device, pattern)
    if served is not None and served < _SERVED * moved.io_bytes:
        raise UnreadableOutput(
            f"{device} moved {served:,} bytes while fio says {moved.io_bytes:,}: memory answered, not the disk"
        )
    job = burst.run.jobs[0]
    latency = moved.clat or moved.lat
    if latency is None or not latency.percentiles:
        raise UnreadableOutput("fio kept no latencies")
    parts = (job.user_cpu, job.system_cpu)
    return Round(
        bytes_per_second=float(moved.bytes_per_second),
        iops=moved.iops,
        io_bytes=moved.io_bytes,
        latency_us={percent: nanoseconds / 1000 for percent, nanoseconds in latency.percentiles},
        cpu_percent=None if None in parts else sum(part for part in parts if part is not None),
        version=burst.run.version,
        device=device,
        device_bytes=served,
        watched=say("a network filesystem has no device here") if network else bursts.watched(burst, pattern, device),
        celsius=_heat(facts),
    )


def stands(path: str, filesystem: str) -> Any:
    """Return what looks at a host's mounts and says why a load on ``path`` would load something else, or None."""

    def must(mounts: tuple[Mounted, ...]) -> Phrase | None:
        here = [one for one in mounts if one.target == path]
        if len(here) != 1:
            return say(
                "{count} filesystems are mounted at {path}: the load would fall on another disk",
                count=len(here),
                path=path,
            )
        if here[0].filesystem != filesystem:
            return say("{path} is {found}, wanted {wanted}", path=path, found=here[0].filesystem, wanted=filesystem)
        if "ro" in here[0].options:
            return say("{path} is mounted read-only", path=path)
        return None

    return must


def _device(mounts: tuple[Mounted, ...], path: str) -> tuple[str, bool]:
    here = [one for one in mounts if one.target == path]
    if len(here) != 1:
        raise UnreadableOutput(f"{len(here)} filesystems are mounted at {path}")
    if here[0].filesystem in _NETWORK:
        return here[0].source, True
    return here[0].source.removeprefix("/dev/"), False


def _served(facts: Mapping[str, Any], device: str, pattern: Pattern) -> int:
    def counter(moment: str) -> int:
        rows: tuple[Moved, ...] = facts[moment]
        sizes = {one.device: one.read_bytes if reading else one.written_bytes for one in rows}
        if device not in sizes:
            raise UnreadableOutput(f"/proc/diskstats has no {device}, which is mounted here")
        return max(sizes[device], sum(size for name, size in sizes.items() if is_path_of(name, device)))

    reading = pattern.way.direction == "read"

    before, after = counter("counters before"), counter("counters after")
    if after < before:
        raise UnreadableOutput(f"counters of {device} went backwards: it was connected anew while it was loaded")
    return after - before


def _heat(facts: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Temperatures around the load. Raises Voided for a disk that says itself that it was too hot."""
    found: list[int | None] = []
    for moment in ("health before", "health after"):
        health: Health | None = facts.get(moment)
        if health is not None and health.critical_warning & 0b10:
            raise Voided(say("the disk reported that it was too hot ({celsius} C)", celsius=health.celsius or 0))
        found.append(None if health is None else health.celsius)
    return found[0], found[1]
