"""``mdadm --detail DEVICE``, text or ``--export``: one md array as mdadm sees it.

An inactive array lacks the Raid/Active/Failed lines and its table has no State column; that is a fact, not a parse error.
Name and Events may hold text that looks like a device. ``State : clean`` can stand beside failed devices and
``clean, degraded`` beside none. ``cannot open ...: No such file`` is the answer that there is no such array.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "mdadm-detail"

_FIELD = re.compile(r" *([A-Z][A-Za-z ]*[A-Za-z]) : (.*)")
_ROW = re.compile(
    r" +(\d{1,4}|-) +(\d{1,4}) +(\d{1,7}) +(\d{1,4}|-)(?: +([a-zA-Z-][a-zA-Z -]*?))?(?: +(/dev/\S+))?", re.ASCII
)
_ABSENT = re.compile(r"mdadm: cannot open (/dev/\S+): No such file or directory", re.ASCII)
_CHUNK = re.compile(r"(\d{1,10})([KMG])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Member:
    """One row of the table. ``device`` is None for a removed member; ``slot`` is its place in the array."""

    slot: int | None
    state: str
    device: str | None


@dataclass(frozen=True, slots=True)
class MdDetail:
    """The array; None where mdadm prints no such line. ``states`` are the words behind State, ``chunk_bytes`` in bytes."""

    device: str
    present: bool
    level: str | None
    states: tuple[str, ...]
    raid_devices: int | None
    total_devices: int | None
    active_devices: int | None
    working_devices: int | None
    failed_devices: int | None
    chunk_bytes: int | None
    members: tuple[Member, ...]


def parse(text: str) -> MdDetail:
    """Read either form, or that there is no such array."""
    rows = lines(text)
    if absent := _ABSENT.fullmatch(text.strip()):
        return MdDetail(absent[1], False, None, (), None, None, None, None, None, None, ())
    if rows[0].startswith("MD_"):
        return _export(rows)
    head = re.fullmatch(r"(/dev/\S+):", rows[0])
    if head is None:
        raise UnreadableOutput(f"found {rows[0][:80]!r}, wanted the name of an array")
    fields, members = _text(rows[1:])
    if "Raid Level" not in fields or "State" not in fields:
        raise UnreadableOutput("found no Raid Level or no State, wanted both")

    def count(label: str) -> int | None:
        return integer(fields[label], label) if label in fields else None

    return MdDetail(
        device=head[1],
        present=True,
        level=fields["Raid Level"],
        states=tuple(word.strip() for word in fields["State"].split(",") if word.strip()),
        raid_devices=count("Raid Devices"),
        total_devices=count("Total Devices"),
        active_devices=count("Active Devices"),
        working_devices=count("Working Devices"),
        failed_devices=count("Failed Devices"),
        chunk_bytes=_chunk(fields["Chunk Size"]) if "Chunk Size" in fields else None,
        members=tuple(members),
    )


def _text(rows: list[str]) -> tuple[dict[str, str], list[Member]]:
    fields: dict[str, str] = {}
    members: list[Member] = []
    table = False
    for row in rows:
        if not row.strip():
            continue
        if row.split()[:4] == ["Number", "Major", "Minor", "RaidDevice"]:
            table = True
        elif table:
            found = _ROW.fullmatch(row.rstrip())
            if found is None:
                raise UnreadableOutput(f"found {row[:80]!r}, wanted a row of the member table")
            slot = None if found[4] == "-" else int(found[4])
            members.append(Member(slot, (found[5] or "").strip(), found[6]))
        elif field := _FIELD.fullmatch(row):
            if field[1] in fields:
                raise UnreadableOutput(f"{field[1]!r} stands twice")
            fields[field[1]] = field[2].strip()
    if not table:
        raise UnreadableOutput("found no table of members: the output may be cut")
    return fields, members


def _chunk(word: str) -> int:
    found = _CHUNK.fullmatch(word)
    if found is None:
        raise UnreadableOutput(f"chunk size is {word[:40]!r}")
    return int(found[1]) * {None: 1, "K": 2**10, "M": 2**20, "G": 2**30}[found[2]]


def _export(rows: list[str]) -> MdDetail:
    table: dict[str, str] = {}
    for row in rows:
        key, equals, value = row.partition("=")
        if not equals or not key.startswith("MD_") or key in table:
            raise UnreadableOutput(f"found {row[:80]!r}, wanted MD_NAME=value, each once")
        table[key] = value
    if "MD_LEVEL" not in table or "MD_DEVICES" not in table:
        raise UnreadableOutput("found no MD_LEVEL or no MD_DEVICES, wanted both")
    members = []
    for key, device in table.items():
        if key.startswith("MD_DEVICE_") and key.endswith("_DEV"):
            role = table.get(f"{key.removesuffix('_DEV')}_ROLE")
            if role is None:
                raise UnreadableOutput(f"found {key} without its role")
            members.append(Member(integer(role, key) if role != "spare" else None, "", device))
    members.sort(key=lambda one: (one.slot is None, one.slot or 0))
    return MdDetail(
        "", True, table["MD_LEVEL"], (), integer(table["MD_DEVICES"], "MD_DEVICES"), None, None, None, None, None, tuple(members)
    )  # fmt: skip
