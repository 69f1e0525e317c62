"""The storage network's agreement: always for people to decide; what the ports do today stands beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from checks.probe import Probe
from checks.roce import probes as roce
from checks.roce.facts import Port, find
from kvgate.draft.form import Entry, Open
from kvgate.draft.look import Looked
from kvgate.draft.network import storage_ports
from kvgate.errors import CannotTell

#: Field of the inventory's ``fabric`` -> what is to be agreed.
_FIELDS = {
    "pfc_priority": "0 to 7",
    "dscp": "0 to 63",
    "cnp_dscp": "0 to 63, usually 48",
    "ecn": "true or false",
    "mtu": "bytes of Ethernet, usually 9000",
    "roce_mtu": "bytes, usually 4096",
    "traffic_class": "TOS byte of RDMA connections: DSCP times 4 plus 2",
}
_CNP = ("roce_np/cnp_dscp", "cc_params/np_cnp_dscp", "cc_config/cnp_dscp")


def then(looked: Looked) -> Iterator[Probe[Any]]:
    """Questions about every RDMA port that carries storage traffic."""
    for port, name, bdf in _ports(looked):
        yield from (roce.kernel_qos(name), roce.ecn(name, bdf), roce.congestion(name, port.device, port.number, bdf))
        yield from (roce.devinfo(port.device, port.number), roce.cm_defaults(port.device, port.number))


def _ports(looked: Looked) -> Iterator[tuple[Port, str, str | None]]:
    carried = {one.netdev: one for one in looked.may(roce.links()) or ()}
    for interface in storage_ports(looked)[0]:
        if (port := carried.get(interface.name)) is not None:
            yield port, interface.name, interface.parent


def entries(hosts: Iterable[Looked]) -> list[Entry]:
    """The ``fabric`` mapping: a placeholder a field, with what was seen on how many ports."""
    seen: dict[str, list[str]] = defaultdict(list)
    for looked in hosts:
        for port, name, bdf in _ports(looked):
            for key, take in _TAKEN.items():
                seen[key].append(_told(looked, take, port, name, bdf))
        for interface in storage_ports(looked)[0]:
            seen["mtu"].append(str(interface.mtu))
    return [Entry(key, Open(wanted, _summary(seen[key]))) for key, wanted in _FIELDS.items()]


def _summary(values: list[str]) -> str:
    if not values:
        return "agree; no storage port told it"
    parts = [f"{value} on {values.count(value)}" for value in dict.fromkeys(values)]
    return f"agree; seen {', '.join(parts)} of {len(values)} ports"


def _told(looked: Looked, take: Any, port: Port, name: str, bdf: str | None) -> str:
    try:
        value = take(looked, port, name, bdf)
    except CannotTell:
        return "untold"
    return "untold" if value is None else str(value)


def _pfc(looked: Looked, port: Port, name: str, bdf: str | None) -> str:
    del port, bdf
    on = looked.fact(roce.kernel_qos(name)).pfc
    return f"priority {' and '.join(map(str, on))}" if on else "none"


def _dscp(looked: Looked, port: Port, name: str, bdf: str | None) -> str | None:
    tos = looked.fact(roce.cm_defaults(port.device, port.number)).tos
    del name, bdf
    return None if tos is None else str(tos >> 2)


def _cnp(looked: Looked, port: Port, name: str, bdf: str | None) -> int | None:
    settings = looked.fact(roce.congestion(name, port.device, port.number, bdf)).settings
    return next((settings[key] for key in _CNP if key in settings), None)


def _ecn(looked: Looked, port: Port, name: str, bdf: str | None) -> str | None:
    del port
    on = sorted({item.priority for item in looked.fact(roce.ecn(name, bdf)).switches if item.on})
    return f"on for priorities {' '.join(map(str, on))}" if on else None


def _roce_mtu(looked: Looked, port: Port, name: str, bdf: str | None) -> int | None:
    del name, bdf
    found = find(looked.fact(roce.devinfo(port.device, port.number)), port.device, port.number)
    return found.active_mtu if found else None


def _class(looked: Looked, port: Port, name: str, bdf: str | None) -> int | None:
    return looked.fact(roce.congestion(name, port.device, port.number, bdf)).traffic_class


_TAKEN = {
    "pfc_priority": _pfc,
    "dscp": _dscp,
    "cnp_dscp": _cnp,
    "ecn": _ecn,
    "roce_mtu": _roce_mtu,
    "traffic_class": _class,
}
