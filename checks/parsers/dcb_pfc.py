"""``dcb -j pfc show dev IF``: the priorities with flow control, as the kernel's DCB interface says.

Seen: iproute2 5.11 to 6.x. Without ``-j``: ``prio-pfc 0:off ... 3:on``. A port whose driver has no DCB answers
``Operation not supported`` on stderr and prints an empty line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import entry, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "dcb-pfc"


@dataclass(frozen=True, slots=True)
class DcbPfc:
    """Whether PFC is on, for priority 0..7."""

    on: tuple[bool, ...]


def parse(text: str) -> DcbPfc:
    """Read the eight states; fewer or more are refused."""
    states = _from_text(text) if "prio-pfc" in text else entry(json_document(text), "prio_pfc", list)
    if len(states) != 8 or any(not isinstance(state, bool) for state in states):
        raise UnreadableOutput(f"PFC states are {states!r}, wanted eight of on or off")
    return DcbPfc(tuple(states))


def _from_text(text: str) -> list[bool]:
    found = [re.fullmatch(r"prio-pfc((?: [0-7]:(?:on|off)){8}) *", line, re.ASCII) for line in lines(text)]
    rows = [row[1].split() for row in found if row]
    if len(rows) != 1 or [cell[0] for cell in rows[0]] != list("01234567"):
        raise UnreadableOutput(f"{len(rows)} whole rows prio-pfc 0:.. to 7:.., wanted one")
    return [cell.endswith("on") for cell in rows[0]]
