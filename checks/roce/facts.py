"""What a RoCE port is and how it treats traffic, in one shape whichever tool told it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from checks.lexing import json_documents
from checks.parsers import dcb_app, dcb_ets, dcb_pfc, ibv_devinfo, mlnx_qos, niccli, rdma, rdma_qos, sysfs_infiniband
from checks.parsers.rdma_qos import RdmaQos
from checks.probe import NotOffered, UnreadableOutput

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


@dataclass(frozen=True, slots=True)
class Qos:
    """How a port tells traffic apart and schedules it, from ``tool``.

    ``dscp`` are pairs DSCP -> priority, ``classes`` priority -> traffic class, ``tsa`` traffic class -> strict, ets, vendor.
    """

    tool: str
    trust: str | None
    pfc: tuple[int, ...]
    dscp: tuple[tuple[int, int], ...]
    classes: tuple[tuple[int, int], ...]
    tsa: tuple[tuple[int, str], ...]

    def priority_of(self, dscp: int) -> int | None:
        """Priority that packets with this DSCP get; None when the map does not name it."""
        return dict(self.dscp).get(dscp)

    def scheduling_of(self, priority: int) -> str | None:
        """How the traffic class of this priority is scheduled; None when the tool does not say."""
        traffic_class = dict(self.classes).get(priority)
        return None if traffic_class is None else dict(self.tsa).get(traffic_class)


def qos_from_mlnx(text: str) -> Qos:
    """Read ``mlnx_qos -i IF``."""
    said = mlnx_qos.parse(text)
    return Qos(
        tool="mlnx_qos",
        trust=said.trust,
        pfc=said.pfc,
        dscp=said.dscp,
        classes=tuple(sorted((priority, item.number) for item in said.classes for priority in item.priorities)),
        tsa=tuple((item.number, item.tsa) for item in said.classes),
    )


def qos_from_niccli(text: str) -> Qos:
    """``niccli ... qos --ets --show``: a port without any DSCP entry tells packets apart by their VLAN priority alone."""
    said = niccli.parse(text)
    return Qos("niccli", "dscp" if said.dscp else "pcp", said.pfc, said.dscp, said.classes, said.tsa)


def qos_from_dcb(text: str) -> Qos:
    """``dcb -j`` of pfc, app and ets, one document each in this order. Drivers trust DSCP from the first DSCP entry on."""
    documents = [json.dumps(document) for document in json_documents(text)]
    if len(documents) != 3:
        raise UnreadableOutput(f"{len(documents)} JSON documents, wanted three: pfc, app and ets")
    flow, map_, schedule = dcb_pfc.parse(documents[0]), dcb_app.parse(documents[1]), dcb_ets.parse(documents[2])
    return Qos(
        tool="dcb",
        trust="dscp" if map_.dscp else "pcp",
        pfc=tuple(priority for priority, on in enumerate(flow.on) if on),
        dscp=map_.dscp,
        classes=tuple(enumerate(schedule.classes)),
        tsa=tuple(enumerate(schedule.tsa)),
    )


def congestion(text: str) -> RdmaQos:
    """Read a dump of ECN and DCQCN files. Raises NotOffered when the driver has none of them."""
    if not text:
        raise NotOffered("the driver shows none of these ECN and DCQCN files (the inbox driver has no ECN switch)")
    return rdma_qos.parse(text)
