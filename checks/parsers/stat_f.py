"""``stat -f -c '%S %b %a %n' PATH...``: size and free space of the filesystems that hold the paths, in blocks of ``block`` bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "stat-f"


@dataclass(frozen=True, slots=True)
class Space:
    """One path: bytes a block, blocks in total, blocks that a user without privileges may still fill."""

    path: str
    block: int
    total: int
    available: int


@dataclass(frozen=True, slots=True)
class Spaces:
    """All paths asked for."""

    paths: tuple[Space, ...]


def parse(text: str) -> Spaces:
    """Read one line a path, or refuse; a filesystem of zero blocks (procfs) is no place to keep logs and is refused."""
    spaces = []
    for line in lines(text):
        found = re.fullmatch(r"(\d{1,8}) (\d{1,18}) (\d{1,18}) (/.*)", line, re.ASCII)
        if found is None or int(found[1]) == 0 or int(found[2]) == 0:
            raise UnreadableOutput(f"found {line[:80]!r}, wanted block size, total, available and path")
        spaces.append(Space(found[4], int(found[1]), int(found[2]), int(found[3])))
    return Spaces(tuple(spaces))
