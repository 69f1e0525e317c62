"""What the inventory lets be expected of a mount, and what can carry no more: data sheets, arrays by themselves, ports, slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Literal

from checks.block.memory import ArrayMemory
from checks.block.references import Reference, lesser
from checks.ceiling import Ceiling, narrowest, over_roce, over_tcp, through_slots
from checks.phrase import Phrase, say
from kvgate.inventory.model import Cache, Disk, Host, Mount, Nic, Rack, Sheet

#: Bytes of the requests that data sheets count random operations of.
SMALL = 4096
#: Bytes of the requests that sequential rates are told of.
LARGE = 2**20
#: RoCE's packets where no fabric is ordered: the smallest that the expectation can be held to, the largest that can come.
_UNAGREED, _LARGEST = 1024, 4096

Kind = Literal["read", "write", "random_read", "random_write"]


def below(mount: Mount) -> str:
    """What a mount stands on: ``nfs``, ``local`` (the host's own disks) or ``array``."""
    if mount.filesystem in ("nfs", "nfs4"):
        return "nfs"
    return "local" if mount.arm == "local" else "array"


def promised(rack: Rack, host: Host, mount: Mount) -> Sheet | None:
    """What the data sheets of the disks below a mount add up to; None where one of them gives no rates, or there are none.

    Mirrors write everything as often as they have copies. A random rate is None where one of the disks gives none.
    """
    if below(mount) == "nfs":
        return None
    if below(mount) == "local":
        return _added([(host, disk) for disk in host.disks if disk.role == "baseline"])
    return _added([(one, disk) for one in _arrays(rack) for disk in one.disks if disk.role == "member"])


def memory(rack: Rack, mount: Mount) -> ArrayMemory | None:
    """Memory of the arrays below a mount, all of them together; None where none is below it.

    What the vendor empties between rounds counts only where nothing else is left. One that is not told of leaves all unknown.
    """
    if below(mount) != "array":
        return None
    told = [one.cache or Cache() for one in _arrays(rack)]
    kept = [one.size for one in told if not one.flushed]
    sizes = kept or [one.size for one in told]
    known = [size for size in sizes if size is not None]
    return ArrayMemory(sum(known) if sizes and len(known) == len(sizes) else None, flushed=bool(told) and not kept)


def by_itself(rack: Rack, mount: Mount) -> Sheet | None:
    """What the arrays below a mount gave without the network, as both parties agreed; None where one is not told of."""
    if below(mount) != "array":
        return None
    told = [raid.local for host in _arrays(rack) for raid in host.raid]
    known = [one for one in told if one is not None]
    return _sum([(one, 1) for one in known]) if known and len(known) == len(told) else None


def reference(rack: Rack, host: Host, mount: Mount, kind: Kind) -> Reference | Phrase:
    """What a rate on a mount is held against, or what to declare so that there is something.

    The least of the data sheets, the array's own result and, for the array, what the node's port carries at the ordered MTU.
    """
    small = kind.startswith("random_")
    block = SMALL if small else LARGE
    link: Ceiling | Phrase
    if below(mount) == "local":
        link = ceiling(rack, host, mount)
    else:
        mtu = rack.fabric.roce_mtu if rack.fabric else _UNAGREED
        ends = [_ports(nics, _transports(host), mtu) for nics in (_here(host), _storage(rack))]
        link = narrowest([one for one in ends if one is not None]) if ends[0] is not None else _undeclared()
    found = lesser(_promises(rack, host, mount, kind), link, block, _lacking(mount, kind))
    return found if isinstance(found, Phrase) or small else replace(found, block=0)


def disks(rack: Rack, host: Host, mount: Mount) -> Reference | Phrase:
    """What the disks below a mount give when they are read as a stream, whatever carries it; or what to declare."""
    unlimited = Ceiling(say("any port"), inf)
    return lesser(_promises(rack, host, mount, "read"), unlimited, 0, _lacking(mount, "read"))


def alone(disk: Disk, kind: Kind) -> Reference | Phrase:
    """What one raw disk is held against: its data sheet and its slot; or what to declare."""
    lacking = say(
        "nothing to hold it against: declare '{kind}' in the 'sheet' of disk {serial}", kind=kind, serial=disk.serial
    )
    slot = through_slots(say("the slot of the disk"), _slots([disk]))
    return lesser(
        {say("the data sheet"): _of(disk.sheet, kind)}, slot, SMALL if kind.startswith("random_") else 0, lacking
    )


def ceiling(rack: Rack, host: Host, mount: Mount) -> Ceiling | Phrase:
    """What nothing that comes from a mount can exceed: ports of both ends, slots of cards and disks; or what to declare of them."""
    kind = below(mount)
    if kind == "local":
        disks = [disk for disk in host.disks if disk.role == "baseline"]
        if not disks:
            return say("what carries {path} is not declared: no disk of role 'baseline'", path=mount.path)
        return through_slots(say("the slots of the disks"), _slots(disks))
    transports = _transports(host) if kind == "array" else {"tcp"}
    here = list(host.nics) if kind == "nfs" else _here(host)
    found = [_ports(here, transports, _LARGEST)]
    if all(nic.pcie is not None for nic in here):
        found.append(through_slots(say("the slots of the cards"), [(n.pcie.gen, n.pcie.lanes) for n in here if n.pcie]))
    if kind == "array":
        found.append(_ports(_storage(rack), transports, _LARGEST))
        if disks := [disk for one in _arrays(rack) for disk in one.disks if disk.role == "member"]:
            found.append(through_slots(say("the slots of the array's disks"), _slots(disks)))
    return narrowest([one for one in found if one is not None]) if found[0] is not None else _undeclared()


def _promises(rack: Rack, host: Host, mount: Mount, kind: Kind) -> Mapping[Phrase, float | None]:
    return {
        say("the data sheets"): _of(promised(rack, host, mount), kind),
        say("the array by itself"): _of(by_itself(rack, mount), kind),
    }


def _lacking(mount: Mount, kind: Kind) -> Phrase:
    return say(
        "nothing to hold it against: declare '{kind}' in the 'sheet' of every disk below {path}, or in 'local' of the array's raid",
        kind=kind, path=mount.path,
    )  # fmt: skip


def _arrays(rack: Rack) -> list[Host]:
    return [one for one in rack.hosts.values() if one.role == "array"]


def _here(host: Host) -> list[Nic]:
    return [nic for nic in host.nics if nic.role == "storage"]


def _storage(rack: Rack) -> list[Nic]:
    return [nic for one in _arrays(rack) for nic in _here(one)]


def _added(disks: Sequence[tuple[Host, Disk]]) -> Sheet | None:
    known = [(disk.sheet, _copies(host, disk)) for host, disk in disks if disk.sheet is not None]
    return _sum(known) if known and len(known) == len(disks) else None


def _copies(host: Host, disk: Disk) -> int:
    """How often an array of this host writes everything."""
    level = host.raid[0].level if host.raid and disk.role == "member" else "raid0"
    return {"raid0": 1, "raid1": host.raid[0].members if host.raid else 1, "raid10": 2}[level]


def _sum(sheets: Sequence[tuple[Sheet, int]]) -> Sheet:
    def added(name: str, copied: bool) -> int | None:
        each = [(getattr(sheet, name), copies if copied else 1) for sheet, copies in sheets]
        return None if any(rate is None for rate, _ in each) else int(sum(rate / copies for rate, copies in each))

    return Sheet.model_construct(
        read=added("read", False), write=added("write", True),
        random_read=added("random_read", False), random_write=added("random_write", True),
    )  # fmt: skip


def _of(sheet: Sheet | None, kind: Kind) -> float | None:
    """Bytes a second that a sheet promises of one kind of load."""
    value = getattr(sheet, kind, None)
    return None if value is None else float(value * SMALL if kind.startswith("random_") else value)


def _transports(host: Host) -> set[str]:
    return {link.transport for link in host.nvmeof} or {"rdma"}


def _slots(disks: Sequence[Disk]) -> list[tuple[int, int]]:
    return [(disk.pcie.gen, disk.pcie.lanes) for disk in disks]


def _ports(nics: Sequence[Nic], transports: set[str], mtu: int) -> Ceiling | None:
    """All storage ports of some hosts together (of network filesystems: all ports); None where none is ordered."""
    if not nics:
        return None
    bits = float(sum(nic.speed for nic in nics))
    if "tcp" in transports:
        return over_tcp(say("the ports"), bits, max(nic.mtu for nic in nics))
    return over_roce(say("the ports"), bits, mtu)


def _undeclared() -> Phrase:
    return say("what carries it is not declared: the host's 'nics' of role storage with their 'speed'")
