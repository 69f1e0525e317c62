"""``show_gids``: the GID tables of all RDMA devices as one table.

Seen: MLNX_OFED 4.x to 24.x. The IPv4 column is blank for GIDs that map no IPv4 address, and the last column for GIDs without
a network device, so the columns are told apart by what stands in them, never by counting. The last line counts the rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "show_gids"

_ROW = re.compile(
    r"([\w.-]+)\s+(\d{1,3})\s+(\d{1,4})\s+([0-9a-f]{4}(?::[0-9a-f]{4}){7})"
    r"(?:\s+(\d{1,3}(?:\.\d{1,3}){3}))?(?:\s+([vV][12]))?(?:\s+([\w.@-]+))?\s*",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class ShownGid:
    """One row. ``version`` is v1 or v2 as printed; None is a blank column."""

    device: str
    port: int
    index: int
    gid: str
    ipv4: str | None
    version: str | None
    netdev: str | None


def parse(text: str) -> tuple[ShownGid, ...]:
    """Read the table; the count in the last line must equal the rows read."""
    head, _, *rows = [line for line in lines(text) if line.strip()] + ["", ""]
    rows = [row for row in rows if row]
    if head.split()[:4] != ["DEV", "PORT", "INDEX", "GID"] or not rows:
        raise UnreadableOutput(
            f"the output begins {head[:60]!r}, wanted 'DEV PORT INDEX GID' and n_gids_found at its end"
        )
    count = re.fullmatch(r"n_gids_found=(\d+)", rows[-1].strip(), re.ASCII)
    if count is None or integer(count[1], "n_gids_found") != len(rows) - 1:
        raise UnreadableOutput(
            f"the last line is {rows[-1].strip()[:40]!r} after {len(rows) - 1} rows; the table is cut"
        )
    found = []
    for row in rows[:-1]:
        cells = _ROW.fullmatch(row)
        if cells is None:
            raise UnreadableOutput(f"found {row[:80]!r}, wanted a row of the GID table")
        found.append(ShownGid(cells[1], int(cells[2]), int(cells[3]), cells[4], cells[5], cells[6], cells[7]))
    if len({(gid.device, gid.port, gid.index) for gid in found}) != len(found):
        raise UnreadableOutput("one slot stands twice")
    return tuple(found)
