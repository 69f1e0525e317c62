"""``ethtool -a <interface>``: 802.3x pause, which stops the whole link and not one priority.

Seen: ethtool 5.x/6.x text, with or without ``RX negotiated`` lines; ``--json`` since 5.10. A driver without pause answers
``netlink error: Operation not supported`` on stderr (and ``[ ]`` on stdout with ``--json``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "ethtool-a"

_FIELDS = {
    "Autonegotiate": "autonegotiate", "RX": "rx", "TX": "tx",
    "RX negotiated": "rx_negotiated", "TX negotiated": "tx_negotiated",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause as configured, and as negotiated where the driver says so."""

    interface: str
    autonegotiate: bool
    rx: bool
    tx: bool
    rx_negotiated: bool | None
    tx_negotiated: bool | None


def parse(text: str) -> Pause:
    """Read text or JSON; each of autonegotiate, rx and tx must be there."""
    if text.lstrip().startswith("["):
        return _json(json_document(text))
    rows = lines(text)
    heads = [head[1] for row in rows if (head := re.fullmatch(r"Pause parameters for (\S+):", row))]
    if len(heads) != 1:
        raise UnreadableOutput(f"{len(heads)} lines 'Pause parameters for ...', wanted one")
    found: dict[str, bool] = {}
    for row in rows:
        label, colon, value = row.strip().partition(":")
        if not colon or label not in _FIELDS:
            continue
        if _FIELDS[label] in found:
            raise UnreadableOutput(f"{label!r} stands twice")
        if value.strip() not in ("on", "off"):
            raise UnreadableOutput(f"{label} is {value.strip()[:40]!r}, wanted on or off")
        found[_FIELDS[label]] = value.strip() == "on"
    if missing := [name for name in ("autonegotiate", "rx", "tx") if name not in found]:
        raise UnreadableOutput(f"no line for {', '.join(missing)}")
    return Pause(
        heads[0], found["autonegotiate"], found["rx"], found["tx"],
        found.get("rx_negotiated"), found.get("tx_negotiated"),
    )  # fmt: skip


def _json(document: Any) -> Pause:
    if not isinstance(document, list) or len(document) != 1:
        raise UnreadableOutput("the list has not exactly one interface")
    port = document[0]
    agreed = entry(port, "negotiated", dict) if isinstance(port, dict) and "negotiated" in port else {}
    return Pause(
        entry(port, "ifname", str), entry(port, "autonegotiate", bool), entry(port, "rx", bool), entry(port, "tx", bool),
        entry(agreed, "rx", bool) if agreed else None, entry(agreed, "tx", bool) if agreed else None,
    )  # fmt: skip
