"""``dcb -j app show dev IF``: which DSCP goes to which priority, and the default priority.

Seen: iproute2 5.11 to 6.x. A pair is ``[26,3]``, in some versions ``[26,3," "]``. Without ``-j`` names stand for numbers
(``AF31:3``), which is refused: ask with ``-j`` or ``-N``. A port without any entry answers ``{}``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "dcb-app"


@dataclass(frozen=True, slots=True)
class DcbApp:
    """Pairs of DSCP and priority, by DSCP; an empty table means that packets are not told apart by DSCP."""

    dscp: tuple[tuple[int, int], ...]
    default: tuple[int, ...]


def parse(text: str) -> DcbApp:
    """Read the table; a DSCP twice, out of range, or a pair of another shape is refused."""
    table = json_document(text)
    rows = entry(table, "dscp_prio", list) if "dscp_prio" in _object(table) else []
    default = entry(table, "default_prio", list) if "default_prio" in table else []
    pairs = tuple(sorted(_pair(row) for row in rows))
    if len({dscp for dscp, _ in pairs}) != len(pairs):
        raise UnreadableOutput("one DSCP stands twice")
    if any(_not_within(value, 7) for value in default):
        raise UnreadableOutput(f"default priorities are {default!r}")
    return DcbApp(pairs, tuple(default))


def _object(table: Any) -> dict[str, Any]:
    known = {
        "default_prio",
        "ethtype_prio",
        "stream_port_prio",
        "dgram_port_prio",
        "port_prio",
        "dscp_prio",
        "pcp_prio",
    }
    if not isinstance(table, dict) or table.keys() - known:
        raise UnreadableOutput(f"found {str(table)[:60]!r}, wanted an object with dscp_prio or an empty one")
    return table


def _pair(row: Any) -> tuple[int, int]:
    cells = [cell for cell in row if cell != " "] if isinstance(row, list) else []
    if len(cells) != 2 or _not_within(cells[0], 63) or _not_within(cells[1], 7):
        raise UnreadableOutput(f"found {str(row)[:40]!r}, wanted a pair such as [26,3]")
    return cells[0], cells[1]


def _not_within(value: Any, most: int) -> bool:
    return not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most
