"""``ip -j addr``: which IP addresses stand on which interface. Seen: iproute2 6.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "ip-addr"


@dataclass(frozen=True, slots=True)
class Address:
    """One address on one interface; ``family`` is inet or inet6, ``prefix`` its length in bits."""

    interface: str
    family: str
    local: str
    prefix: int
    scope: str


def parse(text: str) -> tuple[Address, ...]:
    """Read all addresses of all interfaces in the tool's order; interfaces without one give none."""
    document = json_document(text)
    if not isinstance(document, list):
        raise UnreadableOutput("the document is not a list of interfaces")
    found: list[Address] = []
    for row in document:
        if row == {}:
            continue
        name = entry(row, "ifname", str)
        found += [_address(name, item) for item in entry(row, "addr_info", list, name) if item != {}]
    return tuple(found)


def _address(name: str, item: Any) -> Address:
    return Address(
        interface=name,
        family=entry(item, "family", str, name),
        local=entry(item, "local", str, name),
        prefix=entry(item, "prefixlen", int, name),
        scope=entry(item, "scope", str, name),
    )
