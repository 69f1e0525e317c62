"""``stat -f PATH...``: the answers of filesystems themselves. ``Input/output error`` is the answer of a dead one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "stat-f"

_DEAD = re.compile(
    r"stat: cannot read file system information for '(/[^'\n]*)': "
    r"(Input/output error|Transport endpoint is not connected|Stale file handle)\n"
)
_ALIVE = re.compile(
    r' {2}File: "(/[^"\n]*)"\n'
    r" {4}ID: (?P<id>[0-9a-f]{1,16}) +Namelen: (?:\d{1,6}|\?) +Type: (?P<type>\S+)\n"
    r"Block size: (?P<block>\d{1,10}) +Fundamental block size: (?P<unit>\d{1,10})\n"
    r"Blocks: Total: (?P<total>\d{1,20}) +Free: (?P<free>\d{1,20}) +Available: (?P<available>\d{1,20})\n"
    r"Inodes: Total: (?P<inodes>\d{1,20}) +Free: (?P<inodes_free>\d{1,20})\n",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class FileSystem:
    """Sizes in blocks of ``block_bytes``, as a user without privileges may fill them; ``error`` says why it is dead, and then
    nothing else is known."""

    path: str
    type: str | None
    block_bytes: int | None
    blocks: int | None
    blocks_available: int | None
    inodes: int | None
    inodes_free: int | None
    error: str | None


def parse(text: str) -> tuple[FileSystem, ...]:
    """Read the five lines a path, or the error of a dead filesystem; anything else is refused."""
    lines(text)
    found: list[FileSystem] = []
    place = 0
    while place < len(text):
        here = _ALIVE.match(text, place) or _DEAD.match(text, place)
        if here is None:
            raise UnreadableOutput(f"found {text[place:].strip()[:80]!r}, wanted the five lines of stat -f")
        found.append(_alive(here) if here.re is _ALIVE else _dead(here))
        place = here.end()
    return tuple(found)


def _dead(found: re.Match[str]) -> FileSystem:
    return FileSystem(found[1], None, None, None, None, None, None, found[2])


def _alive(found: re.Match[str]) -> FileSystem:
    return FileSystem(
        path=found[1],
        type=found["type"],
        block_bytes=int(found["unit"]),
        blocks=int(found["total"]),
        blocks_available=int(found["available"]),
        inodes=int(found["inodes"]),
        inodes_free=int(found["inodes_free"]),
        error=None,
    )
