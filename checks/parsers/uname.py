"""``uname -srm`` or ``uname -a``: the kernel that runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "uname"


@dataclass(frozen=True, slots=True)
class Kernel:
    """Release (``6.8.0-60-generic``) and machine (``x86_64``)."""

    release: str
    machine: str


def parse(text: str) -> Kernel:
    """Read the one line; the long form carries the host's name before the release."""
    found = lines(text)
    words = found[0].split()
    if len(found) == 1 and words and words[0] == "Linux" and (len(words) == 3 or len(words) > 5):
        release, machine = (words[1], words[2]) if len(words) == 3 else (words[2], words[-2])
        if re.fullmatch(r"\d{1,3}\.\d{1,4}\S*", release, re.ASCII) and re.fullmatch(r"\w+", machine, re.ASCII):
            return Kernel(release, machine)
    raise UnreadableOutput(f"found {found[0][:80]!r}, wanted Linux, release and machine on one line")
