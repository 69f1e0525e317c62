"""``systemctl show UNIT -p ...`` followed by ``cat /proc/PID/limits``: what a service may lock and open, in its own environment.

The table is there only while the service runs; the properties are what its unit asks for. ``unlimited`` (systemd:
``infinity``) is kept as that word. Locked memory in bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "proc-limits"


@dataclass(frozen=True, slots=True)
class Limits:
    """Soft limits: a number, or ``unlimited``."""

    memlock: int | str
    nofile: int | str


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """``unit`` are the soft limits that the unit asks for, ``running`` those of the process that runs."""

    load: str
    active: str
    pid: int
    unit: Limits | None
    running: Limits | None


_HEAD = re.compile(r"Limit +Soft Limit +Hard Limit +Units *")
_ROW = re.compile(r"(Max [a-z -]+?) {2,}(\d{1,20}|unlimited) +(\d{1,20}|unlimited) *(\S+)? *", re.ASCII)


def parse(text: str) -> ServiceLimits:
    """Read properties and table, or refuse: a property absent or twice, a table without the two rows."""
    found = lines(text)
    heads = [number for number, line in enumerate(found) if _HEAD.fullmatch(line)]
    split = heads[0] if heads else len(found)
    properties: dict[str, str] = {}
    for line in found[:split]:
        name, equals, value = line.partition("=")
        if not equals or name in properties or re.fullmatch(r"[A-Za-z]+", name, re.ASCII) is None:
            raise UnreadableOutput(f"found {line[:60]!r}, wanted each property of the unit once")
        properties[name] = value.strip()
    if missing := {"LoadState", "ActiveState", "MainPID"} - properties.keys():
        raise UnreadableOutput(f"no property {sorted(missing)[0]!r}")
    return ServiceLimits(
        load=properties["LoadState"],
        active=properties["ActiveState"],
        pid=integer(properties["MainPID"], "MainPID"),
        unit=_unit(properties),
        running=_table(found[split + 1 :]) if heads else None,
    )


def _unit(properties: dict[str, str]) -> Limits | None:
    # Without "Soft" systemd tells the hard limit, which a process must raise itself to by hand: 524288 where it may open 1024.
    names = ("LimitMEMLOCKSoft", "LimitNOFILESoft")
    if not all(properties.get(name) for name in names):
        return None
    memlock, nofile = (_value(properties[name].replace("infinity", "unlimited"), name) for name in names)
    return Limits(memlock, nofile)


def _table(found: list[str]) -> Limits:
    rows: dict[str, str] = {}
    for line in found:
        if (row := _ROW.fullmatch(line)) is None or row[1] in rows:
            raise UnreadableOutput(f"found {line[:60]!r}, wanted each limit once")
        rows[row[1]] = row[2]
    if missing := {"Max locked memory", "Max open files"} - rows.keys():
        raise UnreadableOutput(f"no row {sorted(missing)[0]!r}")
    return Limits(_value(rows["Max locked memory"], "memlock"), _value(rows["Max open files"], "nofile"))


def _value(text: str, what: str) -> int | str:
    if text in {"unlimited", "18446744073709551615"}:  # systemd before 232 prints all bits set
        return "unlimited"
    return integer(text, what)
