"""``amd-smi static [--json]``: what a card is: model, bus capability, firmware, driver, memory, RAS, partition.

Seen: ROCm 7.x text. Firmware stands under ``ifwi`` (7.x) or ``vbios`` (6.x); the compute partition is called
``compute_partition`` (6.x) or ``accelerator_partition`` (7.x); ECC block states are a table or a list of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.outline import amount, card_records, count, part, word
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "amd-smi-static"


@dataclass(frozen=True, slots=True)
class StaticCard:
    """One card; ``None`` where this call or version says nothing or N/A. ``vram`` is in ``vram_unit`` (MB = 2^20 bytes)."""

    gpu: int
    bdf: str | None
    market_name: str | None
    max_lanes: int | None
    max_speed_gts: float | None
    pcie_version: str | None
    firmware: str | None
    firmware_part: str | None
    driver_name: str | None
    driver_version: str | None
    vram: float | None
    vram_unit: str | None
    compute_partition: str | None
    memory_partition: str | None
    partition_id: int | None
    ecc_blocks: tuple[tuple[str, str], ...]
    bad_page_threshold: int | None
    bad_page_threshold_exceeded: str | None


def parse(text: str) -> tuple[StaticCard, ...]:
    """Read all cards."""
    return tuple(_card(gpu, record) for gpu, record in card_records(text))


def _card(gpu: int, record: dict[str, Any]) -> StaticCard:
    firmware = "ifwi" if isinstance(record.get("ifwi"), dict) else "vbios"
    size = part(record, "vram", "size")
    return StaticCard(
        gpu=gpu,
        bdf=word(part(record, "bus", "bdf"), "bus.bdf"),
        market_name=word(part(record, "asic", "market_name"), "asic.market_name"),
        max_lanes=count(part(record, "bus", "max_pcie_width"), "bus.max_pcie_width"),
        max_speed_gts=amount(part(record, "bus", "max_pcie_speed"), "bus.max_pcie_speed", "GT/s"),
        pcie_version=word(part(record, "bus", "pcie_interface_version"), "bus.pcie_interface_version"),
        firmware=word(part(record, firmware, "version"), f"{firmware}.version"),
        firmware_part=word(part(record, firmware, "part_number"), f"{firmware}.part_number"),
        driver_name=_either(record, "driver", "name", "driver_name"),
        driver_version=_either(record, "driver", "version", "driver_version"),
        vram=amount(size, "vram.size"),
        vram_unit=_unit(size),
        compute_partition=_either(record, "partition", "accelerator_partition", "compute_partition"),
        memory_partition=_either(record, "partition", "memory_partition"),
        partition_id=count(part(record, "partition", "partition_id"), "partition.partition_id"),
        ecc_blocks=_blocks(part(record, "ras", "ecc_block_state")),
        bad_page_threshold=count(part(record, "ras", "bad_page_threshold"), "ras.bad_page_threshold"),
        bad_page_threshold_exceeded=word(
            part(record, "ras", "bad_page_threshold_exceeded"), "ras.bad_page_threshold_exceeded"
        ),
    )


def _either(record: dict[str, Any], section: str, *names: str) -> str | None:
    values = (word(part(record, section, name), f"{section}.{name}") for name in names)
    return next((value for value in values if value is not None), None)


def _unit(size: Any) -> str | None:
    if isinstance(size, dict):
        return word(size.get("unit"), "vram.size unit")
    return size.split()[1] if isinstance(size, str) and len(size.split()) == 2 else None


def _blocks(states: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(states, dict):
        pairs = list(states.items())
    elif isinstance(states, list):
        pairs = [(part(entry, "block"), part(entry, "status")) for entry in states if isinstance(entry, dict)]
    else:
        return ()
    if not all(isinstance(name, str) and isinstance(state, str) for name, state in pairs):
        raise UnreadableOutput(f"ras.ecc_block_state is {str(states)[:60]!r}, wanted block names and words")
    return tuple((name.upper(), state) for name, state in pairs)
