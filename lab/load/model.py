"""How fast each volume of a virtual host is, and each way in which it can be slow, wrong or disturbed."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Volume:
    """One filesystem's device: peak rates in bytes a second, the time of an empty request in seconds, small operations a second.

    ``network``: there is no block device below it; the client counts what its server gave.
    """

    device: str
    path: str
    read: float
    write: float
    base: float
    read_ops: float
    write_ops: float
    network: bool = False


#: The node's own disk, and the array's volume behind one 100GbE port.
LOCAL = Volume("nvme0n1", "/mnt/nvme0", 6.8e9, 4.0e9, 80e-6, 1_020_000, 190_000)
ARRAY = Volume("nvme1n1", "/mnt/fx100", 11.95e9, 11.6e9, 95e-6, 2_150_000, 560_000)

#: An export of the array, mounted by every node.
NFS = Volume("192.168.100.10:/export/models", "/mnt/nfs", 1.6e9, 0.9e9, 450e-6, 60_000, 20_000, network=True)


#: What the best run has of the peak rate.
_BEST = 1.01


@dataclass(frozen=True)
class Trouble:
    """What is wrong with load on a host. ``on`` is a device, empty for all; ``runs`` are numbers of fio's runs on it, empty for all.

    ``factor`` slows, ``decay`` slows each run by so much more, ``noise`` is the relative deviation from run to run. ``cached``
    is the share of bytes that memory answers, ``other`` foreign bytes a second on the device, before and during a run, and
    ``across`` those that go the other way while fio runs. ``laid`` is the share of a file that is written when it is laid out
    and ``holes`` the share that has no place on the device; ``small_reads`` and ``small_writes`` slow many small requests,
    ``large_reads`` those of more than 4 MiB; ``jobs`` is how many jobs fio runs whatever it was asked.
    ``stderr``/``status``/``error`` are how fio ends; ``clock`` is the share of the processors' clock, ``throttled``, ``flaps``
    and ``lost`` what each round adds to the counters of a package, a link and a RoCE port, ``warmer`` by how many degrees the
    disk warms in it; ``short`` the share of its time that it ran; ``killed`` prints nothing.
    """

    on: str = ""
    runs: tuple[int, ...] = ()
    factor: float = 1.0
    decay: float = 0.0
    noise: float = 0.004
    cached: float = 0.0
    other: float = 0.0
    across: float = 0.0
    laid: float = 1.0
    holes: float = 0.0
    small_reads: float = 1.0
    small_writes: float = 1.0
    large_reads: float = 1.0
    jobs: int = 0
    cpu: float | None = None
    latency: float = 1.0
    note: str = ""
    error: int = 0
    status: int = 0
    short: float = 1.0
    killed: bool = False
    full: bool = False
    buffered: bool = False
    version: str = "fio-3.33"
    no_iostat: bool = False
    clock: float = 1.0
    throttled: int = 0
    flaps: int = 0
    lost: int = 0
    warmer: int = 0

    @property
    def around(self) -> bool:
        """Whether it is seen beside loads, whatever they measure."""
        return self.clock < 1 or bool(self.throttled or self.flaps or self.lost or self.warmer)

    def applies(self, device: str, run: int) -> bool:
        """Whether this run on this device is touched."""
        return self.on in ("", device) and (not self.runs or run in self.runs)


def rate(volume: Volume, way: str, block: int, depth: int, trouble: Trouble, run: int) -> float:
    """Bytes a second of one run, noise included; the same run is always as fast."""
    writing = way.endswith("write")
    peak = (volume.write if writing else volume.read) * trouble.factor
    alone = volume.base + block / peak
    found = min(peak, depth * block / alone)
    if way.startswith("rand"):
        found = min(found, (volume.write_ops if writing else volume.read_ops) * block)
    if block < 2**16 and depth > 1:
        found *= trouble.small_writes if writing else trouble.small_reads
    if block > 2**22 and not writing:
        found *= trouble.large_reads
    noise = random.Random(f"{volume.device} {way} {block} {depth} {run}").gauss(0.0, trouble.noise)
    slowed = found * (1 - trouble.decay) ** (run - 1)
    # No noise makes a port or a disk faster than it is.
    return max(slowed * (1 + noise if slowed * (1 + noise) < _BEST * peak else 1 - abs(noise)), 1.0)
