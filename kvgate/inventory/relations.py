"""What no single value of an inventory can show: parts that contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import ip_address

from checks.phrase import say
from kvgate.errors import Fault
from kvgate.inventory.model import Connection, Host, Nic, Rack
from kvgate.inventory.strict_yaml import Document, Key

_IDENTITY = {"disks": "serial", "nics": "name", "mounts": "path", "nvmeof": "nqn", "raid": "device"}
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
    for name, host in rack.hosts.items():
        here: Key = ("hosts", name)
        yield from _storage(document, here, host)
        yield from _network(document, here, host, rack)
        yield from _twice(document, here, host)


def _storage(document: Document, here: Key, host: Host) -> Iterator[Fault]:
    for index, raid in enumerate(host.raid):
        members = sum(disk.role == "member" for disk in host.disks)
        if host.access != "none" and members != raid.members:
            yield document.fault(
                (*here, "raid", index, "members"),
                say("{members} members, but {disks} disks of role member", members=raid.members, disks=members),
                say("the same number"),
            )
    for index, mount in enumerate(host.mounts):
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


def _network(document: Document, here: Key, host: Host, rack: Rack) -> Iterator[Fault]:
    if host.access == "commands" and not host.commands:
        yield document.fault((*here, "access"), say("commands, but no list of them"), "commands: [nvme, smartctl, ...]")
    if not any(nic.role == "storage" for nic in host.nics):
        yield document.fault(
            (*here, "nics"), say("no port of role storage"), say("the port that storage traffic takes")
        )
    if host.role == "node" and not host.nvmeof and not any(one.filesystem in _NETWORK for one in host.mounts):
        yield document.fault(
            (*here, "nvmeof"), say("a node without storage"), say("what this node is connected to, or an NFS mount")
        )
    for index, nic in enumerate(host.nics):
        if rack.fabric is not None and nic.role == "storage" and nic.rdma and nic.mtu != rack.fabric.mtu:
            yield document.fault(
                (*here, "nics", index, "mtu"), str(nic.mtu), say("{mtu}, as fabric says", mtu=rack.fabric.mtu)
            )
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
                (*place, "transport"), say("rdma, but no storage port with rdma here"), "nics: rdma: mlx5_0"
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
    for group, identity in _IDENTITY.items():
        names = [getattr(part, identity) for part in getattr(host, group)]
        for index, value in enumerate(names):
            if value in names[:index]:
                yield document.fault(
                    (*here, group, index), say("{value!r} a second time", value=value), say("each once a host")
                )
