"""``grep -Hs '' /proc/sys/kernel/random/boot_id /sys/devices/system/edac/mc/mc*/{ce,ue}_count``: memory errors since boot.

The boot id stands with the counts, because they begin at zero at every boot. No ``mc`` directory means that no driver counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-edac"
_BOOT = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class Controller:
    """One memory controller: errors corrected and not corrected since boot."""

    name: str
    corrected: int
    uncorrected: int


@dataclass(frozen=True, slots=True)
class MemoryErrors:
    """All controllers; empty when no EDAC driver is loaded."""

    boot_id: str
    controllers: tuple[Controller, ...]


def parse(text: str) -> MemoryErrors:
    """Read the files, or refuse: an unknown path, a controller with one count only."""
    found = tree(text)
    boot = found.pop(_BOOT, None)
    if boot is None or re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", boot) is None:
        raise UnreadableOutput(f"boot id is {boot!r}")
    counts: dict[str, dict[str, int]] = {}
    for path, value in found.items():
        if (name := re.fullmatch(r"/sys/devices/system/edac/mc/(mc\d{1,4})/(ce|ue)_count", path, re.ASCII)) is None:
            raise UnreadableOutput(f"found {path[:80]!r}, wanted the count of a memory controller")
        counts.setdefault(name[1], {})[name[2]] = integer(value, path)
    if half := [name for name, both in counts.items() if len(both) != 2]:
        raise UnreadableOutput(f"{half[0]} has one count only")
    return MemoryErrors(boot, tuple(Controller(name, both["ce"], both["ue"]) for name, both in counts.items()))
