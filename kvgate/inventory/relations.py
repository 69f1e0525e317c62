"""What no single value of an inventory can show: parts that contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from ipaddress import ip_address

from checks.phrase import say
from checks.units import show_bytes
from kvgate.errors import Fault
from kvgate.inventory.calendar import GATES
from kvgate.inventory.model import Connection, Host, Mount, Nic, Rack, Raid
from kvgate.inventory.strict_yaml import Document, Key

_IDENTITY = {"nics": "name", "mounts": "path", "nvmeof": "nqn", "raid": "device"}
_UUID_NQN = re.compile(r"nqn\.2014-08\.org\.nvmexpress:uuid:[0-9A-Fa-f-]{36}")
_NETWORK = ("nfs", "nfs4")
#: Names that the kernel gives in the order in which it finds devices: another disk may carry them after the next boot.
_PASSING = re.compile(r"/dev/(nvme\d+n\d+|[svx]+d[a-z]+|dm-)\w*", re.ASCII)


def contradictions(document: Document, rack: Rack) -> Iterator[Fault]:
    """Everything that would let a gate pass by asking nothing, or that can never hold."""
    for role in ("array", "node"):
        if not any(host.role == role for host in rack.hosts.values()):
            yield document.fault(
                ("hosts",), say("no host of role {role}", role=role), say("an array and the nodes that use it")
            )
    yield from _calendar(document, rack)
    for name, host in rack.hosts.items():
        here: Key = ("hosts", name)
        yield from _storage(document, here, host)
        yield from _stripes(document, here, host, rack)
        yield from _network(document, here, host, rack)
        yield from _twice(document, here, host)
        yield from _cache(document, (*here, "cache"), host)


def _cache(document: Document, here: Key, host: Host) -> Iterator[Fault]:
    """Memory of what is no array, and a word about memory that tells nothing of it."""
    if host.cache is not None and host.role != "array":
        yield document.fault(
            here, say("the memory of an array at a node"), say("'cache' at the host of role array"), key=True
        )
    elif host.cache is not None and host.cache.size is None and not host.cache.flushed:
        wanted = say("size: 64 GB as the vendor tells it (0 B: none), or flushed: true, or no 'cache'")
        yield document.fault(here, say("neither its size nor that the vendor empties it"), wanted)


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
            yield document.fault(
                (*here, "start"),
                str(planned.start),
                say("{before} or later, as what comes before it", before=str(before)),
            )
        if planned.end < planned.start:
            yield document.fault(
                (*here, "end"),
                say("{end}, before its start", end=str(planned.end)),
                say("{start} or later", start=str(planned.start)),
            )
        if planned.end > last:
            yield document.fault(
                (*here, "end"),
                str(planned.end),
                say("{last} or earlier, the end of week {weeks}", last=str(last), weeks=calendar.weeks),
            )
        if planned.valid < 1:
            yield document.fault((*here, "valid"), say("{valid} d", valid=planned.valid), say("at least 1 d"))
        before = planned.start


def _storage(document: Document, here: Key, host: Host) -> Iterator[Fault]:
    for index, raid in enumerate(host.raid):
        members = sum(disk.role == "member" for disk in host.disks)
        if host.access != "none" and members != raid.members:
            yield document.fault(
                (*here, "raid", index, "members"),
                say("{members} members, but {disks} disks of role member", members=raid.members, disks=members),
                say("the same number"),
            )
    if host.role == "node" and not host.raid:
        for index, disk in enumerate(host.disks):
            if disk.role == "member":
                wanted = say("role: baseline or role: system, or the raid that it is a member of")
                yield document.fault(
                    (*here, "disks", index), say("{serial} as member, but no raid here", serial=disk.serial), wanted
                )
    for index, mount in enumerate(host.mounts):
        if both := sorted(set(mount.options) & set(mount.forbidden)):
            found = say("{words}, which options asks for", words=", ".join(both))
            yield document.fault((*here, "mounts", index, "forbidden"), found, say("each word in one of the two"))
        if mount.path != "/" and (mount.path.endswith("/") or "//" in mount.path):
            clean = "/" + "/".join(part for part in mount.path.split("/") if part)
            yield document.fault(
                (*here, "mounts", index, "path"), mount.path, say("{path}, as the kernel writes it", path=clean)
            )
        if mount.device is not None and _PASSING.fullmatch(mount.device):
            wanted = say(
                "a name that lasts: /dev/disk/by-id/..., /dev/md/..., or none (the source is then found by serial or NQN)"
            )
            found = say("{device}, which changes at boot", device=mount.device)
            yield document.fault((*here, "mounts", index, "device"), found, wanted)


def _stripes(document: Document, here: Key, host: Host, rack: Rack) -> Iterator[Fault]:
    """Stripes that no array of this host, or of an array that serves it, can have."""
    raids = [*host.raid, *(raid for other in rack.hosts.values() if other.role == "array" for raid in other.raid)]
    ways = sorted({(data_disks(raid), raid.chunk) for raid in raids if raid.level != "raid1"})
    for index, mount in enumerate(host.mounts):
        place: Key = (*here, "mounts", index)
        chunk: int | None = mount.chunk
        if mount.stripe is None:
            if chunk is not None:
                yield document.fault(
                    (*place, "chunk"), say("a chunk without a stripe"), say("stripe: the number of data disks")
                )
        elif mount.filesystem in _NETWORK:
            yield document.fault(
                (*place, "stripe"),
                say("a stripe on {filesystem}", filesystem=mount.filesystem),
                say("no stripe: its server has it"),
            )
        elif chunk is None:
            yield document.fault(
                (*place, "stripe"), say("a stripe without its chunk"), say("chunk: as the array has it")
            )
        elif ways and (mount.stripe, chunk) not in ways:
            wanted = " or ".join(f"{disks} x {_kib(size)}" for disks, size in ways)
            found = say("{stripe} x {kib}", stripe=mount.stripe, kib=_kib(chunk))
            yield document.fault(
                (*place, "stripe"), found, say("{wanted}, as raid says (data disks x chunk)", wanted=wanted)
            )
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
        found = say("{size}, more than the members of the array hold", size=show_bytes(mount.capacity))
        yield document.fault((*place, "capacity"), found, say("at most {size}", size=show_bytes(max(sizes))))


def _network(document: Document, here: Key, host: Host, rack: Rack) -> Iterator[Fault]:
    if host.access == "commands" and not host.commands:
        yield document.fault(
            (*here, "access"), say("commands, but no list of them"), say("commands: [nvme, smartctl, ...]")
        )
    if host.access != "commands" and host.commands:
        yield document.fault(
            (*here, "commands"),
            say("a list, but access: {access}", access=host.access),
            say("access: commands, or no list"),
        )
    if not any(nic.role == "storage" for nic in host.nics):
        yield document.fault(
            (*here, "nics"), say("no port of role storage"), say("the port that storage traffic takes")
        )
    if host.role == "node" and not host.nvmeof and not any(one.filesystem in _NETWORK for one in host.mounts):
        yield document.fault(
            (*here, "nvmeof"), say("a node without storage"), say("what this node is connected to, or an NFS mount")
        )
    for index, nic in enumerate(host.nics):
        if rack.fabric is None or nic.role != "storage":
            continue
        if nic.rdma and nic.mtu != rack.fabric.mtu:
            yield document.fault(
                (*here, "nics", index, "mtu"), str(nic.mtu), say("{mtu}, as fabric says", mtu=rack.fabric.mtu)
            )
        elif nic.mtu > rack.fabric.mtu:
            wanted = say("at most {mtu}, as fabric says", mtu=rack.fabric.mtu)
            yield document.fault((*here, "nics", index, "mtu"), str(nic.mtu), wanted)
    for index, link in enumerate(host.nvmeof):
        place: Key = (*here, "nvmeof", index)
        ends = [nic for other in rack.hosts.values() for nic in other.nics if carries(nic, link)]
        if not ends:
            yield document.fault(
                (*place, "address"),
                say("{address}, which no port of this rack carries", address=link.address),
                say("the address of a storage port of the array"),
            )
        if link.transport == "rdma" and not any(nic.rdma for nic in host.nics if nic.role == "storage"):
            yield document.fault(
                (*place, "transport"), say("rdma, but no storage port with rdma here"), say("nics: rdma: mlx5_0")
            )
        if link.transport == "rdma" and ends and not any(nic.rdma for nic in ends):
            yield document.fault(
                (*place, "transport"), say("rdma, but the array's port orders no rdma"), say("its nics: rdma: ...")
            )


def carries(nic: Nic, link: Connection) -> bool:
    """Whether a port was ordered with the address that a connection leads to; a prefix length is ignored."""
    ordered, wanted = (nic.address or "").partition("/")[0], link.address
    return bool(ordered) and _address(ordered) == _address(wanted)


@lru_cache(maxsize=4096)
def _address(text: str) -> str:
    """One spelling of an address; a name stays as it is."""
    try:
        return str(ip_address(text))
    except ValueError:
        return text


def _twice(document: Document, here: Key, host: Host) -> Iterator[Fault]:
    slots: dict[str, Key] = {}
    for group in ("disks", "nics"):
        for index, part in enumerate(getattr(host, group)):
            if part.bdf is not None and part.bdf in slots:
                found = say(
                    "{bdf} a second time (first at {group}[{index}])",
                    bdf=part.bdf,
                    group=slots[part.bdf][0],
                    index=slots[part.bdf][1],
                )
                yield document.fault((*here, group, index, "bdf"), found, say("each slot once a host"))
            elif part.bdf is not None:
                slots[part.bdf] = (group, index)
    for group, word, values in (
        ("nics", "rdma", [nic.rdma and f"{nic.rdma}/{nic.rdma_port}" for nic in host.nics]),
        ("mounts", "arm", [mount.arm for mount in host.mounts]),
    ):
        for index, value in enumerate(values):
            if value is not None and value in values[:index]:
                yield document.fault(
                    (*here, group, index, word), say("{value} a second time", value=value), say("each once a host")
                )
    for group, identity in _IDENTITY.items():
        names = [same_thing(identity, getattr(part, identity)) for part in getattr(host, group)]
        for index, value in enumerate(names):
            if value in names[:index]:
                again = getattr(getattr(host, group)[index], identity)
                yield document.fault(
                    (*here, group, index), say("{value!r} a second time", value=again), say("each once a host")
                )


def same_thing(what: str, value: str) -> str:
    """One spelling of what names one thing: a serial or MAC address is the same in letters of either case, and so are the
    digits of an NQN that is a UUID (RFC 4122); every other NQN, name and path is compared byte by byte.
    """
    if what in ("serial", "mac") or (what == "nqn" and _UUID_NQN.fullmatch(value)):
        return value.casefold()
    return value
