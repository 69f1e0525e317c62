"""``cat /proc/meminfo``: what the kernel can use of the main memory, and its default huge pages. Sizes in kB as printed (1024 B)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "meminfo"


@dataclass(frozen=True, slots=True)
class Memory:
    """``total_kib`` is without what firmware and the kernel image keep for themselves."""

    total_kib: int
    available_kib: int
    hugepages: int | None
    hugepage_kib: int | None


def parse(text: str) -> Memory:
    """Read the four lines, or refuse; huge pages are None on a kernel without them."""
    table: dict[str, int] = {}
    for line in lines(text):
        found = re.fullmatch(r"([A-Za-z]\w*(?:\(\w+\))?): +(\d{1,18})(?: kB)?", line, re.ASCII)
        if found is None or found[1] in table:
            raise UnreadableOutput(f"found {line[:60]!r}, wanted each label once with its number")
        table[found[1]] = int(found[2])
    if missing := {"MemTotal", "MemAvailable"} - table.keys():
        raise UnreadableOutput(f"no line {sorted(missing)[0]!r}")
    return Memory(table["MemTotal"], table["MemAvailable"], table.get("HugePages_Total"), table.get("Hugepagesize"))
