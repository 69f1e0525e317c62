"""``findmnt -J -o TARGET,SOURCE,FSTYPE,OPTIONS``: every mount of a host, tree or list.

A directory that lost its mount simply is not there: nothing here looks through to the disk below it. A source may carry
``[/subdir]`` behind the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "findmnt"
_DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Mounted:
    """One mount. ``source`` is the device without ``[/subdir]``, which stands in ``subdirectory``."""

    target: str
    source: str
    subdirectory: str | None
    filesystem: str
    options: tuple[str, ...]


def parse(text: str) -> tuple[Mounted, ...]:
    """Read all mounts, outer ones first."""
    found: list[Mounted] = []
    _walk(entry(json_document(text), "filesystems", list), found, 0)
    return tuple(found)


def _walk(tables: list[Any], found: list[Mounted], depth: int) -> None:
    if depth > _DEEPEST:
        raise UnreadableOutput("mounts are nested too deep")
    for table in tables:
        source: str = entry(table, "source", (str, type(None))) or ""
        device, bracket, inside = source.partition("[")
        found.append(
            Mounted(
                target=entry(table, "target", str),
                source=device,
                subdirectory=inside.removesuffix("]") if bracket else None,
                filesystem=entry(table, "fstype", str),
                options=tuple(word for word in entry(table, "options", str).split(",") if word),
            )
        )
        if "children" in table:
            _walk(entry(table, "children", list), found, depth + 1)
