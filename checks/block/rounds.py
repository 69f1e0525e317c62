"""One round of a load on a file: what the device moved for it, how hot the disk was, and the numbers that came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.block import burst as bursts
from checks.block.burst import Burst, Watched
from checks.block.counters import IDLE, NETWORK, Bytes, moved
from checks.block.patterns import Pattern
from checks.nvme.health import Health
from checks.parsers.findmnt import Mounted
from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput
from checks.trial import Voided
from checks.units import show_bytes

#: Share of fio's bytes that the device must have moved at least: less means that memory answered.
_SERVED = 0.95


@dataclass(frozen=True, slots=True)
class Round:
    """Numbers of one round. Latencies in microseconds by percent; CPU in percent of one core.

    ``device_bytes`` is what the device (or the server) moved in the asked direction while fio moved ``io_bytes`` (its ramp
    included), ``across`` what it moved the other way in bytes a second, ``before`` what it moved in both, in bytes a second,
    while nothing was loaded yet; None for a raw disk, which nobody else can use.
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
    across: float | None = None
    before: float | None = None

    @property
    def brief(self) -> Phrase:
        """In a few words, for whoever watches."""
        return say("{rate}/s, {iops:,.0f} operations/s", rate=show_bytes(int(self.bytes_per_second)), iops=self.iops)


def read(facts: Mapping[str, Any], pattern: Pattern, path: str, size: int, file: str) -> Round:
    """Facts of the steps of a round -> its numbers. Raises UnreadableOutput where they may not be believed, Voided for heat."""
    burst: Burst = facts["load"]
    asked = bursts.moved(burst.run, pattern, size, file)
    device, network = _device(facts["mounts"], path)
    found = moved(facts["counters before"], facts["counters after"], device)
    served, across = _ways(found, pattern)
    if served < _SERVED * asked.io_bytes:
        raise UnreadableOutput(
            f"{device} moved {served:,} bytes while fio says {asked.io_bytes:,}: memory answered, not the disk"
        )
    job = burst.run.jobs[0]
    latency = asked.clat or asked.lat
    if latency is None or not latency.percentiles:
        raise UnreadableOutput("fio kept no latencies")
    parts = (job.user_cpu, job.system_cpu)
    first, second = facts["idle"]
    idle = moved(first, second, device)
    return Round(
        bytes_per_second=float(asked.bytes_per_second),
        iops=asked.iops,
        io_bytes=asked.io_bytes,
        latency_us={percent: nanoseconds / 1000 for percent, nanoseconds in latency.percentiles},
        cpu_percent=None if None in parts else sum(part for part in parts if part is not None),
        version=burst.run.version,
        device=device,
        device_bytes=served,
        watched=say("a network filesystem has no device here") if network else bursts.watched(burst, pattern, device),
        celsius=_heat(facts),
        across=across / (pattern.seconds + pattern.ramp),
        before=(idle.read + idle.written) / IDLE,
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
    """Under which name the kernel counts what is mounted: the device, or the path of a network filesystem."""
    here = [one for one in mounts if one.target == path]
    if len(here) != 1:
        raise UnreadableOutput(f"{len(here)} filesystems are mounted at {path}")
    if here[0].filesystem in NETWORK:
        return path, True
    return here[0].source.removeprefix("/dev/"), False


def _ways(found: Bytes, pattern: Pattern) -> tuple[int, int]:
    """Bytes in the asked direction, and in the other one."""
    return (found.read, found.written) if pattern.way.direction == "read" else (found.written, found.read)


def _heat(facts: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Temperatures around the load. Raises Voided for a disk that says itself that it was too hot."""
    found: list[int | None] = []
    for moment in ("health before", "health after"):
        health: Health | None = facts.get(moment)
        if health is not None and health.critical_warning & 0b10:
            raise Voided(say("the disk reported that it was too hot ({celsius} C)", celsius=health.celsius or 0))
        found.append(None if health is None else health.celsius)
    return found[0], found[1]
