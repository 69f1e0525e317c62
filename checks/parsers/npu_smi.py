"""``npu-smi info`` in its forms: the table, the map (``-m``), and ``-t board | usages | health | ecc`` of one or many chips.

Seen: 23.0 (910A), 24.1 and 26.0 (wider, two chips an NPU). Cells are told apart by bars and blanks, never by column. Outputs
of several calls may follow one another, each below a line that names its command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from checks.lexing import NOT_GIVEN, integer, lines
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "npu-smi"

_VERSION = re.compile(r"\|\s*npu-smi\s+(\S+)\s+Version:\s*(\S+)\s*\|")
_USAGE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})", re.ASCII)
_BDF = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]", re.ASCII)
_MAP = re.compile(r"\s*(\d{1,5})\s+(\d{1,3})\s+(\d{1,5}|-)\s+(\S.*?)\s*", re.ASCII)
_ENTRY = re.compile(r"\s*(?P<name>[A-Za-z][^:]*?)\s*:(?:\s+(?P<value>.*?)|(?P<none>))\s*")
_COMMAND = re.compile(r"\S*npu-smi\s+info\b.*")


@dataclass(frozen=True, slots=True)
class TableChip:
    """One chip of the table. Memory in MB (2^20 bytes); ``-`` and NA are ``None``."""

    npu: int
    chip: int
    name: str
    health: str
    power_w: str | None
    temperature_c: int | None
    bdf: str
    hbm_used_mb: int | None
    hbm_total_mb: int | None


@dataclass(frozen=True, slots=True)
class MapChip:
    """One row of the map; the logic id of a management chip (Mcu) is ``None``."""

    npu: int
    chip: int
    logic: int | None
    name: str


@dataclass(frozen=True, slots=True)
class Report:
    """One ``-t`` report: labels and values in order, as printed; an unknown value is ``None``."""

    npu: int | None
    chip: int | None
    entries: tuple[tuple[str, str | None], ...]

    def get(self, name: str) -> str | None:
        """Value of a label, ``None`` where it is absent or unknown."""
        return dict(self.entries).get(name)


@dataclass(frozen=True, slots=True)
class NpuSmi:
    """What the output holds; parts that were not asked for are empty."""

    version: str | None
    table: tuple[TableChip, ...]
    map: tuple[MapChip, ...]
    reports: tuple[Report, ...]


def parse(text: str) -> NpuSmi:
    """Read table, map and reports, whichever are there. A label whose value is missing is refused: it is not OK."""
    rows = lines(text)
    version = [found[2] for row in rows if (found := _VERSION.search(row))]
    if len(version) > 1:
        raise UnreadableOutput(f"{len(version)} tables, wanted one")
    table = _table(rows) if version else ()
    chips = _map(rows)
    reports = _reports(rows) if not version and not chips else ()
    if not (table or chips or reports):
        raise UnreadableOutput(f"neither table nor map nor report in the output, which begins {text.strip()[:80]!r}")
    return NpuSmi(version[0] if version else None, table, chips, reports)


def _table(rows: list[str]) -> tuple[TableChip, ...]:
    cells = []
    for row in rows:
        if "Process id" in row or "No running processes" in row:
            break
        if row.startswith("|"):
            cells.append([cell.strip() for cell in row.strip().strip("|").split("|")])
    body = [row for row in cells if re.match(r"\d", row[0], re.ASCII)]
    heads = " ".join(cell for row in cells if not re.match(r"\d", row[0], re.ASCII) for cell in row)
    if "HBM-Usage(MB)" not in heads and body:
        raise UnreadableOutput("the table has no column HBM-Usage(MB)")
    if len(body) % 2 or not body:
        raise UnreadableOutput(f"{len(body)} rows of chips, wanted two a chip")
    chips = tuple(_chip(upper, lower) for (upper, lower) in list(pairwise(body))[::2])
    if len({(chip.npu, chip.chip) for chip in chips}) != len(chips):
        raise UnreadableOutput("a chip stands twice in the table")
    return chips


def _chip(upper: list[str], lower: list[str]) -> TableChip:
    if len(upper) != 3 or len(lower) != 3:
        raise UnreadableOutput(f"found row {' | '.join(upper)[:60]!r}, wanted three cells")
    npu, name = _head(upper[0])
    readings = upper[2].split()
    usages = _USAGE.findall(lower[2])
    if not upper[1] or len(readings) < 2:
        raise UnreadableOutput(f"NPU {npu} lacks health, power or temperature")
    if len(usages) != 2:
        raise UnreadableOutput(f"found {lower[2][:60]!r}, wanted memory and HBM usage")
    if _BDF.fullmatch(lower[1]) is None:
        raise UnreadableOutput(f"found bus id {lower[1][:40]!r}")
    used, total = (int(number) for number in usages[1])
    return TableChip(
        npu=npu,
        chip=integer(lower[0].split()[0], "chip"),
        name=name,
        health=upper[1],
        power_w=None if readings[0] in NOT_GIVEN else readings[0],
        temperature_c=None if readings[1] in NOT_GIVEN else integer(readings[1], "temperature"),
        bdf=lower[1],
        hbm_used_mb=used if total else None,
        hbm_total_mb=total or None,
    )


def _head(cell: str) -> tuple[int, str]:
    words = cell.split()
    if len(words) != 2:
        raise UnreadableOutput(f"found {cell[:40]!r}, wanted NPU and name")
    return integer(words[0], "NPU"), words[1]


def _map(rows: list[str]) -> tuple[MapChip, ...]:
    heads = [number for number, row in enumerate(rows) if re.match(r"\s*NPU ID\s+Chip ID\s+Chip Logic ID", row)]
    if not heads:
        return ()
    found = []
    for row in rows[heads[0] + 1 :]:
        if not row.strip():
            continue
        if (match := _MAP.fullmatch(row)) is None:
            raise UnreadableOutput(f"found {row.strip()[:60]!r}, wanted NPU, chip, logic id and name")
        logic = None if match[3] == "-" else int(match[3])
        found.append(MapChip(int(match[1]), int(match[2]), logic, match[4]))
    if len({(chip.npu, chip.chip) for chip in found}) != len(found):
        raise UnreadableOutput("a chip stands twice in the map")
    return tuple(found)


def _reports(rows: list[str]) -> tuple[Report, ...]:
    found: list[list[tuple[str, str | None]]] = [[]]
    asked: list[str] = [""]
    for row in rows:
        if not row.strip():
            continue
        if _COMMAND.fullmatch(row.strip()):
            found.append([])
            asked.append(row.strip())
            continue
        entry = _ENTRY.fullmatch(row)
        if entry is None:
            raise UnreadableOutput(f"found {row.strip()[:60]!r}, a label without its value")
        name, value = entry["name"], (entry["value"] or "").strip()
        if not value:
            raise UnreadableOutput(f"{name} stands without a value")
        if name == "NPU ID" and found[-1]:
            found.append([])
            asked.append("")
        if name in dict(found[-1]):
            raise UnreadableOutput(f"{name!r} stands twice in one report")
        found[-1].append((name, None if value in NOT_GIVEN else value))
    return tuple(_report(entries, command) for entries, command in zip(found, asked, strict=True) if entries)


def _report(entries: list[tuple[str, str | None]], command: str) -> Report:
    values = dict(entries)
    return Report(
        npu=_number(values.get("NPU ID"), "NPU ID", command, "-i"),
        chip=_number(values.get("Chip ID"), "Chip ID", command, "-c"),
        entries=tuple(entries),
    )


def _number(value: str | None, name: str, command: str, option: str) -> int | None:
    if value is not None:
        return integer(value, name)
    asked = re.search(rf"\s{option}\s+(\d{{1,5}})(?:\s|$)", command, re.ASCII)
    return int(asked[1]) if asked else None
