"""``lsmod``: the kernel modules that are loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "lsmod"


@dataclass(frozen=True, slots=True)
class Loaded:
    """One module: size in bytes, how often it is used (-1: cannot be unloaded), by which modules."""

    name: str
    size: int
    used: int
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Modules:
    """All modules, newest first."""

    modules: tuple[Loaded, ...]


def parse(text: str) -> Modules:
    """Read the rows under the heading, or refuse."""
    found = lines(text)
    if found[0].split() != ["Module", "Size", "Used", "by"]:
        raise UnreadableOutput(f"found {found[0][:60]!r}, wanted the heading of lsmod")
    return Modules(tuple(_row(line) for line in found[1:]))


def _row(line: str) -> Loaded:
    found = re.fullmatch(r"(\w{1,64}) +(\d{1,12})  ?(-?\d{1,9})(?: ([\w,-]*))? *", line, re.ASCII)
    if found is None:
        raise UnreadableOutput(f"found {line[:80]!r}, wanted module, size and users")
    users = tuple(name for name in (found[4] or "").split(",") if name not in {"", "-"})
    return Loaded(found[1], int(found[2]), int(found[3]), users)
