"""``ntpq -p``, ``ntpq -pn``: the peers of ntpd. Delay, offset and jitter in milliseconds; ``reach`` from octal to an integer.

Seen: ntp 4.2. The first column is the tally code; ``*`` marks the selected peer, ``o`` one that drives by PPS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import decimal, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "ntpq-p"


@dataclass(frozen=True, slots=True)
class Peer:
    """One row. A stratum of 16 means unsynchronised."""

    tally: str
    name: str
    stratum: int
    reach: int
    offset_ms: float


@dataclass(frozen=True, slots=True)
class Peers:
    """All peers, in the order printed."""

    peers: tuple[Peer, ...]


def parse(text: str) -> Peers:
    """Read the rows under the heading, or refuse."""
    found = lines(text)
    heads = [number for number, line in enumerate(found) if line.split()[:3] == ["remote", "refid", "st"]]
    if len(heads) != 1 or len(found) < heads[0] + 2 or not found[heads[0] + 1].startswith("===="):
        raise UnreadableOutput(f"no heading of peers; the first line is {found[0][:80]!r}")
    return Peers(tuple(_peer(line) for line in found[heads[0] + 2 :] if line.strip()))


def _peer(line: str) -> Peer:
    tally, fields = line[:1], line[1:].split()
    if tally not in set(" x.-+#*o") or len(fields) != 10 or re.fullmatch(r"[0-7]{1,3}", fields[6], re.ASCII) is None:
        raise UnreadableOutput(f"found {line[:90]!r}, wanted a tally code and ten columns")
    return Peer(tally, fields[0], integer(fields[2], "st"), int(fields[6], 8), decimal(fields[8], "offset"))
