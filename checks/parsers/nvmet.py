"""``grep -Hs '' /sys/kernel/config/nvmet/... /proc/sys/kernel/osrelease``: what a Linux NVMe target exports, and where.

A subsystem is on a port when it is linked below the port. NQNs hold colons, so a line is read from its known file name on.
The kernel release is asked last: an answer that does not end with it was cut.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "nvmet"

#: The last file asked for; its absence shows a cut answer.
LAST = "/proc/sys/kernel/osrelease"
_ROOT = "/sys/kernel/config/nvmet"
_PORT = re.compile(rf"{_ROOT}/ports/(\d{{1,5}})/addr_(trtype|traddr|trsvcid):(.*)")
_LINKED = re.compile(rf"{_ROOT}/ports/(\d{{1,5}})/subsystems/([^/]+)/attr_allow_any_host:([01])")
_ENABLED = re.compile(rf"{_ROOT}/subsystems/([^/]+)/namespaces/(\d{{1,10}})/enable:([01])")


@dataclass(frozen=True, slots=True)
class Port:
    """One port of the target and the subsystems that it offers."""

    transport: str
    address: str
    service: str
    nqns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """One subsystem: its namespaces as (NSID, enabled) pairs; ``any_host`` lets every host in, None when on no port."""

    nqn: str
    namespaces: tuple[tuple[int, bool], ...]
    any_host: bool | None


@dataclass(frozen=True, slots=True)
class Target:
    """Ports and subsystems; both empty on a machine whose target is not the kernel's."""

    ports: tuple[Port, ...]
    subsystems: tuple[Exported, ...]


def parse(text: str) -> Target:
    """Read the target's configuration; a port without address is refused."""
    rows = lines(text)
    if not rows[-1].startswith(f"{LAST}:"):
        raise UnreadableOutput(f"the answer does not end with {LAST}, it may be cut")
    ports: dict[str, dict[str, str]] = defaultdict(dict)
    linked: dict[str, list[str]] = defaultdict(list)
    any_host: dict[str, bool] = {}
    spaces: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for row in rows[:-1]:
        if match := _PORT.fullmatch(row):
            ports[match[1]][match[2]] = match[3].strip()
        elif match := _LINKED.fullmatch(row):
            linked[match[1]].append(match[2])
            any_host[match[2]] = match[3] == "1"
        elif match := _ENABLED.fullmatch(row):
            spaces[match[1]].append((integer(match[2], "nsid"), match[3] == "1"))
        else:
            raise UnreadableOutput(f"found {row[:100]!r}, wanted a port, a linked subsystem or a namespace")
    if unknown := linked.keys() - ports.keys():
        raise UnreadableOutput(f"subsystems stand on ports {sorted(unknown)}, which have no address")
    return Target(
        tuple(_port(number, values, linked[number]) for number, values in ports.items()),
        tuple(Exported(nqn, tuple(spaces[nqn]), any_host.get(nqn)) for nqn in dict.fromkeys([*spaces, *any_host])),
    )


def _port(number: str, values: dict[str, str], nqns: list[str]) -> Port:
    if missing := {"trtype", "traddr", "trsvcid"} - values.keys():
        raise UnreadableOutput(f"port {number} has no {', '.join(sorted(missing))}")
    return Port(values["trtype"], values["traddr"], values["trsvcid"], tuple(nqns))
