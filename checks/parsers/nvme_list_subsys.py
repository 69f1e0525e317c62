"""``nvme list-subsys [-o json]``: subsystems, the paths to each, and the state of every path.

Seen: 1.x object, 2.x array of hosts, text of 2.0, 2.3 and 2.8 (extra indented lines). Before 2.4 a path stands once for
every namespace; equal entries are kept once. ANA states appear only when a namespace was named on the command line, and
the tool lists the paths of the first namespace only, so sysfs is the better source for the number of paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "nvme-list-subsys"

_SUBSYSTEM = re.compile(r"(nvme-subsys\d+) - NQN=(\S.*)")
_DETAIL = re.compile(r" {8,}(hostnqn|iopolicy|type|hostid)=(\S.*)")
_PATH = re.compile(
    r" \+- (nvme\d+) (\S+) (\w+=\S*(?: \w+=\S*)*|\S+) ([a-z]+(?: \(no IO\))?|\(null\))"
    r"(?: (optimized|non-optimized|inaccessible|persistent-loss|change))? *"
)


@dataclass(frozen=True, slots=True)
class Path:
    """One controller of a subsystem. ``address`` is as printed: ``traddr=...,trsvcid=...`` or a PCI address.

    ``state`` is None where the tool prints null; ``ana`` is None where it prints none.
    """

    name: str
    transport: str
    address: str
    state: str | None
    ana: str | None


@dataclass(frozen=True, slots=True)
class Subsystem:
    """One subsystem; a subsystem whose controllers were all removed has no paths."""

    name: str
    nqn: str
    host_nqn: str | None
    host_id: str | None
    iopolicy: str | None
    paths: tuple[Path, ...]


def parse(text: str) -> tuple[Subsystem, ...]:
    """Read JSON or text; an empty JSON list is a host without subsystems."""
    if re.search(r"^[ \t]*[\[{]", text, re.MULTILINE):
        return _from_json(json_document(text))
    return _from_text(lines(text))


def _from_json(document: Any) -> tuple[Subsystem, ...]:
    hosts = document if isinstance(document, list) else [document]
    found: list[Subsystem] = []
    for host in hosts:
        for item in entry(host, "Subsystems", list, "host"):
            paths = entry(item, "Paths", list, "subsystem") if _has(item, "Paths") else []
            found.append(
                Subsystem(
                    name=entry(item, "Name", str, "subsystem"),
                    nqn=entry(item, "NQN", str, "subsystem"),
                    host_nqn=_optional(host, "HostNQN"),
                    host_id=_optional(host, "HostID"),
                    iopolicy=_optional(item, "IOPolicy"),
                    paths=_once([_path(path) for path in paths]),
                )
            )
    return tuple(found)


def _path(item: Any) -> Path:
    return Path(
        name=entry(item, "Name", str, "path"),
        transport=entry(item, "Transport", str, "path"),
        address=entry(item, "Address", str, "path"),
        state=_optional(item, "State"),
        ana=_optional(item, "ANAState"),
    )


def _has(table: Any, key: str) -> bool:
    return isinstance(table, dict) and key in table


def _optional(table: Any, key: str) -> str | None:
    value = entry(table, key, (str, type(None)), "object") if _has(table, key) else None
    return None if value in {None, "", "(null)"} else str(value)


def _once(paths: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))


def _from_text(rows: list[str]) -> tuple[Subsystem, ...]:
    found: list[tuple[str, str, dict[str, str], list[Path]]] = []
    for row in rows:
        if head := _SUBSYSTEM.fullmatch(row):
            found.append((head[1], head[2], {}, []))
        elif found and (detail := _DETAIL.fullmatch(row)):
            found[-1][2][detail[1]] = detail[2]
        elif found and (path := _PATH.fullmatch(row)):
            state = None if path[4] == "(null)" else path[4]
            found[-1][3].append(Path(path[1], path[2], path[3], state, path[5]))
        elif row.strip() not in {"", "\\"}:
            raise UnreadableOutput(f"found {row[:80]!r}, wanted a subsystem or a path")
    if not found:
        raise UnreadableOutput("no subsystem in the output")
    return tuple(
        Subsystem(name, nqn, more.get("hostnqn"), more.get("hostid"), more.get("iopolicy"), _once(paths))
        for name, nqn, more, paths in found
    )
