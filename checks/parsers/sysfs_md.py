"""``grep -Hs '' /sys/block/md*/md/...``: md arrays as the kernel keeps them, the most stable of the three sources.

The kernel release stands first in the output: a host without arrays still answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from checks.lexing import integer, tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-md"

RELEASE = "/proc/sys/kernel/osrelease"
_ARRAY = re.compile(r"/sys/block/(md[A-Za-z0-9_]{1,40})/(?:md/)?(\w+)", re.ASCII)
_MEMBER = re.compile(r"/sys/block/(md[A-Za-z0-9_]{1,40})/md/dev-([A-Za-z0-9_!.-]{1,40})/(\w+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class MdMember:
    """One member by kernel name. ``states`` are words such as in_sync and faulty; ``sectors`` are of 512 bytes."""

    device: str
    slot: int | None
    states: tuple[str, ...]
    errors: int | None


@dataclass(frozen=True, slots=True)
class MdArray:
    """One array. ``level`` is None while it is not running; ``degraded`` only where the level has redundancy."""

    name: str
    state: str
    level: str | None
    raid_disks: int | None
    chunk_bytes: int | None
    degraded: int | None
    sectors: int | None
    members: tuple[MdMember, ...]


@dataclass(frozen=True, slots=True)
class MdArrays:
    """All arrays of a host."""

    kernel: str
    arrays: tuple[MdArray, ...]

    def array(self, name: str) -> MdArray | None:
        """Return the array with this kernel name (``md0``), None if there is none."""
        return next((one for one in self.arrays if one.name == name), None)


def parse(text: str) -> MdArrays:
    """Read all arrays; one without array_state, and a member without state, are refused."""
    arrays: dict[str, dict[str, str]] = defaultdict(dict)
    members: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    kernel = ""
    for path, value in tree(text).items():
        if "\n" in value:
            raise UnreadableOutput(f"{path} has several lines, wanted one")
        if path == RELEASE:
            kernel = value.strip()
        elif found := _MEMBER.fullmatch(path):
            members[found[1]][found[2]][found[3]] = value.strip()
        elif found := _ARRAY.fullmatch(path):
            arrays[found[1]][found[2]] = value.strip()
        else:
            raise UnreadableOutput(f"found {path[:80]!r}, wanted files of md arrays")
    if not kernel:
        raise UnreadableOutput(f"found no {RELEASE}, wanted it: the output may be cut at its beginning")
    if strangers := sorted(members.keys() - arrays.keys()):
        raise UnreadableOutput(f"{strangers[0]} has members and nothing else")
    return MdArrays(kernel, tuple(_array(name, table, members[name]) for name, table in sorted(arrays.items())))


def _number(table: dict[str, str], key: str) -> int | None:
    return integer(table[key], key) if table.get(key) else None


def _array(name: str, table: dict[str, str], members: dict[str, dict[str, str]]) -> MdArray:
    if not table.get("array_state"):
        raise UnreadableOutput(f"{name} has no array_state")
    return MdArray(
        name=name,
        state=table["array_state"],
        level=table.get("level") or None,
        raid_disks=_number(table, "raid_disks"),
        chunk_bytes=_number(table, "chunk_size"),
        degraded=_number(table, "degraded"),
        sectors=_number(table, "size"),
        members=tuple(_member(name, device, one) for device, one in sorted(members.items())),
    )


def _member(array: str, device: str, table: dict[str, str]) -> MdMember:
    if not table.get("state"):
        raise UnreadableOutput(f"{array}: member {device} has no state")
    slot = table.get("slot")
    return MdMember(
        device=device,
        slot=None if slot in (None, "", "none", "journal") else integer(slot, "slot"),
        states=tuple(word.strip() for word in table["state"].split(",") if word.strip()),
        errors=_number(table, "errors"),
    )
