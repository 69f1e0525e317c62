"""``cat /proc/sys/kernel/random/boot_id``: which boot this is; counters of two boots are never subtracted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "boot-id"


@dataclass(frozen=True, slots=True)
class Boot:
    """A random identity, new at every boot."""

    id: str


def parse(text: str) -> Boot:
    """Read the one line, or refuse what is no UUID."""
    found = lines(text)
    if len(found) != 1 or re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found[0]) is None:
        raise UnreadableOutput(f"found {found[0][:60]!r}, wanted one boot id")
    return Boot(found[0])
