"""``amd-smi version [--json]``: versions of the tool, of ROCm and of the amdgpu driver.

Text is one line with bars: ``AMDSMI Tool: 26.2.0+... | AMDSMI Library version: 26.2.0 | ROCm version: 7.2.0 | ...``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import json_document, lines
from checks.outline import word
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "amd-smi-version"


@dataclass(frozen=True, slots=True)
class Versions:
    """``None`` where the tool says N/A (ROCm not found, driver not loaded)."""

    tool: str
    rocm: str | None
    driver: str | None


def parse(text: str) -> Versions:
    """Read JSON (bare list, or object) or the line of text; tool and ROCm version must be named."""
    if re.search(r"^[ \t]*[\[{]", text, re.MULTILINE):
        table = json_document(text)
        if isinstance(table, list) and len(table) == 1:
            table = table[0]
        names = ("version", "rocm_version", "amdgpu_version")
    else:
        barred = [line for line in lines(text) if "AMDSMI Tool:" in line]
        pairs = [cell.partition(":") for line in barred[:1] for cell in line.split("|")]
        table = {name.strip().lower(): value.strip() for name, _, value in pairs}
        names = ("amdsmi tool", "rocm version", "amdgpu version")
    if not isinstance(table, dict) or not {names[0], names[1]} <= table.keys():
        raise UnreadableOutput(f"found {str(table)[:80]!r}, wanted versions of amd-smi and ROCm")
    return _versions(table, *names)


def _versions(table: dict[str, Any], tool: str, rocm: str, driver: str) -> Versions:
    if (version := word(table[tool], tool)) is None:
        raise UnreadableOutput("amd-smi gives no version of its own")
    return Versions(version, word(table[rocm], rocm), word(table.get(driver), driver))
