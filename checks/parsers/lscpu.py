"""``lscpu -J`` or ``lscpu``: model, sockets and cores of the processors.

Seen: util-linux 2.37 (flat) and 2.38 (nested ``children``; the text form indents). ``-`` stands for what it cannot tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import NOT_GIVEN, entry, integer, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "lscpu"


@dataclass(frozen=True, slots=True)
class Processors:
    """What the kernel counts; None where lscpu prints no number. ``online`` is its list of CPUs that run, such as ``0-63``."""

    model: str | None
    sockets: int | None
    cores_per_socket: int | None
    threads_per_core: int | None
    cpus: int
    online: str | None
    numa_nodes: int | None


def parse(text: str) -> Processors:
    """Read both forms, or refuse when a label is absent or stands twice with different values."""
    table = _labels(text)

    def field(label: str) -> str | None:
        if label not in table:
            raise UnreadableOutput(f"no {label!r} in the output")
        return None if table[label] in NOT_GIVEN else table[label]

    def count(label: str) -> int | None:
        value = field(label)
        return None if value is None else integer(value, label)

    cpus = count("CPU(s)")
    if cpus is None:
        raise UnreadableOutput("CPU(s) is not given")
    return Processors(
        model=field("Model name"),
        sockets=count("Socket(s)"),
        cores_per_socket=count("Core(s) per socket"),
        threads_per_core=count("Thread(s) per core"),
        cpus=cpus,
        online=_online(field("On-line CPU(s) list")) if "On-line CPU(s) list" in table else None,
        numa_nodes=count("NUMA node(s)") if "NUMA node(s)" in table else None,
    )


def _online(cpus: str | None) -> str | None:
    if cpus is not None and re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", cpus, re.ASCII) is None:
        raise UnreadableOutput(f"online CPUs are {cpus[:40]!r}, wanted a list such as 0-63")
    return cpus


def _labels(text: str) -> dict[str, str]:
    table: dict[str, str] = {}

    def add(label: str, value: str) -> None:
        if table.setdefault(label, value) != value:
            raise UnreadableOutput(f"{label!r} stands twice with different values")

    def walk(rows: Any, depth: int) -> None:
        if not isinstance(rows, list) or depth > 8:
            raise UnreadableOutput("the JSON is no tree of fields")
        for row in rows:
            data = row.get("data") if isinstance(row, dict) else None
            if data is not None:
                if not isinstance(data, str):
                    raise UnreadableOutput("a field's data is no text")
                add(entry(row, "field", str).rstrip(":"), data.strip())
            if "children" in entry_table(row):
                walk(row["children"], depth + 1)

    if text.lstrip().startswith("{"):
        walk(entry(json_document(text), "lscpu", list), 0)
    else:
        for line in lines(text):
            label, colon, value = line.partition(":")
            if colon:
                add(label.strip(), value.strip())
    return table


def entry_table(row: Any) -> dict[str, Any]:
    """Return ``row`` if it is a JSON object, else refuse."""
    if not isinstance(row, dict):
        raise UnreadableOutput("a field of the JSON is no object")
    return row
