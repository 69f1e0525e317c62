"""``nvidia-smi -q``, ``-q -x`` or ``--query-gpu=... --format=csv``: what NVIDIA cards are, count and feel.

Seen: 515 (XML v11), 590 (text). The three forms are brought to one table of names; SRAM errors were one number before 5xx
drivers and are parity and SEC-DED since; ``Pending`` means something else under each heading, so full paths are used.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError

from defusedxml.ElementTree import fromstring

from checks.lexing import NOT_GIVEN, lines
from checks.outline import amount, count, outline
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "nvidia-smi"
_DEPRECATED = "Requested functionality has been deprecated"


@dataclass(frozen=True, slots=True)
class EccErrors:
    """One column of error counters; either ``sram_uncorrectable`` or its two parts are given."""

    sram_correctable: int | None
    sram_uncorrectable: int | None
    sram_parity: int | None
    sram_secded: int | None
    dram_correctable: int | None
    dram_uncorrectable: int | None


@dataclass(frozen=True, slots=True)
class NvidiaCard:
    """One card; memory in MiB, temperatures in degrees Celsius, times in microseconds; ``None`` = N/A or not printed."""

    bus_id: str
    name: str | None
    vbios: str | None
    recovery_action: str | None
    ecc_mode: str | None
    ecc_pending_mode: str | None
    mig_mode: str | None
    link_gen: int | None
    link_gen_max: int | None
    lanes: int | None
    lanes_max: int | None
    replays: int | None
    replay_rollovers: int | None
    memory_total_mib: int | None
    memory_used_mib: int | None
    temperature_c: float | None
    memory_temperature_c: float | None
    volatile: EccErrors
    aggregate: EccErrors
    sram_threshold_exceeded: str | None
    retired_single: int | None
    retired_double: int | None
    retired_pending: str | None
    remapped_correctable: int | None
    remapped_uncorrectable: int | None
    remapped_pending: str | None
    remapping_failure: str | None
    unrepairable_memory: str | None
    channel_repair_pending: str | None
    tpc_repair_pending: str | None
    hw_thermal_slowdown: str | None
    sw_thermal_slowdown: str | None
    hw_thermal_us: int | None
    sw_thermal_us: int | None
    fabric_state: str | None
    fabric_status: str | None


@dataclass(frozen=True, slots=True)
class NvidiaSmi:
    """The driver, the newest CUDA it offers (``None`` in the CSV form), how many cards it says it has, and the cards."""

    driver: str
    cuda: str | None
    attached: int | None
    cards: tuple[NvidiaCard, ...]


#: field -> (path in text, path in XML, name in CSV); alternatives of older and newer drivers stand in order.
_SAME: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "name": (("Product Name",), ("product_name",), ("name",)),
    "vbios": (("VBIOS Version",), ("vbios_version",), ("vbios_version",)),
    "recovery_action": (("GPU Recovery Action",), ("gpu_recovery_action",), ("gpu_recovery_action",)),
    "ecc_mode": (("ECC Mode/Current",), ("ecc_mode/current_ecc",), ("ecc.mode.current",)),
    "ecc_pending_mode": (("ECC Mode/Pending",), ("ecc_mode/pending_ecc",), ("ecc.mode.pending",)),
    "mig_mode": (("MIG Mode/Current",), ("mig_mode/current_mig",), ("mig.mode.current",)),
    "link_gen": (
        ("PCI/GPU Link Info/PCIe Generation/Current",),
        ("pci/pci_gpu_link_info/pcie_gen/current_link_gen",),
        ("pcie.link.gen.current", "pcie.link.gen.gpucurrent"),
    ),
    "link_gen_max": (
        ("PCI/GPU Link Info/PCIe Generation/Max",),
        ("pci/pci_gpu_link_info/pcie_gen/max_link_gen",),
        ("pcie.link.gen.max",),
    ),
    "lanes": (
        ("PCI/GPU Link Info/Link Width/Current",),
        ("pci/pci_gpu_link_info/link_widths/current_link_width",),
        ("pcie.link.width.current",),
    ),
    "lanes_max": (
        ("PCI/GPU Link Info/Link Width/Max",),
        ("pci/pci_gpu_link_info/link_widths/max_link_width",),
        ("pcie.link.width.max",),
    ),
    "replays": (("PCI/Replays Since Reset",), ("pci/replay_counter",), ()),
    "replay_rollovers": (("PCI/Replay Number Rollovers",), ("pci/replay_rollover_counter",), ()),
    "memory_total_mib": (("FB Memory Usage/Total",), ("fb_memory_usage/total",), ("memory.total",)),
    "memory_used_mib": (("FB Memory Usage/Used",), ("fb_memory_usage/used",), ("memory.used",)),
    "temperature_c": (("Temperature/GPU Current Temp",), ("temperature/gpu_temp",), ("temperature.gpu",)),
    "memory_temperature_c": (
        ("Temperature/Memory Current Temp",), ("temperature/memory_temp",), ("temperature.memory",),
    ),
    "sram_threshold_exceeded": (
        ("ECC Errors/Aggregate/SRAM Threshold Exceeded",),
        ("ecc_errors/aggregate/sram_threshold_exceeded",),
        ("ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",),
    ),
    "retired_single": (
        ("Retired Pages/Single Bit ECC",),
        ("retired_pages/multiple_single_bit_retirement/retired_count",),
        ("retired_pages.single_bit_ecc.count",),
    ),
    "retired_double": (
        ("Retired Pages/Double Bit ECC",),
        ("retired_pages/double_bit_retirement/retired_count",),
        ("retired_pages.double_bit.count",),
    ),
    "retired_pending": (
        ("Retired Pages/Pending Page Blacklist",),
        ("retired_pages/pending_blacklist", "retired_pages/pending_retirement"),
        ("retired_pages.pending",),
    ),
    "remapped_correctable": (
        ("Remapped Rows/Correctable Error",), ("remapped_rows/remapped_row_corr",), ("remapped_rows.correctable",),
    ),
    "remapped_uncorrectable": (
        ("Remapped Rows/Uncorrectable Error",), ("remapped_rows/remapped_row_unc",), ("remapped_rows.uncorrectable",),
    ),
    "remapped_pending": (
        ("Remapped Rows/Pending",), ("remapped_rows/remapped_row_pending",), ("remapped_rows.pending",),
    ),
    "remapping_failure": (
        ("Remapped Rows/Remapping Failure Occurred",),
        ("remapped_rows/remapped_row_failure",),
        ("remapped_rows.failure",),
    ),
    "unrepairable_memory": (("ECC Errors/Unrepairable Memory",), ("ecc_errors/unrepairable_memory",), ()),
    "channel_repair_pending": (("ECC Errors/Channel Repair Pending",), ("ecc_errors/channel_repair_pending",), ()),
    "tpc_repair_pending": (("ECC Errors/TPC Repair Pending",), ("ecc_errors/tpc_repair_pending",), ()),
    "hw_thermal_slowdown": (
        tuple(f"Clocks {word} Reasons/HW Slowdown/HW Thermal Slowdown" for word in ("Event", "Throttle")),
        tuple(f"clocks_{word}_reasons/clocks_{word}_reason_hw_thermal_slowdown" for word in ("event", "throttle")),
        tuple(f"clocks_{word}_reasons.hw_thermal_slowdown" for word in ("event", "throttle")),
    ),
    "sw_thermal_slowdown": (
        tuple(f"Clocks {word} Reasons/SW Thermal Slowdown" for word in ("Event", "Throttle")),
        tuple(f"clocks_{word}_reasons/clocks_{word}_reason_sw_thermal_slowdown" for word in ("event", "throttle")),
        tuple(f"clocks_{word}_reasons.sw_thermal_slowdown" for word in ("event", "throttle")),
    ),
    "hw_thermal_us": (
        ("Clocks Event Reasons Counters/HW Thermal Slowdown",),
        ("clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown",),
        ("clocks_event_reasons_counters.hw_thermal_slowdown",),
    ),
    "sw_thermal_us": (
        ("Clocks Event Reasons Counters/SW Thermal Slowdown",),
        ("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown",),
        ("clocks_event_reasons_counters.sw_thermal_slowdown",),
    ),
    "fabric_state": (("Fabric/State",), ("fabric/state",), ("fabric.state",)),
    "fabric_status": (("Fabric/Status",), ("fabric/status",), ("fabric.status",)),
}  # fmt: skip

#: field of EccErrors -> (text, XML, CSV words of error class and place)
_ERRORS = {
    "sram_correctable": ("SRAM Correctable", "sram_correctable", "corrected", "sram"),
    "sram_uncorrectable": ("SRAM Uncorrectable", "sram_uncorrectable", "uncorrected", "sram"),
    "sram_parity": ("SRAM Uncorrectable Parity", "sram_uncorrectable_parity", "uncorrected", "sram.parity"),
    "sram_secded": ("SRAM Uncorrectable SEC-DED", "sram_uncorrectable_secded", "uncorrected", "sram.secded"),
    "dram_correctable": ("DRAM Correctable", "dram_correctable", "corrected", "dram"),
    "dram_uncorrectable": ("DRAM Uncorrectable", "dram_uncorrectable", "uncorrected", "dram"),
}
_COUNTS = frozenset(
    {"link_gen", "link_gen_max", "replays", "replay_rollovers", "retired_single", "retired_double"}
    | {"remapped_correctable", "remapped_uncorrectable"}
)
_AMOUNTS = {
    "lanes": (), "lanes_max": (), "memory_total_mib": ("MiB",), "memory_used_mib": ("MiB",), "temperature_c": ("C",),
    "memory_temperature_c": ("C",), "hw_thermal_us": ("us",), "sw_thermal_us": ("us",),
}  # fmt: skip


def parse(text: str) -> NvidiaSmi:
    """Read whichever of the three forms this is; driver version and every card's bus id must be there."""
    if text.lstrip().startswith("<"):
        return _from_xml(text)
    if "NVSMI LOG" in text:
        return _from_text(text)
    return _from_csv(text)


def _card(bus_id: str | None, values: Mapping[str, str], form: int) -> NvidiaCard:
    if bus_id is None or re.fullmatch(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]", bus_id) is None:
        raise UnreadableOutput(f"found bus id {str(bus_id)[:40]!r} of a card")
    fields: dict[str, object] = {}
    for field, forms in _SAME.items():
        value = next((values[name] for name in forms[form] if name in values), None)
        if value is None or value in NOT_GIVEN or value == _DEPRECATED:
            fields[field] = None
        elif field in _COUNTS:
            fields[field] = count(value, field)
        elif field in _AMOUNTS:
            fields[field] = amount(re.sub(r"(?<=\d)x$", "", value), field, *_AMOUNTS[field])
        else:
            fields[field] = value
    columns = (("Volatile", "volatile"), ("Aggregate", "aggregate"))
    errors = {xml: _errors(values, form, heading, xml) for heading, xml in columns}
    return NvidiaCard(bus_id=bus_id, **fields, **errors)  # type: ignore[arg-type]


def _errors(values: Mapping[str, str], form: int, heading: str, column: str) -> EccErrors:
    found: dict[str, int | None] = {}
    for field, (text, xml, kind, place) in _ERRORS.items():
        names = (f"ECC Errors/{heading}/{text}", f"ecc_errors/{column}/{xml}", f"ecc.errors.{kind}.{column}.{place}")
        found[field] = count(values.get(names[form]), f"{column} {field}")
    return EccErrors(**found)


def _from_text(text: str) -> NvidiaSmi:
    heads: dict[str, str] = {}
    cards: list[tuple[str, dict[str, str]]] = []
    for path, value in outline(text):
        if len(path) == 1 and (found := re.fullmatch(r"GPU (\S+)", path[0])):
            cards.append((found[1], {}))
        elif len(path) == 1:
            heads.setdefault(path[0], value)
        elif cards and path[0].startswith("GPU "):
            name = "/".join(path[1:])
            if value and cards[-1][1].setdefault(name, value) != value:
                raise UnreadableOutput(f"{name!r} stands twice with different values")
    return _all(heads.get("Driver Version"), heads.get("CUDA Version"), heads.get("Attached GPUs"), cards, 0)


def _from_xml(text: str) -> NvidiaSmi:
    try:
        root = fromstring(text)
    except (ParseError, ValueError) as error:  # ValueError: forbidden entities, lone surrogates
        raise UnreadableOutput(f"XML cannot be read: {error}") from None
    cards = [(card.get("id") or "", dict(_leaves(card, ""))) for card in root.findall("gpu")]
    driver, cuda, attached = (root.findtext(name) for name in ("driver_version", "cuda_version", "attached_gpus"))
    return _all(driver, cuda, attached, cards, 1)


def _leaves(node: Element, path: str) -> Iterator[tuple[str, str]]:
    for child in node:
        name = f"{path}{child.tag}"
        if len(child):
            if name.count("/") < 8:
                yield from _leaves(child, f"{name}/")
        else:
            yield name, (child.text or "").strip()


def _from_csv(text: str) -> NvidiaSmi:
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines(text)) if row]
    except csv.Error as error:
        raise UnreadableOutput(f"CSV cannot be read: {error}") from None
    names = [name.partition(" [")[0] for name in rows[0]] if rows else []
    if not {"pci.bus_id", "driver_version"} <= set(names) or len(set(names)) != len(names):
        raise UnreadableOutput(
            f"found {text.strip()[:80]!r}, wanted XML, a log, or CSV with pci.bus_id, driver_version"
        )
    if any(len(row) != len(names) for row in rows):
        raise UnreadableOutput("a CSV row has another number of cells than the heading")
    cards = [dict(zip(names, row, strict=True)) for row in rows[1:]]
    drivers = {card["driver_version"] for card in cards}
    if len(drivers) != 1:
        raise UnreadableOutput(f"{len(drivers)} driver versions in one output")
    return _all(drivers.pop(), None, None, [(card["pci.bus_id"], card) for card in cards], 2)


def _all(
    driver: str | None, cuda: str | None, attached: str | None, cards: list[tuple[str, dict[str, str]]], form: int
) -> NvidiaSmi:
    if not driver or driver in NOT_GIVEN:
        raise UnreadableOutput("no driver version in the output of nvidia-smi")
    found = tuple(_card(bus_id, values, form) for bus_id, values in cards)
    if len({card.bus_id for card in found}) != len(found):
        raise UnreadableOutput("a card is described twice")
    number = count(attached, "Attached GPUs")
    if number is not None and number != len(found):
        raise UnreadableOutput(f"{number} cards attached but {len(found)} described: the output is not whole")
    return NvidiaSmi(driver, None if not cuda or cuda in NOT_GIVEN else cuda, number, found)
