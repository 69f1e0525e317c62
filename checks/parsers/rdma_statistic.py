"""``rdma -j statistic show``: the hardware counters of every RDMA port.

Seen: iproute2 6.x with mlx5, ionic and rxe. A flat object a port; the counters' names are the driver's own. Without ``-j``
name and value follow one another in one line a port. Without RDMA in the kernel stdout is empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, integer, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "rdma-statistic"

_LINE = re.compile(r"link (\S+)/(\d{1,3}) (.*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class PortCounters:
    """Counters of one port since its driver was loaded."""

    device: str
    port: int
    counters: dict[str, int]


def parse(text: str) -> tuple[PortCounters, ...]:
    """Read the list; a counter that is no whole number is refused."""
    ports = _from_text(text) if text.lstrip().startswith("link ") else _from_json(text)
    if len({(port.device, port.port) for port in ports}) != len(ports):
        raise UnreadableOutput("one port stands twice")
    return ports


def _from_json(text: str) -> tuple[PortCounters, ...]:
    document = json_document(text)
    if not isinstance(document, list):
        raise UnreadableOutput(f"found a JSON {type(document).__name__}, wanted a list of ports")
    return tuple(_port(table) for table in document)


def _port(table: Any) -> PortCounters:
    device = entry(table, "ifname", str, "port")
    port = entry(table, "port", int, device)
    names = [name for name in table if name not in ("ifname", "ifindex", "port")]
    if not names:
        raise UnreadableOutput(f"{device} has no counter")
    return PortCounters(device, port, {_name(name): entry(table, name, int, device) for name in names})


def _name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise UnreadableOutput(f"found counter name {name[:40]!r}")
    return name


def _from_text(text: str) -> tuple[PortCounters, ...]:
    ports = []
    for line in lines(text):
        found = _LINE.fullmatch(line)
        words = found[3].split() if found else []
        if found is None or not words or len(words) % 2 or len(set(words[::2])) != len(words) // 2:
            raise UnreadableOutput(f"found {line[:60]!r}, wanted 'link mlx5_0/1 name value ...', each name once")
        counters = {_name(name): integer(value, name) for name, value in zip(words[::2], words[1::2], strict=True)}
        ports.append(PortCounters(found[1], int(found[2]), counters))
    return tuple(ports)
