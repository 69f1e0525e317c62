"""``stat -f PATH``: the answer of a filesystem itself. ``Input/output error`` is the answer of a dead one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "statfs"

_DEAD = re.compile(
    r"stat: cannot read file system information for '(/[^']*)': "
    r"(Input/output error|Transport endpoint is not connected|Stale file handle)"
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
    """Sizes in blocks of ``block_bytes``; ``error`` says why it is dead, and then nothing else is known."""

    path: str
    type: str | None
    block_bytes: int | None
    blocks: int | None
    blocks_available: int | None
    inodes: int | None
    inodes_free: int | None
    error: str | None


def parse(text: str) -> FileSystem:
    """Read the five lines, or the error of a dead filesystem."""
    lines(text)
    if dead := _DEAD.fullmatch(text.strip()):
        return FileSystem(dead[1], None, None, None, None, None, None, dead[2])
    found = _ALIVE.fullmatch(text)
    if found is None:
        raise UnreadableOutput(f"found {text.strip()[:80]!r}, wanted the five lines of stat -f")
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
