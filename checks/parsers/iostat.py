"""``iostat -x [-y] [-o JSON]``: what each block device did in each interval.

Seen: sysstat 10.1 (``avgqu-sz``, heading ``Device:``), 12.6 and 12.7 JSON. kB are 1024 bytes. The first report is the
average since boot unless ``-y`` was given, which the output does not show: the caller must have asked with ``-y``.
Partitions stand beside their disks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.lexing import decimal, entry, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "iostat"

_SCALES = {"kB/s": 1024.0, "MB/s": 1024.0**2, "sec/s": 512.0}


@dataclass(frozen=True, slots=True)
class Activity:
    """One device in one interval: operations and bytes a second, waits in ms, queue length, utilisation in percent."""

    device: str
    reads: float
    writes: float
    read_bytes: float
    write_bytes: float
    read_wait_ms: float
    write_wait_ms: float
    queue: float
    utilisation: float


@dataclass(frozen=True, slots=True)
class Report:
    """One interval."""

    devices: tuple[Activity, ...]


def parse(text: str) -> tuple[Report, ...]:
    """Read all reports; the short form without -x is refused, it has no waits."""
    if text.lstrip().startswith("{"):
        hosts = entry(entry(json_document(text), "sysstat", dict), "hosts", list)
        if len(hosts) != 1:
            raise UnreadableOutput(f"{len(hosts)} hosts, wanted one")
        reports = entry(hosts[0], "statistics", list)
        found = tuple(Report(tuple(_json_row(disk) for disk in entry(report, "disk", list))) for report in reports)
    else:
        found = _from_text(lines(text))
    if not found:
        raise UnreadableOutput("no report in the output")
    return found


def _json_row(disk: Any) -> Activity:
    name = entry(disk, "disk_device", str)
    return _activity(name, {k: float(entry(disk, k, (int, float), name)) for k in disk if k != "disk_device"})


def _from_text(rows: list[str]) -> tuple[Report, ...]:
    found: list[list[Activity]] = []
    columns: list[str] | None = None
    for row in rows:
        words = row.split()
        if not words:
            columns = None
        elif words[0] in {"Device", "Device:"}:
            columns = words[1:]
            found.append([])
        elif columns is not None:
            if len(words) != len(columns) + 1 or len(set(columns)) != len(columns):
                raise UnreadableOutput(f"found {row[:80]!r}, wanted a device and {len(columns)} values")
            values = [decimal(word, name) for name, word in zip(columns, words[1:], strict=True)]
            found[-1].append(_activity(words[0], dict(zip(columns, values, strict=True))))
    return tuple(Report(tuple(devices)) for devices in found)


def _activity(name: str, values: Mapping[str, float]) -> Activity:
    def given(*keys: str) -> float:
        for key in keys:
            if key in values:
                return values[key]
        raise UnreadableOutput(f"{name} has no {keys[0]!r}; ask iostat with -x")

    def size(letter: str) -> float:
        for unit, scale in _SCALES.items():
            if letter + unit in values:
                return values[letter + unit] * scale
        raise UnreadableOutput(f"{name} has no {letter}kB/s; ask iostat with -x")

    return Activity(
        device=name,
        reads=given("r/s"),
        writes=given("w/s"),
        read_bytes=size("r"),
        write_bytes=size("w"),
        read_wait_ms=given("r_await"),
        write_wait_ms=given("w_await"),
        queue=given("aqu-sz", "avgqu-sz"),
        utilisation=given("util", "%util"),
    )
