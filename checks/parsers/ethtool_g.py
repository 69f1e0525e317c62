"""``ethtool -g <interface>``: ring sizes, largest possible and current.

Seen: ethtool 5.x (numbers only), 6.1 (``n/a`` and further lines such as ``RX Buf Len``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import NOT_GIVEN, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "ethtool-g"

_MAXIMUM = "Pre-set maximums:"
_CURRENT = "Current hardware settings:"


@dataclass(frozen=True, slots=True)
class Rings:
    """Ring sizes in descriptors; None where the driver has no such ring."""

    interface: str
    rx: int | None
    rx_maximum: int | None
    tx: int | None
    tx_maximum: int | None


def parse(text: str) -> Rings:
    """Read both blocks; each must have its RX and TX line."""
    rows = lines(text)
    heads = [head[1] for row in rows if (head := re.fullmatch(r"Ring parameters for (\S+):", row))]
    if len(heads) != 1:
        raise UnreadableOutput(f"{len(heads)} lines 'Ring parameters for ...', wanted one")
    block = ""
    found: dict[tuple[str, str], int | None] = {}
    for row in rows:
        if row.strip() in (_MAXIMUM, _CURRENT):
            block = row.strip()
            continue
        label, colon, value = row.strip().partition(":")
        if not block or not colon or label not in ("RX", "TX"):
            continue
        if (block, label) in found:
            raise UnreadableOutput(f"{label} stands twice below {block!r}")
        found[block, label] = None if value.strip() in NOT_GIVEN else integer(value, label)
    wanted = [(_CURRENT, "RX"), (_MAXIMUM, "RX"), (_CURRENT, "TX"), (_MAXIMUM, "TX")]
    if missing := [f"{label} below {block!r}" for block, label in wanted if (block, label) not in found]:
        raise UnreadableOutput(f"no line {missing[0]}")
    return Rings(heads[0], *(found[place] for place in wanted))
