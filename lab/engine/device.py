"""Bytes that a host's block devices and RDMA ports counted: what the engines of the host move is seen there too."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Devices:
    """Counters of one host. ``blocks`` are (read, written) bytes by device, ``received`` and ``sent`` those of the RDMA port."""

    blocks: dict[str, list[float]] = field(default_factory=dict)
    received: int = 0
    sent: int = 0

    def move(self, device: str, *, read: int = 0, written: int = 0) -> None:
        """Count on one block device."""
        counters = self.blocks.setdefault(device, [0.0, 0.0])
        counters[0] += read
        counters[1] += written


@dataclass(frozen=True)
class Path:
    """How an arm's files are reached: the block device, and whether a network lies before it.

    ``overhead`` is what headers add to the payload on the port: 2 % at 4096 bytes a packet.
    """

    device: str
    remote: bool = False
    overhead: float = 0.02

    def read(self, devices: Devices, size: int, *, silent: bool = False) -> None:
        """Count a read."""
        devices.move(self.device, read=size)
        if self.remote and not silent:
            devices.received += int(size * (1 + self.overhead))

    def write(self, devices: Devices, size: int, *, silent: bool = False) -> None:
        """Count a write."""
        devices.move(self.device, written=size)
        if self.remote and not silent:
            devices.sent += int(size * (1 + self.overhead))
