"""Ascend NPUs: the table of ``npu-smi info`` and its reports chip by chip; links from sysfs, CANN from its install record."""

from __future__ import annotations

from collections.abc import Callable

from checks.accelerator import pci
from checks.accelerator.facts import Card, Cards, Counters, Platform, Question, Release, short_bdf
from checks.lexing import integer, tree
from checks.parsers import npu_smi
from checks.parsers.npu_smi import Report
from checks.probe import Glob, Probe, UnreadableOutput

_LIMIT = 120.0

#: One report of every chip that the map lists (management chips have no logic id); ends with the status of npu-smi.
EACH = (
    'map=$(npu-smi info -m) || exit; printf "%s\\n" "$map" | while read -r npu chip logic name; do '
    'case $logic in [0-9]*) echo "npu-smi info -t $1 -i $npu -c $chip"; '
    'npu-smi info -t "$1" -i "$npu" -c "$chip" </dev/null || exit;; esac; done'
)
#: The same of every NPU, where the report is about the board and not about a chip.
_EACH_BOARD = (
    'map=$(npu-smi info -m) || exit; printf "%s\\n" "$map" | while read -r npu chip logic name; do '
    'case $chip:$logic in 0:[0-9]*) echo "npu-smi info -t $1 -i $npu"; '
    'npu-smi info -t "$1" -i "$npu" </dev/null || exit;; esac; done'
)


def _name(npu: int, chip: int) -> str:
    return f"NPU {npu} chip {chip}"


def _table(text: str) -> Cards:
    answer = npu_smi.parse(text)
    if answer.version is None:
        raise UnreadableOutput("no table with the version of npu-smi")
    return Cards(
        tuple(
            Card(
                name=_name(chip.npu, chip.chip),
                bdf=short_bdf(chip.bdf),
                model=chip.name,
                driver=answer.version,
                memory=None if chip.hbm_total_mb is None else chip.hbm_total_mb * 2**20,
                memory_used=None if chip.hbm_used_mb is None else chip.hbm_used_mb * 2**20,
                temperatures=(("chip", chip.temperature_c),),
                health=chip.health,
            )
            for chip in answer.table
        )
    )


def _ecc(text: str) -> Cards:
    return _reports(text, "HBM Double Bit Error Count", _ecc_card)


def _ecc_card(name: str, report: Report) -> Card:
    return Card(
        name=name,
        uncorrectable=_counters(report, "HBM Double Bit Error Count", "HBM Double Bit Aggregate Total Err Cnt"),
        correctable=_counters(report, "HBM Single Bit Error Count"),
        bad_pages=_counters(report, "HBM Double Bit Isolated Pages Count")
        + _counters(report, "HBM Double Bit Next-Isolated Pages Count", optional=True),
    )


def _counters(report: Report, *names: str, optional: bool = False) -> Counters:
    values = dict(report.entries)
    missing = [name for name in names if name not in values]
    if missing and not optional:
        raise UnreadableOutput(f"no {missing[0]!r} in the report")
    pairs = ((name, values[name]) for name in names if name in values)
    return tuple((name, None if value is None else integer(value, name)) for name, value in pairs)


def _board(text: str) -> Cards:
    return _reports(text, "Software Version", _board_card)


def _board_card(name: str, report: Report) -> Card:
    return Card(
        name=name,
        driver=report.get("Software Version"),
        firmware=report.get("Firmware Version"),
        compatibility=report.get("Compatibility"),
    )


def _reports(text: str, label: str, card: Callable[[str, Report], Card]) -> Cards:
    reports = npu_smi.parse(text).reports
    if not reports or any(report.npu is None or label not in dict(report.entries) for report in reports):
        raise UnreadableOutput(f"a report lacks its NPU or {label!r}")
    cards = tuple(
        card(_name(report.npu, chip), report) for report in reports if report.npu is not None for chip in _chips(report)
    )
    if len({entry.name for entry in cards}) != len(cards):
        raise UnreadableOutput("a chip is described twice")
    return Cards(cards)


def _chips(report: Report) -> range:
    if report.chip is not None:
        return range(report.chip, report.chip + 1)
    # A report on the board speaks for all of its chips.
    return range(min(integer(report.get("Chip Count") or "1", "Chip Count"), 16))


def _links(text: str) -> Cards:
    vendor, classes, _ = pci.MAKERS["ascend"]
    found = tuple(
        Card(name=entry.bdf, bdf=entry.bdf, lanes=entry.lanes, speed=entry.speed, capable_speed=entry.capable_speed)
        for entry in pci.bus(text).functions
        if entry.vendor == vendor and entry.device_class in classes
    )
    if not found:
        raise UnreadableOutput("no processing accelerator of Huawei on the PCI bus")
    return Cards(found)


def _cann(text: str) -> Release:
    versions = {
        line.partition("=")[2].strip()
        for path, value in tree(text).items()
        if path.endswith("/ascend_toolkit_install.info")
        for line in value.splitlines()
        if line.startswith("version=")
    }
    if len(versions) != 1:
        raise UnreadableOutput(f"{len(versions)} versions in the install record of the toolkit, wanted one")
    return Release(versions.pop() or None)


_INFO = Probe("npu-smi-info", ("npu-smi", "info"), _table, limit=_LIMIT)
_ECC = Probe("npu-smi-ecc", ("sh", "-c", EACH, "sh", "ecc"), _ecc, limit=_LIMIT)
_BOARD = Probe("npu-smi-board", ("sh", "-c", _EACH_BOARD, "sh", "board"), _board, limit=_LIMIT)

_LINKS = Probe("pci-links", pci.DUMP, _links, accepted=pci.SOME)
_CANN = Probe(
    "cann-version",
    ("grep", "-Hs", "", Glob("/usr/local/Ascend/ascend-toolkit/latest/*-linux/ascend_toolkit_install.info")),
    _cann,
)

PLATFORM = Platform(
    identity=Question((_INFO,)),
    firmware=Question((_BOARD,)),
    ecc_errors=Question((_ECC,)),
    bad_pages=Question((_ECC,)),
    link=Question((_LINKS,)),
    temperature=Question((_INFO,)),
    memory=Question((_INFO,)),
    health=Question((_INFO,)),
    runtime=_CANN,
)
