"""``mlnx_qos -i IF``: trust, PFC, DSCP map and scheduling of a ConnectX port.

Seen: MLNX_OFED 4.2 to 24.x and the distribution's mlnx-tools. The DSCP map is printed only under trust dscp and wraps with
trailing commas; older versions print neither DCBX mode nor cable length; the row ``buffer`` looks like the row ``enabled`` and
is another thing; ``priority:  0`` and ``priority    0`` both occur; a warning about lldpad may come first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeVar

from checks.lexing import decimal, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "mlnx_qos"

Key = TypeVar("Key")
Value = TypeVar("Value")

_EIGHT = re.compile(r"(priority|enabled|buffer):?((?:\s+\d){8})\s*", re.ASCII)
_DSCP = re.compile(r"prio:([0-7]) dscp:((?:\d{2},)+)", re.ASCII)
_CLASS = re.compile(r"tc: ([0-7]) ratelimit: [\w. ]+, tsa: (vendor|strict|ets|unknown)(?:, bw: (\d{1,3})%)?", re.ASCII)
_MEMBER = re.compile(r"priority:?\s+([0-7])", re.ASCII)
_LABEL = re.compile(r"(DCBX mode|Priority trust state|Cable len|Receive buffer size \(bytes\)):\s*(\S.*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class MlnxClass:
    """One traffic class with the priorities that it carries; ``share`` is percent, None unless tsa is ets."""

    number: int
    tsa: str
    share: float | None
    priorities: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MlnxQos:
    """Settings of one port. ``dscp`` are pairs of DSCP and priority, empty under trust pcp."""

    trust: str
    pfc: tuple[int, ...]
    buffer: tuple[int, ...] | None  # receive buffer of each priority
    dscp: tuple[tuple[int, int], ...]
    classes: tuple[MlnxClass, ...]
    dcbx: str | None
    cable_m: int | None
    lldpad: bool


def parse(text: str) -> MlnxQos:
    """Read the report; trust and the PFC table are required."""
    said: dict[str, str] = {}
    tables: dict[str, tuple[int, ...]] = {}
    dscp: dict[int, int] = {}
    classes: list[MlnxClass] = []
    lldpad = False
    for line in lines(text):
        row = line.strip()
        if label := _LABEL.fullmatch(row):
            _once(said, label[1], label[2])
        elif eight := _EIGHT.fullmatch(row):
            _once(tables, eight[1], tuple(int(cell) for cell in eight[2].split()))
        elif found := _DSCP.fullmatch(row):
            for value in found[2].rstrip(",").split(","):
                _once(dscp, integer(value, "DSCP"), int(found[1]))
        elif found := _CLASS.fullmatch(row):
            share = None if found[3] is None else decimal(found[3], "bandwidth")
            classes.append(MlnxClass(int(found[1]), found[2], share, ()))
        elif (found := _MEMBER.fullmatch(row)) and classes:
            last = classes[-1]
            classes[-1] = MlnxClass(last.number, last.tsa, last.share, (*last.priorities, int(found[1])))
        elif row.startswith("****** WARNING: lldpad"):
            lldpad = True
        elif row and row not in ("dscp2prio mapping:", "PFC configuration:"):
            raise UnreadableOutput(f"found {row[:80]!r}, which is no line of mlnx_qos")
    return _checked(said, tables, dscp, classes, lldpad)


def _once(table: dict[Key, Value], key: Key, value: Value) -> None:
    if key in table:
        raise UnreadableOutput(f"{key!r} stands twice")
    table[key] = value


def _checked(
    said: dict[str, str],
    tables: dict[str, tuple[int, ...]],
    dscp: dict[int, int],
    classes: list[MlnxClass],
    lldpad: bool,
) -> MlnxQos:
    trust = said.get("Priority trust state")
    if trust not in ("dscp", "pcp", "both"):
        raise UnreadableOutput(f"Priority trust state is {trust!r}, wanted dscp, pcp or both")
    if tables.get("priority") != tuple(range(8)) or "enabled" not in tables or set(tables["enabled"]) - {0, 1}:
        raise UnreadableOutput("no PFC table with the rows priority 0..7 and enabled 0 or 1")
    if trust == "dscp" and not dscp and "DCBX mode" in said:
        raise UnreadableOutput("trust is dscp and no DSCP map is printed; the output is cut")
    members = [priority for entry in classes for priority in entry.priorities]
    if any(value > 63 for value in dscp) or sorted(members) not in ([], list(range(8))):
        raise UnreadableOutput("a DSCP above 63, or not each priority in one traffic class; the output may be cut")
    if len({entry.number for entry in classes}) != len(classes):
        raise UnreadableOutput("a traffic class stands twice")
    cable = said.get("Cable len")
    return MlnxQos(
        trust=trust,
        pfc=tuple(priority for priority, bit in enumerate(tables["enabled"]) if bit),
        buffer=tables.get("buffer"),
        dscp=tuple(sorted(dscp.items())),
        classes=tuple(classes),
        dcbx=said.get("DCBX mode"),
        cable_m=None if cable is None else integer(cable, "Cable len"),
        lldpad=lldpad,
    )
