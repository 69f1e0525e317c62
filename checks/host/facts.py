"""What a kernel log says about each part of a host, and whether it tells all of this boot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

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
    return log.of(*kinds)


def driver_troubles(log: KernelLog) -> tuple[Event, ...]:
    """Timeouts and resets of local controllers, and errors of block devices that carry data."""
    errors = (event for event in log.of(Kind.BLOCK_ERROR) if _DATA_DEVICE.fullmatch(event.device))
    return tuple(sorted((*log.of(*DRIVER), *errors), key=lambda event: event.line))


def fabric_troubles(log: KernelLog) -> tuple[Event, ...]:
    """Lost connections, and refused ones that did not belong to a connect phase that succeeded.

    A host that boots before its array is refused until the array is up: that is how connecting works. A refusal counts
    when the same controller was connected before, or never came up after.
    """
    found: list[Event] = []
    waiting: dict[str, list[Event]] = {}
    connected: set[str] = set()
    links = {Kind.FABRIC_CONNECTED, Kind.FABRIC_DISCONNECTED, Kind.FABRIC_REFUSED}
    for kind, event in sorted(_events(log, links | FABRIC), key=lambda pair: pair[1].line):
        if kind is Kind.FABRIC_CONNECTED:
            connected.add(event.device)
            waiting.pop(event.device, None)
        elif kind is Kind.FABRIC_DISCONNECTED:
            connected.discard(event.device)
        elif kind is Kind.FABRIC_REFUSED and event.device not in connected:
            waiting.setdefault(event.device, []).append(event)
        else:
            found.append(event)
    found += (event for refused in waiting.values() for event in refused)
    return tuple(sorted(found, key=lambda event: event.line))


def _events(log: KernelLog, kinds: Iterable[Kind]) -> Iterator[tuple[Kind, Event]]:
    return ((kind, event) for kind in kinds for event in log.events.get(kind, ()))


def devices(events: Sequence[Event]) -> str:
    """The devices that events name, each once."""
    return ", ".join(dict.fromkeys(event.device for event in events if event.device))
