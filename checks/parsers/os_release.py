"""``cat /etc/os-release``: the distribution and its version."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "os-release"


@dataclass(frozen=True, slots=True)
class Distribution:
    """``version`` is None for a rolling release."""

    id: str
    version: str | None
    pretty: str


def parse(text: str) -> Distribution:
    """Read shell assignments, or refuse a line that is none."""
    table: dict[str, str] = {}
    for line in lines(text):
        if not line.strip() or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        try:
            words = shlex.split(value)
        except ValueError:
            raise UnreadableOutput(f"found {line[:60]!r}, whose quotation does not end") from None
        if not equals or re.fullmatch(r"[A-Z][A-Z0-9_]*", name, re.ASCII) is None or len(words) > 1 or name in table:
            raise UnreadableOutput(f"found {line[:60]!r}, wanted each NAME=value once")
        table[name] = words[0] if words else ""
    if missing := [name for name in ("ID", "PRETTY_NAME") if not table.get(name)]:
        raise UnreadableOutput(f"no {missing[0]} in the output")
    return Distribution(table["ID"], table.get("VERSION_ID") or None, table["PRETTY_NAME"])
