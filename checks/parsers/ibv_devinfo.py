"""``ibv_devinfo`` and ``ibv_devinfo -v``: RDMA devices with port state, MTU and, with ``-v``, the GID table.

Seen: rdma-core 28 to 44. ``-v`` prints the type after the GID since rdma-core 28; RoCE v1 GIDs in full, v2 GIDs compressed.
A text that begins inside a port (lines of one device alone) is read as one port without a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "ibv_devinfo"

_GID = re.compile(r"GID\[ *(\d{1,4})\]:\s+([0-9a-f:.]{2,45})(?:, (RoCE v2|RoCE v1|IB/RoCE v1|IB))?", re.ASCII)
_LABEL = re.compile(r"([a-z_0-9]+):\s+(\S.*)", re.ASCII)
_WANTED = frozenset({"state", "max_mtu", "active_mtu", "link_layer", "phys_state", "active_width", "active_speed"})


@dataclass(frozen=True, slots=True)
class DevinfoGid:
    """One GID as printed; ``kind`` is None where the tool is too old to print it."""

    index: int
    gid: str
    kind: str | None


@dataclass(frozen=True, slots=True)
class DevinfoPort:
    """One port; MTUs in bytes. None is what this form of the output does not print."""

    device: str | None
    port: int | None
    state: str | None
    max_mtu: int | None
    active_mtu: int | None
    link_layer: str | None
    physical_state: str | None
    gids: tuple[DevinfoGid, ...]


@dataclass
class _Open:
    device: str | None
    port: int | None
    said: dict[str, str] = field(default_factory=dict)
    gids: list[DevinfoGid] = field(default_factory=list)


def parse(text: str) -> tuple[DevinfoPort, ...]:
    """Read all ports; no device is an answer of its own (empty). A port of a whole output without state is refused."""
    rows = lines(text)
    if rows[0].strip() == "No IB devices found":
        return ()
    ports: list[_Open] = []
    device: str | None = None
    here = _Open(None, None) if rows[0].startswith(("\t\t", "        ")) else None
    if here is not None:
        ports.append(here)
    elif not rows[0].startswith("hca_id:"):
        raise UnreadableOutput(f"the output begins {rows[0][:80]!r}, wanted 'hca_id:'")
    for row in rows:
        if row.startswith("hca_id:"):
            device, here = row.partition(":")[2].strip(), None
        elif found := re.fullmatch(r"\s+port:\s+(\d{1,3})", row, re.ASCII):
            here = _Open(device, int(found[1]))
            ports.append(here)
        elif here is not None:
            _take(here, row.strip())
    if len({(port.device, port.port) for port in ports}) != len(ports) or not ports:
        raise UnreadableOutput(f"{len(ports)} ports, wanted at least one and each once")
    return tuple(_close(port) for port in ports)


def _take(port: _Open, row: str) -> None:
    if row.startswith("GID["):
        found = _GID.fullmatch(row)
        if found is None or int(found[1]) in {gid.index for gid in port.gids}:
            raise UnreadableOutput(f"found {row[:80]!r}, wanted 'GID[ 3]: ::ffff:192.0.2.1, RoCE v2', each index once")
        port.gids.append(DevinfoGid(int(found[1]), found[2], found[3]))
    elif (label := _LABEL.fullmatch(row)) and label[1] in _WANTED:
        if label[1] in port.said:
            raise UnreadableOutput(f"{label[1]} stands twice in one port")
        port.said[label[1]] = label[2]


def _close(port: _Open) -> DevinfoPort:
    said = port.said
    if port.device is not None and not {"state", "active_mtu", "link_layer"} <= said.keys():
        raise UnreadableOutput(
            f"port {port.port} of {port.device} has no state, active_mtu or link_layer; the output is cut"
        )
    if port.device is None and not port.gids:
        raise UnreadableOutput("neither a device nor a GID in the output")
    return DevinfoPort(
        device=port.device,
        port=port.port,
        state=_coded(said, "state"),
        max_mtu=_mtu(said, "max_mtu"),
        active_mtu=_mtu(said, "active_mtu"),
        link_layer=said.get("link_layer"),
        physical_state=_coded(said, "phys_state"),
        gids=tuple(port.gids),
    )


def _coded(said: dict[str, str], label: str) -> str | None:
    if label not in said:
        return None
    found = re.fullmatch(r"([A-Z_]+) \(\d\)", said[label], re.ASCII)
    if found is None:
        raise UnreadableOutput(f"{label} is {said[label][:40]!r}, wanted such as 'PORT_ACTIVE (4)'")
    return found[1]


def _mtu(said: dict[str, str], label: str) -> int | None:
    if label not in said or said[label].startswith("invalid MTU"):
        return None
    found = re.fullmatch(r"(\d{3,5}) \(\d\)", said[label], re.ASCII)
    if found is None:
        raise UnreadableOutput(f"{label} is {said[label][:40]!r}, wanted such as '4096 (5)'")
    return integer(found[1], label)
