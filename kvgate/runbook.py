"""The runbook's sections, one a clause, and the commands by which a person confirms it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

_CONFIRM = re.compile(r"^(?:Confirm(?: by hand)?:|\*\*By hand\*\*) (.+?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"`([^`\n]+)`")
_HEAD = re.compile(r"^### (G\d\.\d{1,2}\.\d{1,2})\b.*$", re.MULTILINE)


@cache
def sections() -> dict[str, str]:
    """Clause id -> its section in Markdown."""
    found: dict[str, str] = {}
    # Beside the gates, in a checkout as in site-packages: a folder of Markdown is no importable package.
    for page in sorted((Path(str(files("gates"))).parent / "runbooks").glob("g*.md")):
        text = page.read_text("utf-8")
        heads = list(_HEAD.finditer(text))
        for head in heads:
            rest = re.search(r"^#{1,3} ", text[head.end() :], re.MULTILINE)
            end = head.end() + rest.start() if rest else len(text)
            found[head[1]] = text[head.start() : end].strip() + "\n"
    return found


def commands(section: str) -> tuple[str, ...]:
    """Commands and names that a section confirms with, in order, each once; they are the same in every language."""
    return tuple(dict.fromkeys(code for part in _CONFIRM.findall(section) for code in _COMMAND.findall(part)))
