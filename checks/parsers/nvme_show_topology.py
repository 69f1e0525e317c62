"""``nvme show-topology``: for every namespace the paths that lead to it, with the ANA state of each (text).

Seen: nvme-cli 2.2. PCIe disks stand in the same list, their paths carry no ANA state; NQNs contain blanks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "nvme-show-topology"

_SUBSYSTEM = re.compile(r"(nvme-subsys\d+) - NQN=(\S.*)")
_DETAIL = re.compile(r" {8,}(hostnqn|iopolicy|type|hostid)=(\S.*)")
_NAMESPACE = re.compile(r" \+- ns id (\d{1,10})")
_PATH = re.compile(
    r"  \+- (nvme\d+) (\S+) (\w+=\S*(?: \w+=\S*)*|\S+) ([a-z]+(?: \(no IO\))?|\(null\))"
    r"(?: (optimized|non-optimized|inaccessible|persistent-loss|change))? *"
)


@dataclass(frozen=True, slots=True)
class NamespacePath:
    """One way to one namespace of one subsystem."""

    subsystem: str
    nqn: str
    nsid: int
    controller: str
    transport: str
    address: str
    state: str | None
    ana: str | None


def parse(text: str) -> tuple[NamespacePath, ...]:
    """Read all paths; refuses a namespace without a subsystem, a path without a namespace, and every unknown line."""
    found: list[NamespacePath] = []
    subsystem: re.Match[str] | None = None
    nsid: int | None = None
    for row in lines(text):
        if head := _SUBSYSTEM.fullmatch(row):
            subsystem, nsid = head, None
        elif subsystem and (namespace := _NAMESPACE.fullmatch(row)):
            nsid = integer(namespace[1], "ns id")
        elif subsystem and nsid is not None and (path := _PATH.fullmatch(row)):
            state = None if path[4] == "(null)" else path[4]
            found.append(NamespacePath(subsystem[1], subsystem[2], nsid, path[1], path[2], path[3], state, path[5]))
        elif row.strip() not in {"", "\\"} and not (subsystem and _DETAIL.fullmatch(row)):
            raise UnreadableOutput(f"found {row[:80]!r}, wanted a subsystem, a namespace or a path")
    if not found:
        raise UnreadableOutput("no path in the output")
    return tuple(found)
