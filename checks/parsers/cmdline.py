"""``cat /proc/cmdline``: the words the kernel was booted with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "cmdline"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The words in their order; a quoted value stays one word."""

    words: tuple[str, ...]


def parse(text: str) -> CommandLine:
    """Split the one line into words; more than one line is refused."""
    found = lines(text)
    if len(found) != 1:
        raise UnreadableOutput(f"{len(found)} lines, wanted one")
    words = re.findall(r'(?:[^\s"]|"[^"]*")+', found[0])
    if found[0].count('"') % 2 or not words:
        raise UnreadableOutput("the command line ends inside a quotation")
    return CommandLine(tuple(words))
