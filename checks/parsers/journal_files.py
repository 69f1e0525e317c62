"""``ls -d /run/systemd/journal /var/log/journal/*/system.journal /run/log/journal/*/system.journal``: where the journal lives.

``/run`` is memory: a journal there is lost with the next reboot. A pattern without a match is named on stderr only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "journal-files"
_FILE = re.compile(r"/(var|run)/log/journal/[0-9a-f]{32}(?:\.\w+)?/system\.journal", re.ASCII)


@dataclass(frozen=True, slots=True)
class JournalFiles:
    """The active journal files on disk and in memory."""

    on_disk: tuple[str, ...]
    in_memory: tuple[str, ...]


def parse(text: str) -> JournalFiles:
    """Sort the paths; a path that is neither is refused."""
    found = [line for line in lines(text) if line != "/run/systemd/journal"]
    places: dict[str, list[str]] = {"var": [], "run": []}
    for line in found:
        if (place := _FILE.fullmatch(line)) is None:
            raise UnreadableOutput(f"found {line[:80]!r}, wanted a system.journal")
        places[place[1]].append(line)
    return JournalFiles(tuple(places["var"]), tuple(places["run"]))
