"""What the kernel counts of a disk or of a network filesystem: before, around and after a load, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from checks.block.burst import is_path_of
from checks.parsers import diskstats, mountstats
from checks.probe import Probe, UnreadableOutput

NETWORK = ("nfs", "nfs4")
#: Seconds that a device is looked at before it is loaded.
IDLE = 2
_BETWEEN = "--- later"
_TWICE = f'cat "$1" && sleep {IDLE} && echo && echo "{_BETWEEN}" && cat "$1"'


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes read and written since boot, or since the mount."""

    read: int
    written: int


#: By kernel name of the device, or by path of the network mount.
Counts = Mapping[str, Bytes]


def counted(filesystem: str) -> Probe[Counts]:
    """What every device (every mount, of a network filesystem) moved so far."""
    name, file, parse = _source(filesystem)
    return Probe(name, ("cat", file), parse)


def idle(filesystem: str) -> Probe[tuple[Counts, Counts]]:
    """The same twice, :data:`IDLE` seconds apart, while nothing is loaded yet."""
    name, file, parse = _source(filesystem)

    def both(text: str) -> tuple[Counts, Counts]:
        parts = text.split(f"\n{_BETWEEN}\n")
        if len(parts) != 2:
            raise UnreadableOutput(f"found {len(parts)} looks at {file}, wanted 2")
        return parse(parts[0]), parse(parts[1])

    return Probe(f"{name}-idle", ("sh", "-c", _TWICE, "sh", file), both)


def moved(before: Counts, after: Counts, name: str) -> Bytes:
    """What a device or mount moved between two looks. Raises UnreadableOutput where it is not counted or was connected anew."""
    then, now = _of(before, name), _of(after, name)
    if now.read < then.read or now.written < then.written:
        raise UnreadableOutput(f"counters of {name} went backwards: it was connected anew while it was loaded")
    return Bytes(now.read - then.read, now.written - then.written)


def _of(counts: Counts, name: str) -> Bytes:
    """A multipath device is counted on itself or on its paths, as the kernel is."""
    if name not in counts:
        raise UnreadableOutput(f"the kernel counts nothing of {name}, which is mounted here")
    paths = [one for path, one in counts.items() if is_path_of(path, name)]
    own = counts[name]
    return Bytes(max(own.read, sum(one.read for one in paths)), max(own.written, sum(one.written for one in paths)))


def _source(filesystem: str) -> tuple[str, str, Callable[[str], Counts]]:
    if filesystem in NETWORK:
        return "mountstats", "/proc/self/mountstats", _of_servers
    return "diskstats", "/proc/diskstats", _of_devices


def _of_devices(text: str) -> Counts:
    return {row.device: Bytes(row.read_bytes, row.written_bytes) for row in diskstats.parse(text)}


def _of_servers(text: str) -> Counts:
    return {
        mount.path: Bytes(
            sum(one.bytes_received for one in mount.operations if one.name == "READ"),
            sum(one.bytes_sent for one in mount.operations if one.name == "WRITE"),
        )
        for mount in mountstats.parse(text)
    }
