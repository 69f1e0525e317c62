"""``df -B1 --output=source,fstype,size,used,avail,itotal,iavail,target MOUNT``: space and inodes of one filesystem.

``Input/output error`` on stderr is the answer of a dead filesystem and is read as such. Columns are taken by position from
a heading that is checked; other selections of columns are read too, but never without the heading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "df"

_HEADING = {
    "Filesystem": "source", "Type": "filesystem", "1B-blocks": "size", "Used": "used", "Avail": "available",
    "Inodes": "inodes", "IFree": "inodes_free", "Use%": "percent", "Mounted on": "target",
}  # fmt: skip
_DEAD = re.compile(r"df: (/.*): (Input/output error|Transport endpoint is not connected|Stale file handle)")


@dataclass(frozen=True, slots=True)
class Space:
    """One filesystem, in bytes. Inode counts are None where the filesystem has none (``-``). ``error`` says why it is dead."""

    source: str | None
    filesystem: str | None
    size: int | None
    used: int | None
    available: int | None
    inodes: int | None
    inodes_free: int | None
    target: str
    error: str | None


def parse(text: str) -> tuple[Space, ...]:
    """Read all rows, or the error of a dead filesystem."""
    rows = lines(text)
    dead = [_DEAD.fullmatch(row) for row in rows]
    if dead[0] is not None and len(rows) == 1:
        return (Space(None, None, None, None, None, None, None, dead[0][1], dead[0][2]),)
    names = _names(rows[0])
    if not {"size", "available", "target"} <= set(names) or names[-1] != "target" or len(rows) < 2:
        raise UnreadableOutput(f"found heading {rows[0][:80]!r}, wanted size, avail and target last, then rows")
    return tuple(_space(names, row) for row in rows[1:])


def _names(heading: str) -> list[str]:
    if not heading.rstrip().endswith("Mounted on"):
        raise UnreadableOutput(f"found {heading[:80]!r}, wanted the heading of df")
    words = [*heading.rstrip().removesuffix("Mounted on").split(), "Mounted on"]
    names = [_HEADING.get(word, "") for word in words]
    if "" in names or len(set(names)) != len(names):
        raise UnreadableOutput(f"found heading {heading[:80]!r}, wanted columns in bytes (-B1), each once")
    return names


def _space(names: list[str], row: str) -> Space:
    cells = row.split(maxsplit=len(names) - 1)
    if len(cells) != len(names):
        raise UnreadableOutput(f"found {row[:80]!r}, wanted {len(names)} columns")
    table = dict(zip(names, cells, strict=True))

    def count(name: str) -> int | None:
        cell = table.get(name, "-")
        return None if cell == "-" else integer(cell, name)

    size, available = count("size"), count("available")
    if size is None or available is None or size < 0 or available < 0:
        raise UnreadableOutput(f"found {row[:80]!r}, wanted size and free bytes")
    return Space(
        source=table.get("source"),
        filesystem=table.get("filesystem"),
        size=size,
        used=count("used"),
        available=available,
        inodes=count("inodes"),
        inodes_free=count("inodes_free"),
        target=table["target"].rstrip(),
        error=None,
    )
