"""ECN and DCQCN settings of a RoCE port: a ``grep -Hs ''`` dump of sysfs and debugfs, or the report of ``rdma-qos.sh q``.

Seen: MLNX_OFED sysfs (``/sys/class/net/IF/ecn/roce_np|roce_rp/...``, ``/sys/class/infiniband/DEV/tc/N/traffic_class``), the inbox
mlx5 driver (``/sys/kernel/debug/mlx5/BDF/cc_params/...``: no switch a priority) and bnxt_re (``.../bnxt_re/BDF/cc_config/...``).
``traffic_class`` and ``cma_roce_tos`` hold the TOS byte: DSCP times 4. The report prints ``path = value`` after its own words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines, tree
from checks.probe import UnreadableOutput

COMMAND = "rdma-qos"

_ENABLE = re.compile(r"/sys/class/net/[\w.-]+/ecn/roce_(np|rp)/enable/([0-7])", re.ASCII)
_OFED = re.compile(r"/sys/class/net/[\w.-]+/ecn/(roce_(?:np|rp)/\w+)", re.ASCII)
_DEBUG = re.compile(r"/sys/kernel/debug/(?:mlx5|bnxt_re)/[\w.:]+/(c\w+/\w+)", re.ASCII)
_CLASS = re.compile(r"/sys/class/infiniband/[\w.-]+/tc/\d{1,2}/traffic_class", re.ASCII)
_REPORT = re.compile(r"(?:ECN Enabled for priority [0-7]|QOS for \w+): (/\S+) = (.*)", re.ASCII)
_EIGHT = re.compile(r"(priority|enabled|buffer):?((?:\s+\d){8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class EcnSwitch:
    """Whether one side (``np`` notifies, ``rp`` reacts) uses ECN on one priority."""

    side: str
    priority: int
    on: bool


@dataclass(frozen=True, slots=True)
class RdmaQos:
    """What the dump says; None or empty is what it does not hold. ``settings`` are DCQCN figures by their file name."""

    switches: tuple[EcnSwitch, ...]
    settings: dict[str, int]
    traffic_class: int | None
    cma_tos: int | None
    trust: str | None
    pfc: tuple[int, ...] | None


def parse(text: str) -> RdmaQos:
    """Read the dump or the report; nothing about ECN, DCQCN or the traffic class in it is refused."""
    words: dict[str, str] = {}
    files = tree(text) if text.startswith("/") else _report(text, words)
    switches: list[EcnSwitch] = []
    settings: dict[str, int] = {}
    traffic_class: int | None = None
    for path, value in files.items():
        if switch := _ENABLE.fullmatch(path):
            if value not in ("0", "1"):
                raise UnreadableOutput(f"{path} is {value[:40]!r}, wanted 0 or 1")
            switches.append(EcnSwitch(switch[1], int(switch[2]), value == "1"))
        elif setting := _OFED.fullmatch(path) or _DEBUG.fullmatch(path):
            settings[setting[1]] = integer(value, path)
        elif _CLASS.fullmatch(path) and traffic_class is None:
            traffic_class = _traffic_class(value)
        else:
            raise UnreadableOutput(f"found {path[:80]!r}, which is no file about ECN or the traffic class")
    if not switches and not settings and traffic_class is None:
        raise UnreadableOutput("neither ECN nor DCQCN nor a traffic class in the output")
    if len({(item.side, item.priority) for item in switches}) != len(switches):
        raise UnreadableOutput("files of two ports in one dump")
    tos = words.get("cma_roce_tos")
    bits = words.get("enabled")
    return RdmaQos(
        switches=tuple(switches),
        settings=settings,
        traffic_class=traffic_class,
        cma_tos=None if tos is None else integer(tos, "cma_roce_tos"),
        trust=words.get("Priority trust state"),
        pfc=None if bits is None else tuple(n for n, bit in enumerate(bits.split()) if bit == "1"),
    )


def _traffic_class(value: str) -> int | None:
    if not value.strip():
        return None  # never set: the file is empty
    found = re.fullmatch(r"(?:Global )?tclass=(\d{1,3})", value.strip(), re.ASCII)
    if found is None or int(found[1]) > 255:
        raise UnreadableOutput(f"traffic_class is {value[:40]!r}, wanted 'Global tclass=106'")
    return int(found[1])


def _report(text: str, words: dict[str, str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for line in lines(text):
        row = line.strip()
        if found := _REPORT.fullmatch(row):
            _once(files, found[1], found[2])
        elif eight := _EIGHT.fullmatch(row):
            _once(words, eight[1], eight[2])
        elif found := re.fullmatch(r"(Priority trust state|cma_roce_tos): (\w+)", row, re.ASCII):
            _once(words, found[1], found[2])
        elif row and row != "PFC configuration:" and not row.startswith("======== show configuration for device "):
            raise UnreadableOutput(f"found {row[:80]!r}, which is no line of the report")
    if "enabled" in words and (
        words.get("priority", "").split() != list("01234567") or set(words["enabled"].split()) - {"0", "1"}
    ):
        raise UnreadableOutput("the PFC table has no row priority 0..7, or enabled is not 0 or 1")
    return files


def _once(table: dict[str, str], key: str, value: str) -> None:
    if key in table:
        raise UnreadableOutput(f"{key[:80]!r} stands twice")
    table[key] = value
