"""``chronyc -c -n sources`` (CSV) or ``chronyc sources [-v]`` (text): the time sources and whether they answer.

Seen: chrony 4.3. ``reach`` is an octal register of the last eight polls and is kept as an integer (octal 377 = 255).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "chronyc-sources"


@dataclass(frozen=True, slots=True)
class Source:
    """One source. ``mode`` ``^`` server, ``=`` peer, ``#`` local clock; ``state`` ``*`` is the selected one."""

    mode: str
    state: str
    name: str
    stratum: int
    reach: int


@dataclass(frozen=True, slots=True)
class Sources:
    """All sources; none is a fact, too."""

    sources: tuple[Source, ...]


_ROW = re.compile(r"([\^=#])([*+\-x~? ]) (\S+)\s+(\d{1,2})\s+(-?\d{1,2})\s+([0-7]{1,3})\s+(\S+)\s+(\S.*)", re.ASCII)
_HEAD = "MS Name/IP address"


def parse(text: str) -> Sources:
    """Read the rows under the heading, or CSV rows; a line that is neither is refused."""
    if not text.strip():
        raise UnreadableOutput("the output is empty: chrony has no sources, or this is no answer at all")
    found = lines(text)
    if found[0].startswith(("506 ", "501 ")):
        raise UnreadableOutput(f"chronyc cannot ask its daemon: {found[0][:80]!r}")
    if re.match(r"[\^=#],", found[0]):
        return Sources(tuple(_csv(line) for line in found))
    heads = [number for number, line in enumerate(found) if line.startswith(_HEAD)]
    if len(heads) != 1 or len(found) < heads[0] + 2 or not found[heads[0] + 1].startswith("===="):
        raise UnreadableOutput(f"no heading {_HEAD!r} with its rule")
    return Sources(tuple(_row(line) for line in found[heads[0] + 2 :]))


def _row(line: str) -> Source:
    if (found := _ROW.fullmatch(line.rstrip())) is None:
        raise UnreadableOutput(f"found {line[:80]!r}, wanted a source")
    return _source(found[1], found[2], found[3], found[4], found[6])


def _csv(line: str) -> Source:
    fields = line.split(",")
    if len(fields) != 10 or fields[0] not in set("^=#") or fields[1] not in set("*+-x~? "):
        raise UnreadableOutput(f"found {line[:80]!r}, wanted ten fields of a source")
    return _source(fields[0], fields[1], fields[2], fields[3], fields[5])


def _source(mode: str, state: str, name: str, stratum: str, reach: str) -> Source:
    if re.fullmatch(r"[0-7]{1,3}", reach, re.ASCII) is None:
        raise UnreadableOutput(f"reach is {reach[:20]!r}, wanted an octal register")
    return Source(mode, state, name, integer(stratum, "stratum"), int(reach, 8))
