"""``systemctl show --property=LoadState,ActiveState,SubState UNIT`` or ``systemctl is-active UNIT``: whether a service runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "systemctl-is-active"
_STATES = frozenset(
    {"active", "reloading", "inactive", "failed", "activating", "deactivating", "maintenance", "refreshing"}
)


@dataclass(frozen=True, slots=True)
class UnitState:
    """``load`` and ``sub`` are ``None`` after ``is-active``, which cannot tell an absent unit from a stopped one."""

    load: str | None
    active: str
    sub: str | None


def parse(text: str) -> UnitState:
    """Read either form; a word that systemd does not know as a state is refused."""
    rows = [line.strip() for line in lines(text) if line.strip()]
    if len(rows) == 1 and re.fullmatch(r"[a-z-]+", rows[0], re.ASCII):
        table = {"ActiveState": rows[0]}
    else:
        pairs = [row.partition("=") for row in rows]
        table = {name: value for name, _, value in pairs}
        if len(table) != len(rows) or not all(equals for _, equals, _ in pairs):
            raise UnreadableOutput(f"found {rows[0][:60]!r}, wanted one state or NAME=value lines, each name once")
    active = table.get("ActiveState", "")
    if active not in _STATES:
        raise UnreadableOutput(f"ActiveState is {active[:40]!r}, wanted a state that systemd knows")
    return UnitState(table.get("LoadState"), active, table.get("SubState"))
