"""What no single value of an inventory can show: parts that contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address

from checks.units import show_bytes
from kvgate.errors import Fault
from kvgate.inventory.calendar import GATES
from kvgate.inventory.model import Connection, Host, Mount, Nic, Rack, Raid
from kvgate.inventory.strict_yaml import Document, Key

_IDENTITY = {"disks": "serial", "nics": "name", "mounts": "path", "nvmeof": "nqn", "raid": "device"}
_NETWORK = ("nfs", "nfs4")
#: Names that the kernel gives in the order in which it finds devices: another disk may carry them after the next boot.
_PASSING = re.compile(r"/dev/(nvme\d+n\d+|[svx]+d[a-z]+|dm-)\w*", re.ASCII)


def contradictions(document: Document, rack: Rack) -> Iterator[Fault]:
    """Everything that would let a gate pass by asking nothing, or that can never hold."""
    for role in ("array", "node"):
        if not any(host.role == role for host in rack.hosts.values()):
            yield document.fault(("hosts",), f"no host of role {role}", "an array and the nodes that use it")
    yield from _calendar(document, rack)
    for name, host in rack.hosts.items():
        here: Key = ("hosts", name)
        yield from _storage(document, here, host)
        yield from _stripes(document, here, host, rack)
        yield from _network(document, here, host, rack)
        yield from _twice(document, here, host)


def _calendar(document: Document, rack: Rack) -> Iterator[Fault]:
    """A plan whose days cannot follow one another, or that ends after the campaign's last week."""
    if (calendar := rack.calendar) is None:
        return
    last = calendar.begins + timedelta(weeks=calendar.weeks, days=-1)
    before = calendar.begins
    for gate in GATES:
        planned = calendar.of(gate)
        here: Key = ("calendar", "gates", gate)
        if planned.start < before:
            yield document.fault((*here, "start"), str(planned.start), f"{before} or later, as what comes before it")
        if planned.end < planned.start:
            yield document.fault((*here, "end"), f"{planned.end}, before its start", f"{planned.start} or later")
        if planned.end > last:
            yield document.fault(
                (*here, "end"), str(planned.end), f"{last} or earlier, the end of week {calendar.weeks}"
            )
        if planned.valid < 1:
            yield document.fault((*here, "valid"), f"{planned.valid} d", "at least 1 d")
        before = planned.start


def _storage(document: Document, here: Key, host: Host) -> Iterator[Fault]:
    for index, raid in enumerate(host.raid):
        members = sum(disk.role == "member" for disk in host.disks)
        if host.access != "none" and members != raid.members:
            yield document.fault(
                (*here, "raid", index, "members"),
                f"{raid.members} members, but {members} disks of role member",
                "the same number",
            )
    if host.role == "node" and not host.raid:
        for index, disk in enumerate(host.disks):
            if disk.role == "member":
                wanted = "role: baseline or role: system, or the raid that it is a member of"
                yield document.fault((*here, "disks", index), f"{disk.serial} as member, but no raid here", wanted)
    for index, mount in enumerate(host.mounts):
        if both := sorted(set(mount.options) & set(mount.forbidden)):
            found = f"{', '.join(both)}, which options asks for"
            yield document.fault((*here, "mounts", index, "forbidden"), found, "each word in one of the two")
        if mount.path != "/" and (mount.path.endswith("/") or "//" in mount.path):
            clean = "/" + "/".join(part for part in mount.path.split("/") if part)
            yield document.fault((*here, "mounts", index, "path"), mount.path, f"{clean}, as the kernel writes it")
        if mount.device is not None and _PASSING.fullmatch(mount.device):
            wanted = "a name that lasts: /dev/disk/by-id/..., /dev/md/..., or none (the source is then found by serial or NQN)"
            yield document.fault((*here, "mounts", index, "device"), f"{mount.device}, which changes at boot", wanted)


def _stripes(document: Document, here: Key, host: Host, rack: Rack) -> Iterator[Fault]:
    """Stripes that no array of this host, or of an array that serves it, can have."""
    raids = [*host.raid, *(raid for other in rack.hosts.values() if other.role == "array" for raid in other.raid)]
    ways = sorted({(data_disks(raid), raid.chunk) for raid in raids if raid.level != "raid1"})
    for index, mount in enumerate(host.mounts):
        place: Key = (*here, "mounts", index)
        chunk: int | None = mount.chunk
        if mount.stripe is None:
            if chunk is not None:
                yield document.fault((*place, "chunk"), "a chunk without a stripe", "stripe: the number of data disks")
        elif mount.filesystem in _NETWORK:
            yield document.fault((*place, "stripe"), f"a stripe on {mount.filesystem}", "no stripe: its server has it")
        elif chunk is None:
            yield document.fault((*place, "stripe"), "a stripe without its chunk", "chunk: as the array has it")
        elif ways and (mount.stripe, chunk) not in ways:
            wanted = " or ".join(f"{disks} x {_kib(size)}" for disks, size in ways)
            found = f"{mount.stripe} x {_kib(chunk)}"
            yield document.fault((*place, "stripe"), found, f"{wanted}, as raid says (data disks x chunk)")
        else:
            yield from _too_large(document, place, mount, host, rack)


def data_disks(raid: Raid) -> int:
    """Members whose data are their own: half of those of raid10."""
    return raid.members // 2 if raid.level == "raid10" else raid.members


def _kib(size: int) -> str:
    return f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} B"


def _too_large(document: Document, place: Key, mount: Mount, host: Host, rack: Rack) -> Iterator[Fault]:
    """A filesystem larger than the disks it stands on, by more than what rounding of sold sizes explains."""
    owners = [one for one in (host, *rack.hosts.values()) if one.raid and (one is host or one.role == "array")]
    sizes = [sum(disk.capacity for disk in one.disks if disk.role == "member") for one in owners]
    if sizes and mount.capacity > max(sizes) * 1.02:
        found = f"{show_bytes(mount.capacity)}, more than the members of the array hold"
        yield document.fault((*place, "capacity"), found, f"at most {show_bytes(max(sizes))}")


def _network(document: Document, here: Key, host: Host, rack: Rack) -> Iterator[Fault]:
    if host.access == "commands" and not host.commands:
        yield document.fault((*here, "access"), "commands, but no list of them", "commands: [nvme, smartctl, ...]")
    if host.access != "commands" and host.commands:
        yield document.fault((*here, "commands"), f"a list, but access: {host.access}", "access: commands, or no list")
    if not any(nic.role == "storage" for nic in host.nics):
        yield document.fault((*here, "nics"), "no port of role storage", "the port that storage traffic takes")
    if host.role == "node" and not host.nvmeof and not any(one.filesystem in _NETWORK for one in host.mounts):
        yield document.fault(
            (*here, "nvmeof"), "a node without storage", "what this node is connected to, or an NFS mount"
        )
    for index, nic in enumerate(host.nics):
        if rack.fabric is None or nic.role != "storage":
            continue
        if nic.rdma and nic.mtu != rack.fabric.mtu:
            yield document.fault((*here, "nics", index, "mtu"), str(nic.mtu), f"{rack.fabric.mtu}, as fabric says")
        elif nic.mtu > rack.fabric.mtu:
            wanted = f"at most {rack.fabric.mtu}, as fabric says"
            yield document.fault((*here, "nics", index, "mtu"), str(nic.mtu), wanted)
    for index, link in enumerate(host.nvmeof):
        place: Key = (*here, "nvmeof", index)
        ends = [nic for other in rack.hosts.values() for nic in other.nics if carries(nic, link)]
        if not ends:
            yield document.fault(
                (*place, "address"),
                f"{link.address}, which no port of this rack carries",
                "the address of a storage port of the array",
            )
        if link.transport == "rdma" and not any(nic.rdma for nic in host.nics if nic.role == "storage"):
            yield document.fault(
                (*place, "transport"), "rdma, but no storage port with rdma here", "nics: rdma: mlx5_0"
            )
        if link.transport == "rdma" and ends and not any(nic.rdma for nic in ends):
            yield document.fault(
                (*place, "transport"), "rdma, but the array's port orders no rdma", "its nics: rdma: ..."
            )


def carries(nic: Nic, link: Connection) -> bool:
    """Whether a port was ordered with the address that a connection leads to; a prefix length is ignored."""
    ordered = (nic.address or "").partition("/")[0]
    try:
        return ip_address(ordered) == ip_address(link.address)
    except ValueError:
        return bool(ordered) and ordered == link.address


def _twice(document: Document, here: Key, host: Host) -> Iterator[Fault]:
    slots: dict[str, Key] = {}
    for group in ("disks", "nics"):
        for index, part in enumerate(getattr(host, group)):
            if part.bdf is not None and part.bdf in slots:
                found = f"{part.bdf} a second time (first at {slots[part.bdf][0]}[{slots[part.bdf][1]}])"
                yield document.fault((*here, group, index, "bdf"), found, "each slot once a host")
            elif part.bdf is not None:
                slots[part.bdf] = (group, index)
    for group, word, values in (
        ("nics", "rdma", [nic.rdma and f"{nic.rdma}/{nic.rdma_port}" for nic in host.nics]),
        ("mounts", "arm", [mount.arm for mount in host.mounts]),
    ):
        for index, value in enumerate(values):
            if value is not None and value in values[:index]:
                yield document.fault((*here, group, index, word), f"{value} a second time", "each once a host")
    for group, identity in _IDENTITY.items():
        names = [getattr(part, identity) for part in getattr(host, group)]
        for index, value in enumerate(names):
            if value in names[:index]:
                yield document.fault((*here, group, index), f"{value!r} a second time", "each once a host")
