"""``ethtool -S <interface>``: the driver's own counters, those of single queues kept apart from those of the port.

Seen: mlx5_core (4.15: no heading, no leading blanks), ionic, i40e, virtio_net; bnxt prints ``[0]: rx_ucast_packets: 5``
(two colons), ice ends names in ``.nic``. Which names exist depends on driver and firmware.
"""
# ruff: noqa: N999 - the option is -S; -s sets what -S never touches

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "ethtool-S"

# rx0_ ch0_ (mlx5), rx_0_ (ionic; but rx_64_bytes_phy is mlx5's port), rx-0. (i40e), rx_queue_0_ (ice, virtio), [0]: (bnxt),
# rxq0_ txq#0_ rxq0: (hns3, be2net)
_QUEUE = re.compile(
    r"(?:(?:rx|tx|ch)\d+_.*|(?:rx|tx)_\d+_(?!.*(?:_phy|bytes?)$).*|(?:rx|tx)_\d+_bytes|(?:rx|tx)-\d+\..*"
    r"|(?:rx|tx)_queue_\d+_.*|\[\d+\]:.*|(?:rxq|txq)#?\d+\b.*|(?:rxq|txq)#?\d+_.*)"
)
#: All bits set: the driver's word for "not implemented", never a count.
_ALL_BITS = frozenset({4294967295, 18446744073709551615})


@dataclass(frozen=True, slots=True)
class Counters:
    """Name and value in the tool's order; None for a value with all bits set."""

    port: tuple[tuple[str, int | None], ...]
    queues: tuple[tuple[str, int | None], ...]


def parse(text: str) -> Counters:
    """Read every counter line; a line without a number and a name that stands twice are refused."""
    found: dict[str, int | None] = {}
    for row in lines(text):
        if not row.strip() or row.strip() == "NIC statistics:":
            continue
        name, colon, value = row.strip().rpartition(": ")
        if not colon or not name:
            raise UnreadableOutput(f"found {row[:80]!r}, wanted 'name: number'")
        if name in found:
            raise UnreadableOutput(f"counter {name!r} stands twice")
        count = integer(value, name)
        found[name] = None if count in _ALL_BITS else count
    if not found:
        raise UnreadableOutput("no counters below the heading")
    queues = {name for name in found if _QUEUE.fullmatch(name)}
    return Counters(
        port=tuple((name, count) for name, count in found.items() if name not in queues),
        queues=tuple((name, count) for name, count in found.items() if name in queues),
    )
