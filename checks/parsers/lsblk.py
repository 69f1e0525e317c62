"""``lsblk -J -b -o NAME,TYPE,SIZE,FSTYPE,MOUNTPOINTS``: block devices and what stands on them.

An array appears once below every member: it is kept once. Versions below 2.37 print ``mountpoint`` (a word), later ones
``mountpoints`` (a list that may hold null). Sizes are text without ``-b`` (kept as None) and before 2.33.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "lsblk"
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Block:
    """One block device with the names of what it stands on and of what stands on it."""

    name: str
    type: str
    size_bytes: int | None
    filesystem: str | None
    mountpoints: tuple[str, ...]
    parents: tuple[str, ...]
    children: tuple[str, ...]


@dataclass
class _Seen:
    table: dict[str, Any]
    parents: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)


def parse(text: str) -> tuple[Block, ...]:
    """Read the tree into one entry a device, in the order of first appearance."""
    seen: dict[str, _Seen] = {}
    for one in entry(json_document(text), "blockdevices", list):
        _walk(one, None, seen, 0)
    return tuple(_block(name, one) for name, one in seen.items())


def _walk(table: Any, parent: str | None, seen: dict[str, _Seen], depth: int) -> None:
    name: str = entry(table, "name", str)
    if depth > _DEEPEST:
        raise UnreadableOutput("block devices are nested too deep")
    known = name in seen
    one = seen.setdefault(name, _Seen(table))
    if parent is not None and parent not in one.parents:
        one.parents.append(parent)
        seen[parent].children.append(name)
    elif parent is None and known:
        raise UnreadableOutput(f"{name} stands twice at the top")
    for child in entry(table, "children", list) if "children" in table else []:
        _walk(child, name, seen, depth + 1)


def _block(name: str, one: _Seen) -> Block:
    return Block(
        name=name,
        type=entry(one.table, "type", str),
        size_bytes=_size(one.table),
        filesystem=entry(one.table, "fstype", (str, type(None))) if "fstype" in one.table else None,
        mountpoints=_mountpoints(one.table),
        parents=tuple(one.parents),
        children=tuple(one.children),
    )


def _size(table: dict[str, Any]) -> int | None:
    size = table.get("size")
    if isinstance(size, str) and size.isascii() and size.isdigit() and len(size) <= 20:
        return int(size)
    return size if isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**64 else None


def _mountpoints(table: dict[str, Any]) -> tuple[str, ...]:
    old = "mountpoints" not in table
    found: list[Any] = [entry(table, "mountpoint", (str, type(None)))] if old else entry(table, "mountpoints", list)
    if not all(one is None or isinstance(one, str) for one in found):
        raise UnreadableOutput(f"mountpoints {found!r}, wanted paths")
    return tuple(one for one in found if one)
