"""``grep -Hs '' /sys/devices/system/cpu/online /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor``: how clocks are chosen.

A machine whose firmware keeps the clocks to itself has no ``cpufreq`` directory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-cpufreq"


@dataclass(frozen=True, slots=True)
class Governors:
    """CPUs that are online as the kernel lists them, and (cpu, governor) for each that has one."""

    online: str
    governors: tuple[tuple[str, str], ...]


def parse(text: str) -> Governors:
    """Read the files, or refuse an unknown path or a governor that is no word."""
    found = tree(text)
    online = found.pop("/sys/devices/system/cpu/online", None)
    if online is None or re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", online, re.ASCII) is None:
        raise UnreadableOutput(f"online CPUs are {online!r}, wanted a list such as 0-63")
    governors = []
    for path, value in found.items():
        name = re.fullmatch(r"/sys/devices/system/cpu/(cpu\d{1,5})/cpufreq/scaling_governor", path, re.ASCII)
        if name is None or re.fullmatch(r"[a-z_]{1,32}", value) is None:
            raise UnreadableOutput(f"found {path[:80]!r} with {value[:20]!r}, wanted a governor")
        governors.append((name[1], value))
    return Governors(online, tuple(governors))
