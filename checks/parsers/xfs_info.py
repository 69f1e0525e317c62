"""``xfs_info MOUNT``: how an XFS was made. Stripe unit and width are in blocks; zero means made without them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "xfs_info"

_SECTIONS = ("meta-data", "data", "naming", "log", "realtime")
_PAIR = re.compile(r"([a-z][a-z0-9-]*)=(\d{1,20}|internal log|internal|external|none|/\S+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class XfsGeometry:
    """``block_bytes`` in bytes, sunit and swidth in blocks. Features that the version does not print are None."""

    device: str
    block_bytes: int
    sector_bytes: int
    allocation_groups: int
    data_blocks: int
    stripe_unit_blocks: int
    stripe_width_blocks: int
    crc: bool
    ftype: bool | None
    reflink: bool | None
    rmapbt: bool | None
    bigtime: bool | None


def parse(text: str) -> XfsGeometry:
    """Read the sections; each value is looked up in its own section, because log and realtime repeat the names of data."""
    tables: dict[str, dict[str, str]] = {}
    section = ""
    for line in lines(text):
        name = line.split("=", 1)[0].strip()
        if name in _SECTIONS and name in tables:
            raise UnreadableOutput(f"section {name} stands twice")
        section = name if name in _SECTIONS else section if not name else ""
        if not section:
            raise UnreadableOutput(f"found {line[:80]!r}, wanted a section of xfs_info")
        for key, value in _PAIR.findall(line):
            if key in tables.setdefault(section, {}):
                raise UnreadableOutput(f"{section}: {key} stands twice")
            tables[section][key] = value
    if missing := [name for name in _SECTIONS if name not in tables]:
        raise UnreadableOutput(f"section {missing[0]} is missing")
    return XfsGeometry(
        device=_word(tables, "meta-data", "meta-data"),
        block_bytes=_number(tables, "data", "bsize"),
        sector_bytes=_number(tables, "meta-data", "sectsz"),
        allocation_groups=_number(tables, "meta-data", "agcount"),
        data_blocks=_number(tables, "data", "blocks"),
        stripe_unit_blocks=_number(tables, "data", "sunit"),
        stripe_width_blocks=_number(tables, "data", "swidth"),
        crc=_number(tables, "meta-data", "crc") == 1,
        ftype=_flag(tables, "naming", "ftype"),
        reflink=_flag(tables, "meta-data", "reflink"),
        rmapbt=_flag(tables, "meta-data", "rmapbt"),
        bigtime=_flag(tables, "meta-data", "bigtime"),
    )


def _word(tables: dict[str, dict[str, str]], section: str, key: str) -> str:
    if key not in tables[section]:
        raise UnreadableOutput(f"{section} has no {key}")
    return tables[section][key]


def _number(tables: dict[str, dict[str, str]], section: str, key: str) -> int:
    value = _word(tables, section, key)
    if not value.isdigit():
        raise UnreadableOutput(f"{section}: {key} is {value[:40]!r}, wanted a whole number")
    return int(value)


def _flag(tables: dict[str, dict[str, str]], section: str, key: str) -> bool | None:
    return _number(tables, section, key) == 1 if key in tables[section] else None
