"""``dmidecode -t 0,17``: firmware version and memory modules as the firmware's tables name them.

Seen: dmidecode 3.4 and 3.5. Older ones print ``Configured Clock Speed`` and MHz for MT/s. The unit ``GB`` means GiB here.
Structures of other types are passed over, so that the whole table can be read too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "dmidecode"
_UNKNOWN = frozenset({"Unknown", "Not Specified", "Not Provided", "None", ""})
_SIZE = {"kB": 1, "MB": 2**10, "GB": 2**20, "TB": 2**30}


@dataclass(frozen=True, slots=True)
class Module:
    """One memory module that is plugged in. Speeds in MT/s; None where the firmware does not know."""

    locator: str
    size_kib: int | None
    rated: int | None
    configured: int | None


@dataclass(frozen=True, slots=True)
class Firmware:
    """Members are None or empty when the table has no such structure."""

    vendor: str | None
    version: str | None
    date: str | None
    slots: int
    modules: tuple[Module, ...]


def parse(text: str) -> Firmware:
    """Read structures of type 0 and 17, or refuse when there is neither (not root, no SMBIOS)."""
    bios: dict[str, str] | None = None
    slots: list[dict[str, str]] = []
    for kind, table in _structures(lines(text)):
        if kind == 0 and bios is None:
            bios = table
        elif kind == 17:
            slots.append(table)
    if bios is None and not slots:
        raise UnreadableOutput(f"no firmware tables in the output, which begins {text.strip()[:80]!r}")
    members = {label: _known((bios or {}).get(label)) for label in ("Vendor", "Version", "Release Date")}
    modules = tuple(_module(table) for table in slots if _field(table, "Size") != "No Module Installed")
    return Firmware(members["Vendor"], members["Version"], members["Release Date"], len(slots), modules)


def _structures(found: list[str]) -> list[tuple[int, dict[str, str]]]:
    structures: list[tuple[int, dict[str, str]]] = []
    for line in found:
        if head := re.match(r"Handle 0x[0-9A-Fa-f]+, DMI type (\d{1,3}), \d+ bytes$", line):
            structures.append((int(head[1]), {}))
        elif line.startswith("Handle "):
            raise UnreadableOutput(f"found {line[:80]!r}, wanted a handle with its type: a structure would be lost")
        elif structures and (field := re.match(r"(?:\t| {8})(\S[^:]*):(?: (.*))?$", line)):
            table = structures[-1][1]
            if field[1] in table and structures[-1][0] in {0, 17}:
                raise UnreadableOutput(f"{field[1]!r} stands twice in one structure")
            table[field[1]] = (field[2] or "").strip()
    return structures


def _module(table: dict[str, str]) -> Module:
    speeds = "Configured Memory Speed" if "Configured Memory Speed" in table else "Configured Clock Speed"
    return Module(_field(table, "Locator"), _size(_field(table, "Size")), _speed(table, "Speed"), _speed(table, speeds))


def _field(table: dict[str, str], label: str) -> str:
    if label not in table:
        raise UnreadableOutput(f"a memory device has no {label!r}")
    return table[label]


def _known(value: str | None) -> str | None:
    return None if value is None or value in _UNKNOWN else value


def _size(text: str) -> int | None:
    if text in _UNKNOWN:
        return None
    if (found := re.fullmatch(r"(\d{1,9}) (kB|MB|GB|TB)", text, re.ASCII)) is None:
        raise UnreadableOutput(f"size is {text[:40]!r}, wanted a number and its unit")
    return int(found[1]) * _SIZE[found[2]]


def _speed(table: dict[str, str], label: str) -> int | None:
    if _known(table.get(label)) is None:
        return None
    if (found := re.fullmatch(r"(\d{1,6}) (?:MT/s|MHz)", table[label], re.ASCII)) is None:
        raise UnreadableOutput(f"{label} is {table[label][:40]!r}, wanted MT/s")
    return int(found[1])
