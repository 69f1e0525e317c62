"""What a host is, where one parser's answer is not enough: the kernel log by clause, the connect phase, the spread of clocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checks.parsers import dmesg
from checks.parsers.dmesg import Event, KernelLog, Kind
from checks.probe import UnreadableOutput

#: Which kinds of events each clause of the kernel log is about.
DRIVER = frozenset({Kind.NVME_TIMEOUT, Kind.NVME_RESET, Kind.NVME_DEAD, Kind.MD_FAILED})
FILESYSTEM = frozenset({Kind.XFS_ERROR, Kind.XFS_SHUTDOWN})
FABRIC = frozenset({Kind.FABRIC_LOST, Kind.FABRIC_REMOVED, Kind.FABRIC_RECOVERED, Kind.PATH_LOST, Kind.RDMA_ERROR})
ACCELERATOR = frozenset({Kind.GPU_ERROR, Kind.GPU_RESET})
HARDWARE = frozenset({Kind.MACHINE_CHECK, Kind.MEMORY_UNCORRECTED})
STUCK = frozenset({Kind.STUCK, Kind.CRASH})
#: Block devices that carry the data; a floppy or a virtual CD of the board controller fails without meaning.
_DATA_DEVICE = re.compile(r"(?:nvme|md|dm-)\w*", re.ASCII)


def whole_boot(text: str) -> KernelLog:
    """Read a kernel log and refuse one that does not reach back to the boot or has a hole."""
    log = dmesg.parse(text)
    if not complete(log):
        raise UnreadableOutput(f"the journal does not hold the whole boot: it begins at {log.first_time or 'no time'}")
    return log


def complete(log: KernelLog) -> bool:
    """Whether nothing of this boot is missing, as far as the log itself can tell."""
    return log.from_boot and not log.missed


def of_kinds(log: KernelLog, kinds: frozenset[Kind]) -> tuple[Event, ...]:
    """Events of these kinds, in order."""
    return tuple(event for event in log.events if event.kind in kinds)


def driver_troubles(log: KernelLog) -> tuple[Event, ...]:
    """Timeouts and resets of local controllers, and errors of block devices that carry data."""
    return tuple(
        event
        for event in log.events
        if event.kind in DRIVER or (event.kind is Kind.BLOCK_ERROR and _DATA_DEVICE.fullmatch(event.device))
    )


def fabric_troubles(log: KernelLog) -> tuple[Event, ...]:
    """Lost connections, and refused ones that did not belong to a connect phase that succeeded.

    A host that boots before its array is refused until the array is up: that is how connecting works. A refusal counts
    when the same controller was connected before, or never came up after.
    """
    found: list[tuple[int, Event]] = []
    waiting: dict[str, list[tuple[int, Event]]] = {}
    connected: set[str] = set()
    for number, event in enumerate(log.events):
        if event.kind is Kind.FABRIC_CONNECTED:
            connected.add(event.device)
            waiting.pop(event.device, None)
        elif event.kind is Kind.FABRIC_DISCONNECTED:
            connected.discard(event.device)
        elif event.kind is Kind.FABRIC_REFUSED:
            place = found if event.device in connected else waiting.setdefault(event.device, [])
            place.append((number, event))
        elif event.kind in FABRIC:
            found.append((number, event))
    for refused in waiting.values():
        found += refused
    return tuple(event for _, event in sorted(found, key=lambda pair: pair[0]))


def devices(events: Sequence[Event]) -> str:
    """The devices that events name, each once."""
    return ", ".join(dict.fromkeys(event.device for event in events if event.device))


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the clocks of several hosts are apart, in seconds: at least ``least``, at most ``most``."""

    least: float
    most: float
    ahead: str
    behind: str


def spread(clocks: Mapping[str, tuple[float, float]]) -> Spread:
    """From each host's clock as an interval (low, high) to the spread. Raises ValueError without clocks."""
    if not clocks:
        raise ValueError("no clocks to compare")
    ahead = max(clocks, key=lambda host: clocks[host][0])
    behind = min(clocks, key=lambda host: clocks[host][1])
    most = max(high for _, high in clocks.values()) - min(low for low, _ in clocks.values())
    if len(clocks) == 1:
        most = 0.0
    return Spread(max(0.0, clocks[ahead][0] - clocks[behind][1]), most, ahead, behind)


def count_cpus(online: str) -> int:
    """``0-63,128-191`` -> 128."""
    total = 0
    for part in online.split(","):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total
