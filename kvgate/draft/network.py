"""Ethernet ports that carry storage traffic, as seen; other ports are named in a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checks.fabric import probes as fabric
from checks.fabric.facts import same_address, target
from checks.nic import probes as nic
from checks.nic.facts import driver_name, link
from checks.nvme.probes import controllers
from checks.parsers.ethtool_m import Module
from checks.parsers.ethtool_show_fec import Fec
from checks.parsers.ip_addr import Address
from checks.parsers.ip_link import Interface
from checks.parsers.sysfs_net import NetDevice
from checks.probe import Probe
from checks.roce import probes as roce
from checks.roce.facts import Port
from kvgate.draft.form import Entry, Item, Known, Leaf, Open, Remark
from kvgate.draft.look import Looked
from kvgate.draft.storage import pcie
from kvgate.errors import CannotTell

_FEC = {"rs": "rs", "baser": "baser", "off": "off", "none": "off"}


def first() -> Iterator[Probe[Any]]:
    """Questions that need no earlier answer."""
    yield from (nic.interfaces(), nic.addresses(), roce.links())


def then(looked: Looked) -> Iterator[Probe[Any]]:
    """Questions about the ports that carry storage traffic."""
    for port in storage_ports(looked)[0]:
        name = port.name
        yield from (
            nic.device(name),
            nic.driver(name),
            nic.settings(name),
            nic.fec(name),
            nic.module(name),
            nic.neighbours(name),
        )


def storage_ports(looked: Looked) -> tuple[list[Interface], bool]:
    """The ports to draft, and whether they are known to carry storage traffic (else: every port of the host)."""
    ports = [one for one in looked.may(nic.interfaces()) or () if one.parent is not None and one.mac is not None]
    chosen = {one.netdev for one in looked.may(roce.links()) or () if one.netdev}
    interfaces = {one.name: one for one in looked.may(nic.interfaces()) or ()}
    for address in looked.may(nic.addresses()) or ():
        if any(same_address(address.local, used) for used in _traffic(looked)):
            chosen |= _below(address.interface, interfaces)
    storage = [one for one in ports if one.name in chosen]
    return (storage, True) if storage else (ports, False)


def _traffic(looked: Looked) -> set[str]:
    """Addresses of this host that NVMe-oF uses: where paths start, and where a target listens."""
    tree, offered = looked.may(controllers()), looked.may(fabric.target())
    found = {end.source for one in tree.fabrics if (end := target(one.address)) is not None} if tree else set()
    return (found | ({port.address for port in offered.ports} if offered else set())) - {""}


def _below(name: str, interfaces: dict[str, Interface]) -> set[str]:
    """The interface itself, what a VLAN stands on, and the members of a bond."""
    found = {name}
    if (own := interfaces.get(name)) is not None and own.lower:
        found |= _below(own.lower, {key: value for key, value in interfaces.items() if key != name})
    return found | {one.name for one in interfaces.values() if one.master in found}


def entries(looked: Looked) -> Iterator[Entry | Remark]:
    """Nics, and the ports that are not among them."""
    try:
        interfaces = looked.fact(nic.interfaces())
    except CannotTell as error:
        yield Entry("nics", Open("the storage ports of this host", str(error)))
        return
    ports, known = storage_ports(looked)
    try:
        carried = looked.fact(roce.links())
    except CannotTell as error:
        carried = ()
        yield Remark(f"RDMA devices could not be told: {error}")
    yield (
        Entry("nics", tuple(Item(list(_port(looked, port, known, carried))) for port in ports))
        if ports
        else Remark("nics: no port was seen")
    )
    for other in interfaces:
        if other.parent is not None and other.mac is not None and other not in ports:
            own = ", ".join(_addresses(looked, other)) or "no address"
            yield Remark(
                f"another port, no storage traffic seen: {other.name} {other.mac} {other.state} {own}; add it if it was ordered"
            )


def _port(looked: Looked, port: Interface, known: bool, carried: tuple[Port, ...]) -> Iterator[Entry | Remark]:
    name = port.name
    device: NetDevice | None = looked.may(nic.device(name))
    yield Entry("name", Known(name, "the kernel's name of today"))
    yield Entry("mac", Known(port.mac or "", "compare with the delivery note"))
    yield Entry(
        "role",
        Known("storage", "carries RDMA or NVMe-oF")
        if known
        else Open("storage or management", "carries no RDMA and no NVMe-oF today"),
    )
    yield Entry("driver", _first(looked, "driver", driver_name, nic.driver(name), nic.device(name)))
    yield Entry("firmware", _firmware(looked, name))
    yield Entry(
        "speed",
        _first(looked, "100 Gb/s", lambda fact: _rate(link(fact).speed_mbps), nic.settings(name), nic.device(name)),
    )
    yield Entry("mtu", Known(port.mtu, "bytes; compare with the agreement"))
    yield from _addressed(looked, port)
    for one in carried:
        if one.netdev == name:
            yield Entry("rdma", Known(one.device, "seen today"))
            if one.number != 1:
                yield Entry("rdma_port", Known(one.number))
    yield Entry(
        "bdf",
        Known(port.parent, "the slot; compare with the slot plan")
        if port.parent and re.fullmatch(r"[0-9a-f:.]+", port.parent)
        else Open("PCI address", f"seen {port.parent}"),
    )
    if device is None or not device.links:
        yield Entry("pcie", Open("gen and lanes as ordered", "the kernel shows no PCI Express link"))
    else:
        most = device.capable
        yield Entry(
            "pcie", pcie((device.links[0].gts, device.links[0].width), (most.gts, most.width) if most else (None, None))
        )
    yield Entry(
        "media", looked.value("optic or copper", nic.module(name), _media, "as the module says; compare with the order")
    )
    yield Entry(
        "fec", looked.value("rs, baser, off or none", nic.fec(name), _fec, "compare with the agreement and the switch")
    )
    if device is not None and device.numa is not None:
        yield Entry("numa", Known(device.numa, "NUMA node of the slot"))
    else:
        yield Remark("numa: the kernel does not tell the NUMA node of the slot")
    yield from _cabling(looked, name)


def _first(looked: Looked, wanted: str, take: Any, *probes: Probe[Any]) -> Leaf:
    """The first answer that tells; else the placeholder with every reason."""
    reasons = []
    for probe in probes:
        leaf = looked.value(wanted, probe, take)
        if isinstance(leaf, Known):
            return leaf
        reasons.append(leaf.reason)
    return Open(wanted, "; ".join(reasons))


def _firmware(looked: Looked, name: str) -> Leaf:
    leaf = looked.value("firmware", nic.driver(name), lambda fact: fact.firmware)
    if isinstance(leaf, Open):
        return leaf
    whole = str(leaf.value)
    word = re.split(r"[\s/,()]+", whole)[0] or whole
    return Known(
        word,
        "compare with the agreed release" if word == whole else f"told as {whole}; compare with the agreed release",
    )


def _rate(mbps: int | None) -> str | None:
    if mbps is None:
        return None
    return f"{mbps // 1000} Gb/s" if mbps % 1000 == 0 else f"{mbps} Mb/s"


def _addresses(looked: Looked, port: Interface) -> list[str]:
    """Addresses that count for a port: its own, those of its bond, those of a VLAN on either; routable ones only."""
    interfaces = looked.may(nic.interfaces()) or ()
    mine = {port.name, *([port.master] if port.master else [])}
    mine |= {one.name for one in interfaces if one.lower in mine}
    found: list[Address] = [
        one for one in looked.may(nic.addresses()) or () if one.interface in mine and one.scope == "global"
    ]
    used = _traffic(looked)
    found.sort(key=lambda one: (not any(same_address(one.local, each) for each in used), one.family != "inet"))
    return [one.local for one in found]


def _addressed(looked: Looked, port: Interface) -> Iterator[Entry | Remark]:
    try:
        looked.fact(nic.addresses())
    except CannotTell as error:
        yield Entry("address", Open("IP address", str(error)))
        return
    own = _addresses(looked, port)
    more = f"; further addresses: {', '.join(own[1:])}" if own[1:] else ""
    leaf: Leaf = (
        Known(own[0], f"compare with the address plan{more}")
        if own
        else Open("IP address", "the port carries none today")
    )
    yield Entry("address", leaf)


def _media(module: Module) -> str | None:
    if any(lane.tx_dbm is not None or lane.rx_dbm is not None or lane.tx_dark or lane.rx_dark for lane in module.lanes):
        return "optic"
    words = " ".join((module.connector, *module.types, module.technology or "")).lower()
    return "copper" if "copper" in words or "passive" in words else None


def _fec(fec: Fec) -> str | None:
    active = {_FEC.get(word.lower()) for word in fec.active}
    return active.pop() if len(active) == 1 else None


def _cabling(looked: Looked, name: str) -> Iterator[Entry | Remark]:
    try:
        heard = [one for one in looked.fact(nic.neighbours(name)) if one.interface == name]
    except CannotTell as error:
        yield Entry("switch", Open("switch of the cabling plan, or delete the line", str(error)))
        return
    if len(heard) != 1 or not (heard[0].system or heard[0].chassis):
        yield Entry(
            "switch",
            Open("switch of the cabling plan, or delete the line", f"LLDP hears {len(heard)} neighbours with a name"),
        )
        return
    yield Entry(
        "switch", Known(heard[0].system or heard[0].chassis or "", "heard by LLDP; compare with the cabling plan")
    )
    if heard[0].port:
        yield Entry("switch_port", Known(heard[0].port, "heard by LLDP; compare with the cabling plan"))
