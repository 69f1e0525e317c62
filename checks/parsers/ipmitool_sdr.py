"""``ipmitool sdr elist``: sensors of the board controller, one a line: name, id, state, entity, reading.

States: ``ok``; ``nc`` non-critical, ``cr`` critical, ``nr`` non-recoverable; ``ns`` no reading. Discrete sensors such as
power supplies say in words what they see and may be ``ok`` with a failure in words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "ipmitool-sdr"
_STATES = frozenset({"ok", "nc", "cr", "nr", "ns", "us", "lnc", "lcr", "lnr", "unc", "ucr", "unr"})


@dataclass(frozen=True, slots=True)
class Sensor:
    """One sensor; ``entity`` is what it is a part of (10.2: second power supply), ``reading`` as printed, empty when none."""

    name: str
    id: str
    state: str
    entity: str
    reading: str


@dataclass(frozen=True, slots=True)
class Sensors:
    """All sensors."""

    sensors: tuple[Sensor, ...]


def parse(text: str) -> Sensors:
    """Read every line, or refuse: no controller, a line of another shape, an unknown state."""
    return Sensors(tuple(_sensor(line) for line in lines(text)))


def _sensor(line: str) -> Sensor:
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != 5 or re.fullmatch(r"[0-9A-Fa-f]{2}h", cells[1]) is None or cells[2] not in _STATES or not cells[0]:
        raise UnreadableOutput(f"found {line[:80]!r}, wanted name | id | state | entity | reading")
    return Sensor(cells[0], cells[1], cells[2], cells[3], cells[4])
