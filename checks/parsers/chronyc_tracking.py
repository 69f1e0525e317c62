"""``chronyc -c tracking`` (one line of CSV) or ``chronyc tracking`` (text): how far this clock is from its source.

Seen: chrony 4.3 text and CSV of 14 fields; chrony before 4.0 writes 13 fields, without the source's name. Offsets in seconds.
An unsynchronised chrony prints an offset of 0.000000000: the leap status decides, never the offset alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import decimal, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "chronyc-tracking"

#: Every word that chrony prints as leap status.
LEAP = ("Normal", "Insert second", "Delete second", "Not synchronised")


@dataclass(frozen=True, slots=True)
class Tracking:
    """``offset`` is the system clock's remaining correction; in text form its size only. All times in seconds."""

    reference: str
    stratum: int
    offset: float
    last_offset: float
    rms_offset: float
    root_delay: float
    root_dispersion: float
    leap: str


def parse(text: str) -> Tracking:
    """Read both forms, or refuse: another number of fields, an unknown leap status, an error of chronyc."""
    found = lines(text)
    if found[0].startswith(("506 ", "501 ", "Could not")):
        raise UnreadableOutput(f"chronyc cannot ask its daemon: {found[0][:80]!r}")
    if "," in found[0] and " : " not in found[0]:
        return _csv(found)
    return _text(found)


def _csv(found: list[str]) -> Tracking:
    fields = found[0].split(",")
    if len(found) != 1 or len(fields) not in {13, 14}:
        raise UnreadableOutput(f"{len(found)} lines, {len(fields)} fields in the first, wanted one line of 13 or 14")
    named = fields[-12:]
    return Tracking(
        reference=fields[0],
        stratum=integer(named[0], "stratum"),
        offset=decimal(named[2], "system time"),
        last_offset=decimal(named[3], "last offset"),
        rms_offset=decimal(named[4], "RMS offset"),
        root_delay=decimal(named[8], "root delay"),
        root_dispersion=decimal(named[9], "root dispersion"),
        leap=_leap(named[11]),
    )


def _text(found: list[str]) -> Tracking:
    table: dict[str, str] = {}
    for line in found:
        label, colon, value = line.partition(" : ")
        if not colon or label.strip() in table:
            raise UnreadableOutput(f"found {line[:60]!r}, wanted each label once with its value")
        table[label.strip()] = value.strip()

    def field(label: str) -> str:
        if label not in table:
            raise UnreadableOutput(f"no line {label!r}")
        return table[label]

    def seconds(label: str) -> float:
        wanted = re.fullmatch(
            r"([-+]?\d{1,12}\.\d{1,12}) seconds(?: (?:fast|slow) of NTP time)?", field(label), re.ASCII
        )
        if wanted is None:
            raise UnreadableOutput(f"{label} is {field(label)[:40]!r}, wanted seconds")
        return float(wanted[1])

    return Tracking(
        reference=field("Reference ID").split(" ")[0],
        stratum=integer(field("Stratum"), "Stratum"),
        offset=seconds("System time"),
        last_offset=seconds("Last offset"),
        rms_offset=seconds("RMS offset"),
        root_delay=seconds("Root delay"),
        root_dispersion=seconds("Root dispersion"),
        leap=_leap(field("Leap status")),
    )


def _leap(word: str) -> str:
    if word not in LEAP:
        raise UnreadableOutput(f"leap status is {word[:40]!r}, wanted one of {', '.join(LEAP)}")
    return word
