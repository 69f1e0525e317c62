"""Disks, md arrays, mounts and NVMe-oF connections of one host, as seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checks.fabric import probes as fabric
from checks.fabric.facts import Target, link, target
from checks.nic.facts import GENERATION
from checks.nvme import probes as nvme
from checks.nvme.facts import size_bytes
from checks.parsers.findmnt import Mounted
from checks.parsers.sysfs_md import MdArray
from checks.parsers.sysfs_nvme import Controller, NvmeTree
from checks.parsers.xfs_info import XfsGeometry
from checks.probe import Probe
from checks.raid import probes as raid
from checks.units import show_bytes
from kvgate.draft.form import Entry, Item, Known, Leaf, Node, Open, Remark
from kvgate.draft.look import Looked
from kvgate.errors import CannotTell

_SYSTEM = re.compile(r"/|/(boot|usr|var|home|tmp|opt|root|srv|snap|run|etc)(/.*)?", re.ASCII)
_KEPT = ("xfs", "ext4", "nfs", "nfs4")
_STABLE = re.compile(r"/dev/(md[A-Za-z0-9_/-]+|disk/by-\S+|mapper/\S+)", re.ASCII)
#: What the kernel prints of itself; everything else was asked for by somebody.
_OWN = re.compile(
    r"rw|relatime|attr2|inode(32|64)|logbufs=.*|logbsize=.*|noquota|sunit=.*|swidth=.*|stripe=.*|data=ordered|errors=.*|"
    r"(client|mount)?addr=.*|mount(vers|port|proto)=.*|local_lock=.*|sec=sys|namlen=.*|timeo=.*|retrans=.*|[rw]size=.*|seclabel"
)


def first() -> Iterator[Probe[Any]]:
    """Questions that need no earlier answer."""
    yield from (nvme.controllers(), raid.arrays(), raid.mounts(), fabric.target())


def then(looked: Looked) -> Iterator[Probe[Any]]:
    """Questions about the disks and mounts that were found."""
    tree = looked.may(nvme.controllers())
    for serial in [one.serial for one in tree.local if one.serial] if tree else []:
        yield from (nvme.identity(serial), nvme.block_format(serial))
    for mount in _data_mounts(looked.may(raid.mounts()) or ()):
        yield raid.space(mount.target)
        if mount.filesystem == "xfs":
            yield raid.geometry(mount.target)


def entries(looked: Looked) -> Iterator[Entry | Remark]:
    """Disks, raid, mounts, nvmeof."""
    yield from _list("disks", "no local NVMe disk was seen", looked, _disks)
    yield from _list("raid", "no md array for data was seen", looked, _arrays)
    yield from _list("mounts", "no xfs, ext4 or nfs mount for data was seen", looked, _mounts)
    yield from _list("nvmeof", "no NVMe-oF connection was seen", looked, _connections)


def _list(key: str, nothing: str, looked: Looked, make: Any) -> Iterator[Entry | Remark]:
    try:
        items: tuple[Item, ...] = tuple(make(looked))
    except CannotTell as error:
        yield Entry(key, Open(f"the {key} of this host", str(error)))
        return
    yield Entry(key, items) if items else Remark(f"{key}: {nothing}")


def pcie(now: tuple[float | None, int | None], most: tuple[float | None, int | None]) -> Node:
    """Generation and lanes of a link; one that trained to less than it can is for a person to decide."""
    generations = tuple(GENERATION.get(rate) if rate is not None else None for rate in (now[0], most[0]))
    return [Entry("gen", _trained(*generations)), Entry("lanes", _trained(now[1], most[1]))]


def _trained(now: int | None, most: int | None) -> Leaf:
    if now is None:
        return Open("as ordered", "the kernel does not tell it")
    if most is not None and now != most:
        return Open(f"as ordered: {now} or {most}", f"runs at {now}, the device can {most}")
    return Known(now)


def _disks(looked: Looked) -> Iterator[Item]:
    tree = looked.fact(nvme.controllers())
    for disk in tree.local:
        yield Item(_disk(looked, tree, disk))


def _disk(looked: Looked, tree: NvmeTree, disk: Controller) -> list[Entry | Remark]:
    def told(value: str | None, wanted: str, remark: str) -> Leaf:
        return Open(wanted, "the disk does not tell it") if value is None else Known(value, remark)

    size = size_bytes(tree, disk)
    capacity: Leaf = Open("capacity with its unit", "no namespace tells its size")
    if size is not None:
        capacity = Known(f"{size} B", f"{show_bytes(size)}{_unallocated(looked, disk)}; compare with the order")
    edge = disk.endpoint
    lba = looked.value(
        "512 or 4096", nvme.block_format(disk.serial), lambda space: space.block_bytes, "bytes a logical block; compare with the order"
    ) if disk.serial else Open("512 or 4096", "a disk without serial cannot be asked")  # fmt: skip
    return [
        Entry("serial", told(disk.serial, "serial", "compare with the delivery note and the label")),
        Entry("model", told(disk.model, "model", "compare with the order")),
        Entry("firmware", told(disk.firmware, "firmware", "compare with the agreed release")),
        Entry("capacity", capacity),
        Entry("role", _role(looked, tree, disk)),
        Entry("scratch", Open("true or false: may all data on this disk be overwritten")),
        Entry("bdf", told(disk.address, "PCI address of the slot", "the slot; compare with the slot plan")),
        Entry(
            "pcie",
            pcie((edge.current_gts, edge.current_lanes), (edge.max_gts, edge.max_lanes))
            if edge
            else Open("gen and lanes as ordered", "the kernel does not tell the link"),
        ),
        Entry("lba", lba),
    ]


def _unallocated(looked: Looked, disk: Controller) -> str:
    identity = looked.may(nvme.identity(disk.serial)) if disk.serial else None
    if identity is None or identity.unallocated_bytes == 0:
        return ""
    return f", {show_bytes(identity.unallocated_bytes)} of the disk are not allocated"


def _role(looked: Looked, tree: NvmeTree, disk: Controller) -> Leaf:
    """A member is seen; what else a disk is for, people decide."""
    spaces = [space.name for space in tree.namespaces(disk)]
    arrays = looked.may(raid.arrays())
    if arrays is not None:
        for array in arrays.arrays:
            if any(_on(member.device, spaces) for member in array.members):
                return Known("member", f"seen as a member of /dev/{array.name}")
    mounts = looked.may(raid.mounts())
    here = [one.target for one in mounts or () if _on(one.source.removeprefix("/dev/"), spaces)]
    where = f"seen mounted at {', '.join(here)}" if here else "not mounted by its own name"
    return Open("member, baseline or system", f"{where}; baseline is the local disk that G3 compares with")


def _on(device: str, spaces: list[str]) -> bool:
    return any(device == space or re.fullmatch(rf"{space}p\d+", device) for space in spaces)


def _arrays(looked: Looked) -> Iterator[Item]:
    system = {one.source for one in looked.may(raid.mounts()) or () if _SYSTEM.fullmatch(one.target)}
    for array in looked.fact(raid.arrays()).arrays:
        if f"/dev/{array.name}" not in system:
            yield Item(_array(array))


def _array(array: MdArray) -> list[Entry | Remark]:
    ill = [member.device for member in array.members if "faulty" in member.states]
    remarks = [
        Remark(f"seen {array.state}, degraded {array.degraded}, faulty {', '.join(ill) or 'none'}: mend it first")
    ]
    level: Leaf = (
        Known(array.level)
        if array.level in ("raid0", "raid1", "raid10")
        else Open("raid0, raid1 or raid10", f"seen {array.level}")
    )
    return [
        *(remarks if array.degraded or ill else []),
        Entry("device", Known(f"/dev/{array.name}")),
        Entry("level", level),
        Entry("members", Open("count", "md does not tell it") if array.raid_disks is None else Known(array.raid_disks)),
        Entry(
            "chunk",
            Open("512 KiB", "md does not tell it") if array.chunk_bytes is None else Known(_kib(array.chunk_bytes)),
        ),
    ]


def _kib(size: int) -> str:
    return f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} B"


def _data_mounts(mounts: tuple[Mounted, ...]) -> list[Mounted]:
    return [one for one in mounts if one.filesystem in _KEPT and not _SYSTEM.fullmatch(one.target)]


def _mounts(looked: Looked) -> Iterator[Item]:
    for mount in _data_mounts(looked.fact(raid.mounts())):
        yield Item(
            [
                *_mount(looked, mount),
                Entry("arm", Open("fx100 for the array, local for the baseline disk, or delete the line")),
            ]
        )


def _mount(looked: Looked, mount: Mounted) -> Iterator[Entry | Remark]:
    yield Entry("path", Known(mount.target))
    yield Entry("filesystem", Known(mount.filesystem))
    if _STABLE.fullmatch(mount.source):
        yield Entry("device", Known(mount.source))
    else:
        yield Remark(f"device: seen {mount.source}; names of the kernel change, so none is written")
    yield Entry(
        "options",
        Known(
            tuple(word for word in mount.options if not _OWN.fullmatch(word)), "options that must be set; agree on them"
        ),
    )
    seen = "is set today" if "discard" in mount.options else "is not set today"
    yield Remark(f"forbidden: [discard]   agree on options that must not be set; discard {seen}")
    size = looked.value(
        "15.36 TB",
        raid.space(mount.target),
        lambda rows: next((f"{row.size} B" for row in rows if row.target == mount.target and row.size), None),
        "as df counts it; the order gives the device's size",
    )
    yield Entry("capacity", size)
    if mount.filesystem == "xfs":
        yield from _stripes(looked, mount)


def _stripes(looked: Looked, mount: Mounted) -> Iterator[Entry | Remark]:
    try:
        geometry: XfsGeometry = looked.fact(raid.geometry(mount.target))
    except CannotTell as error:
        yield Entry("stripe", Open("data disks below, or delete the line", str(error)))
        return
    if geometry.stripe_unit_blocks == 0:
        yield Remark("stripe, chunk: XFS was made without the geometry of an array")
        return
    yield Entry(
        "stripe",
        Known(
            geometry.stripe_width_blocks // geometry.stripe_unit_blocks,
            "data disks; compare with the RAID of the array",
        ),
    )
    yield Entry(
        "chunk", Known(_kib(geometry.stripe_unit_blocks * geometry.block_bytes), "compare with the RAID of the array")
    )


def _connections(looked: Looked) -> Iterator[Item]:
    tree = looked.fact(nvme.controllers())
    for nqn in dict.fromkeys(one.subsysnqn for one in tree.fabrics):
        if nqn is None:
            yield Item([Entry("nqn", Open("NQN of the array", "a fabrics controller does not tell its subsystem"))])
        else:
            yield Item(_connection(tree, nqn))


def _connection(tree: NvmeTree, nqn: str) -> list[Entry | Remark]:
    found = link(tree, nqn)
    ends = [end for one in found.paths if (end := target(one.address)) is not None]

    def same(wanted: str, values: list[Any], remark: str = "compare with the agreement") -> Leaf:
        told = set(values)
        if len(told) != 1 or None in told:
            return Open(
                wanted, f"seen {', '.join(sorted(map(str, told - {None}))) or 'nothing'} on {len(found.paths)} paths"
            )
        return Known(told.pop(), remark)

    live = sum(one.state == "live" for one in found.paths)
    return [
        Entry("nqn", Known(nqn)),
        Entry("transport", same("rdma or tcp", [one.transport for one in found.paths])),
        Entry("address", _address(ends)),
        Entry("port", same("4420", [int(end.port) for end in ends if end.port.isdecimal()])),
        Entry("paths", Known(len(found.paths), f"{live} of them live; compare with the cabling plan")),
        Entry("queues", same("I/O queues", [None if one.queue_count is None else one.queue_count - 1 for one in found.paths])),
        Entry("namespaces", Known(len(found.namespaces))),
        Entry("ana", Known(any(space.ana_state for one in found.paths for space in one.namespaces), "true: the target offers ANA")),
        Entry("iopolicy", same("numa, round-robin or queue-depth", list(found.iopolicies))),
        Entry("ctrl_loss", same("seconds, -1 never", [one.ctrl_loss_tmo for one in found.paths])),
        Entry("reconnect_delay", same("seconds", [one.reconnect_delay for one in found.paths])),
        Entry("fast_io_fail", same("seconds, -1 off", [one.fast_io_fail_tmo for one in found.paths])),
        Entry("keep_alive", same("seconds", [one.kato for one in found.paths])),
    ]  # fmt: skip


def _address(ends: list[Target]) -> Leaf:
    addresses = list(dict.fromkeys(end.address for end in ends))
    if not addresses:
        return Open("address of the array's storage port", "no path tells where it ends")
    more = f"; further paths end at {', '.join(addresses[1:])}" if addresses[1:] else ""
    return Known(addresses[0], f"a storage port of the array{more}")
