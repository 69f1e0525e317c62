"""``ip -j -d link show``: every network interface with its address and MTU.

Seen: iproute2 6.1. ``permaddr`` appears only where the address in use is not the card's own (bond members); entries that
a filter left out are printed as empty objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "ip-link"


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface. ``mac`` is the card's own address (permanent, where it differs from the one in use)."""

    name: str
    mac: str | None
    mtu: int
    state: str
    flags: tuple[str, ...]
    parent: str | None  # PCI address, for example
    master: str | None  # the bond or bridge it belongs to
    lower: str | None  # the interface that a VLAN stands on


def parse(text: str) -> tuple[Interface, ...]:
    """Read all interfaces in the tool's order; a name that stands twice is refused."""
    document = json_document(text)
    if not isinstance(document, list):
        raise UnreadableOutput("the document is not a list of interfaces")
    found = tuple(_interface(row) for row in document if row != {})
    names = [port.name for port in found]
    if len(set(names)) != len(names):
        raise UnreadableOutput("an interface stands twice")
    return found


def _interface(row: Any) -> Interface:
    name = entry(row, "ifname", str)
    flags = entry(row, "flags", list, name)
    if not all(isinstance(flag, str) for flag in flags):
        raise UnreadableOutput(f"{name}: 'flags' is not a list of words")
    own = "permaddr" if "permaddr" in row else "address"
    return Interface(
        name=name,
        mac=entry(row, own, str, name) if own in row and row.get("link_type") == "ether" else None,
        mtu=entry(row, "mtu", int, name),
        state=entry(row, "operstate", str, name),
        flags=tuple(flags),
        parent=entry(row, "parentdev", str, name) if "parentdev" in row else None,
        master=entry(row, "master", str, name) if "master" in row else None,
        lower=row["link"] if isinstance(row.get("link"), str) else None,
    )
