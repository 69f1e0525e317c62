"""``tool --option``: one sentence that says what is read. Copy this file to ``<command>.py``.

Seen: tool 1.2 (sample ``tests/parsers/<command>/1.2--healthy.txt``). What changes between versions stands here.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import entry, json_document

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "template"


@dataclass(frozen=True, slots=True)
class Template:
    """What the output says; units in the names, ``None`` only for what the tool itself calls unknown."""

    count: int


def parse(text: str) -> Template:
    """Read the output, or raise UnreadableOutput; a missing field is never a default."""
    return Template(count=entry(json_document(text), "count", int))
