"""``sysctl NAME...`` or ``sysctl -a``: kernel settings, ``name = value`` a line. A name of several lines keeps them all.

A blank in a value may be printed as a tab; runs of both count as one blank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "sysctl"


@dataclass(frozen=True, slots=True)
class Settings:
    """Name and value pairs in the order printed."""

    values: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        """Value of one name, None when it was not answered."""
        return dict(self.values).get(name)


def parse(text: str) -> Settings:
    """Read every line, or refuse one that is no setting."""
    table: dict[str, str] = {}
    for line in lines(text):
        found = re.fullmatch(r"([a-z0-9][\w.:/@+-]*) = ?(.*)", line, re.ASCII | re.IGNORECASE)
        if found is None:
            raise UnreadableOutput(f"found {line[:80]!r}, wanted name = value")
        value = " ".join(found[2].split())
        table[found[1]] = f"{table[found[1]]}\n{value}" if found[1] in table else value
    return Settings(tuple(table.items()))
