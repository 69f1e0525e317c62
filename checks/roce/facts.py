"""What a RoCE port is, in one shape whichever tool told it. How it treats traffic is in treatment.py."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from checks.parsers import ibv_devinfo, rdma, sysfs_infiniband
from checks.probe import UnreadableOutput

ROCE_V2 = "RoCE v2"


@dataclass(frozen=True, slots=True)
class GidSlot:
    """One filled slot of a GID table. ``kind`` None: the tool does not print the type; ``netdev`` None: not told."""

    index: int
    address: IPv6Address
    kind: str | None
    netdev: str | None


@dataclass(frozen=True, slots=True)
class Port:
    """One RDMA port; None is what this way of asking does not tell. States are words in capitals, ``LINK_UP`` with a bar."""

    device: str
    number: int
    state: str | None = None
    physical_state: str | None = None
    link_layer: str | None = None
    netdev: str | None = None
    gbps: float | None = None
    width: str | None = None  # lanes and speed of a lane as printed: 4X EDR
    active_mtu: int | None = None  # bytes
    gids: tuple[GidSlot, ...] = ()


def find(ports: tuple[Port, ...], device: str, number: int) -> Port | None:
    """Return the port of that name, or None when the host has no such port."""
    return next((port for port in ports if (port.device, port.number) == (device, number)), None)


def ports_from_rdma(text: str) -> tuple[Port, ...]:
    """Ports as ``rdma link`` lists them: states and network device."""
    return tuple(
        Port(link.device, link.port, link.state, link.physical_state, netdev=link.netdev) for link in rdma.parse(text)
    )


def ports_from_sysfs(text: str) -> tuple[Port, ...]:
    """Ports as sysfs shows them: states, rate, link layer, GID table. The network device is the one all slots name."""
    return tuple(_from_sysfs(port) for port in sysfs_infiniband.parse(text))


def _from_sysfs(port: sysfs_infiniband.IbPort) -> Port:
    rate = re.fullmatch(r"([\d.]+) Gb/sec \((.*)\)", port.rate or "")
    names = {gid.netdev for gid in port.gids if gid.netdev is not None}
    return Port(
        device=port.device,
        number=port.port,
        state=_capital(port.state),
        physical_state=_capital(port.physical_state),
        link_layer=port.link_layer,
        netdev=names.pop() if len(names) == 1 else None,
        gbps=float(rate[1]) if rate else None,
        width=rate[2] if rate else None,
        gids=tuple(GidSlot(gid.index, _address(gid.gid), gid.kind, gid.netdev) for gid in port.gids),
    )


def ports_from_devinfo(text: str) -> tuple[Port, ...]:
    """Ports as ``ibv_devinfo -v`` shows them: state, active MTU, GID table without network devices."""
    return tuple(
        Port(
            device=port.device or "",
            number=port.port or 0,
            state=_capital(port.state),
            physical_state=_capital(port.physical_state),
            link_layer=port.link_layer,
            active_mtu=port.active_mtu,
            gids=tuple(GidSlot(gid.index, _address(gid.gid), gid.kind, None) for gid in port.gids),
        )
        for port in ibv_devinfo.parse(text)
    )


def _capital(word: str | None) -> str | None:
    if word is None:
        return None
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).upper().removeprefix("PORT_")


def _address(gid: str) -> IPv6Address:
    try:
        return IPv6Address(gid)
    except ValueError:
        raise UnreadableOutput(f"GID {gid[:60]!r} is no 128-bit address") from None


def gid_of(address: str) -> IPv6Address | None:
    """Return the RoCE v2 GID of an IP address (IPv4 mapped into IPv6; a prefix length is ignored), None if it is none."""
    try:
        found = ip_address(address.partition("/")[0])
    except ValueError:
        return None
    return found if isinstance(found, IPv6Address) else IPv6Address(f"::ffff:{found}")
