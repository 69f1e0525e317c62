"""``rdma -j link show``: state and network device of every RDMA port.

Seen: iproute2 5.x and 6.x. Old versions write the port into the name (``mlx5_0/1``); without ``-j`` the same words stand in
one line a port. An empty list is an answer: the host has no RDMA device. Without RDMA in the kernel stdout is empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, integer, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "rdma"

_LINE = re.compile(r"(?:\d+/\d+: |link )(\S+)/(\d{1,3})((?: +\S+ +\S+)*) *", re.ASCII)


@dataclass(frozen=True, slots=True)
class RdmaLink:
    """One port. ``netdev`` is None when the tool names no network device for it (none, or in another namespace)."""

    device: str
    port: int
    state: str
    physical_state: str
    netdev: str | None


def parse(text: str) -> tuple[RdmaLink, ...]:
    """Read the list; a port without state or physical state is refused."""
    links = _from_text(text) if re.match(r"\s*(link \S|\d+/\d+: )", text) else _from_json(text)
    if len({(link.device, link.port) for link in links}) != len(links):
        raise UnreadableOutput("one port stands twice")
    return links


def _from_json(text: str) -> tuple[RdmaLink, ...]:
    document = json_document(text)
    if not isinstance(document, list):
        raise UnreadableOutput(f"found a JSON {type(document).__name__}, wanted a list of ports")
    return tuple(_port(table) for table in document)


def _port(table: Any) -> RdmaLink:
    name = entry(table, "ifname", str, "port")
    device, slash, number = name.partition("/")
    if re.fullmatch(r"[\w.-]+", device, re.ASCII) is None:
        raise UnreadableOutput(f"found device name {name[:40]!r}")
    port = integer(number, "port") if slash else entry(table, "port", int, name)
    netdev = entry(table, "netdev", str, name) if "netdev" in table else None
    return RdmaLink(
        device, port, entry(table, "state", str, name), entry(table, "physical_state", str, name), netdev or None
    )


def _from_text(text: str) -> tuple[RdmaLink, ...]:
    links = []
    for line in lines(text):
        found = _LINE.fullmatch(line)
        words = found[3].split() if found else []
        said = dict(zip(words[::2], words[1::2], strict=False))  # an odd word is refused below
        if found is None or not {"state", "physical_state"} <= said.keys() or 2 * len(said) != len(words):
            raise UnreadableOutput(
                f"found {line[:80]!r}, wanted 'link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ...'"
            )
        links.append(RdmaLink(found[1], int(found[2]), said["state"], said["physical_state"], said.get("netdev")))
    return tuple(links)
