"""``/proc/mdstat``: all md arrays in short. RAID0 has no ``[UU]`` block, and may stay ``active`` after a member is gone.

Newer kernels write ``broken raid0``; an array that was not assembled is ``inactive`` and shows no personality.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "mdstat"

_ARRAY = re.compile(r"(md\S*) : (active|inactive|broken)( \((?:auto-)?read-only\))?((?: \S+)*) *", re.ASCII)
_MEMBER = re.compile(r"(\S+?)\[(\d{1,5})\]((?:\([A-Z]\))*)", re.ASCII)
_LEVEL = re.compile(r"raid\d{1,2}|linear|multipath|faulty|container", re.ASCII)
_CHUNKS = re.compile(r".* (\d{1,9})k chunks?(?:,? .*)?", re.ASCII)
_COUNTS = re.compile(r".*\[(\d{1,4})/(\d{1,4})\] \[[U_]+\].*", re.ASCII)


@dataclass(frozen=True, slots=True)
class MdstatMember:
    """One member: kernel name, number in the array, flags such as F (failed) or S (spare)."""

    device: str
    number: int
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MdstatArray:
    """One array. ``wanted`` and ``working`` are None where the level has no such counts (RAID0)."""

    name: str
    state: str
    read_only: bool
    level: str | None
    members: tuple[MdstatMember, ...]
    chunk_kib: int | None
    wanted: int | None
    working: int | None


def parse(text: str) -> tuple[MdstatArray, ...]:
    """Read all arrays; without the first line (Personalities) and the last (unused devices) the text is cut."""
    rows = lines(text)
    if not rows[0].startswith("Personalities :"):
        raise UnreadableOutput(f"found {rows[0][:60]!r}, wanted Personalities first")
    if not rows[-1].startswith("unused devices:"):
        raise UnreadableOutput(f"found {rows[-1][:60]!r}, wanted unused devices last: the output may be cut")
    blocks: list[tuple[re.Match[str], list[str]]] = []
    for row in rows[1:-1]:
        if found := _ARRAY.fullmatch(row):
            blocks.append((found, []))
        elif row.startswith("md") or (row.strip() and not blocks):
            raise UnreadableOutput(f"found {row[:80]!r}, wanted an array with state and members")
        elif row.strip():
            blocks[-1][1].append(row)
    found_arrays = tuple(_array(head, more) for head, more in blocks)
    if len({one.name for one in found_arrays}) != len(found_arrays):
        raise UnreadableOutput("one array stands twice")
    return found_arrays


def _array(head: re.Match[str], more: list[str]) -> MdstatArray:
    words = head[4].split()
    level = words.pop(0) if words and _LEVEL.fullmatch(words[0]) else None
    members = []
    for word in words:
        member = _MEMBER.fullmatch(word)
        if member is None:
            raise UnreadableOutput(f"found {word[:40]!r}, wanted a member such as nvme0n1[0]")
        members.append(MdstatMember(member[1], int(member[2]), tuple(re.findall(r"[A-Z]", member[3]))))
    chunks = [found for row in more if (found := _CHUNKS.fullmatch(row))]
    counts = [found for row in more if (found := _COUNTS.fullmatch(row))]
    return MdstatArray(
        name=head[1],
        state=head[2],
        read_only=head[3] is not None,
        level=level,
        members=tuple(sorted(members, key=lambda one: (one.number, one.device))),
        chunk_kib=int(chunks[0][1]) if chunks else None,
        wanted=int(counts[0][1]) if counts else None,
        working=int(counts[0][2]) if counts else None,
    )
