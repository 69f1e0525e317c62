"""``amd-smi metric [--json]``: what a card counts and feels: temperatures, link, ECC, memory in use, throttling.

Seen: ROCm 6.1 JSON (bare list), 6.1.2 text (ECC blocks), 7.2 JSON (``gpu_data``). Which sections stand there depends on
the options and the card; what is absent or N/A is ``None``. Throttle accumulators are ticks since the driver loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.outline import amount, card_records, count, part, word

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "amd-smi-metric"

#: Errors that a link recovers from; ``lc_perf_other_end_recovery`` gained ``_count`` in 7.x and moves on healthy links.
_LINK = ("replay_count", "replay_roll_over_count", "nak_sent_count", "nak_received_count", "l0_to_recovery_count")
_THERMAL = ("prochot", "socket_thermal", "vr_thermal", "hbm_thermal")


@dataclass(frozen=True, slots=True)
class BlockErrors:
    """ECC errors of one block of the card."""

    block: str
    correctable: int | None
    uncorrectable: int | None
    deferred: int | None


@dataclass(frozen=True, slots=True)
class MetricCard:
    """One card. Temperatures in degrees Celsius, memory in ``memory_unit`` (MB = 2^20 bytes), throttle counts in ticks."""

    gpu: int
    edge_c: float | None
    hotspot_c: float | None
    memory_c: float | None
    lanes: int | None
    speed_gts: float | None
    link_errors: tuple[tuple[str, int | None], ...]
    correctable: int | None
    uncorrectable: int | None
    deferred: int | None
    cache_correctable: int | None
    cache_uncorrectable: int | None
    blocks: tuple[BlockErrors, ...]
    memory_total: float | None
    memory_used: float | None
    memory_unit: str | None
    throttle_status: str | None
    ticks: int | None
    thermal: tuple[tuple[str, int | None], ...]
    power_capped: int | None


def parse(text: str) -> tuple[MetricCard, ...]:
    """Read all cards."""
    return tuple(_card(gpu, record) for gpu, record in card_records(text))


def _card(gpu: int, record: dict[str, Any]) -> MetricCard:
    total = part(record, "mem_usage", "total_vram")
    return MetricCard(
        gpu=gpu,
        edge_c=_celsius(record, "edge"),
        hotspot_c=_celsius(record, "hotspot"),
        memory_c=_celsius(record, "mem"),
        lanes=count(part(record, "pcie", "width"), "pcie.width"),
        speed_gts=amount(part(record, "pcie", "speed"), "pcie.speed", "GT/s"),
        link_errors=tuple(
            (name, count(part(record, "pcie", name), f"pcie.{name}"))
            for name in _LINK
            if part(record, "pcie", name) is not None
        ),
        correctable=_ecc(record, "total_correctable_count"),
        uncorrectable=_ecc(record, "total_uncorrectable_count"),
        deferred=_ecc(record, "total_deferred_count"),
        cache_correctable=_ecc(record, "cache_correctable_count"),
        cache_uncorrectable=_ecc(record, "cache_uncorrectable_count"),
        blocks=_blocks(part(record, "ecc_blocks")),
        memory_total=amount(total, "mem_usage.total_vram"),
        memory_used=amount(part(record, "mem_usage", "used_vram"), "mem_usage.used_vram"),
        memory_unit=_unit(total),
        throttle_status=word(part(record, "power", "throttle_status"), "power.throttle_status"),
        ticks=_tick(record, "accumulation_counter"),
        thermal=tuple(
            (name, _tick(record, f"{name}_accumulated"))
            for name in _THERMAL
            if part(record, "throttle", f"{name}_accumulated") is not None
        ),
        power_capped=_tick(record, "ppt_accumulated"),
    )


def _celsius(record: dict[str, Any], sensor: str) -> float | None:
    return amount(part(record, "temperature", sensor), f"temperature.{sensor}", "C", "°C")


def _ecc(record: dict[str, Any], name: str) -> int | None:
    return count(part(record, "ecc", name), f"ecc.{name}")


def _tick(record: dict[str, Any], name: str) -> int | None:
    return count(part(record, "throttle", name), f"throttle.{name}")


def _blocks(blocks: Any) -> tuple[BlockErrors, ...]:
    if not isinstance(blocks, dict):
        return ()
    return tuple(
        BlockErrors(
            name.upper(),
            count(part(errors, "correctable_count"), f"{name}.correctable_count"),
            count(part(errors, "uncorrectable_count"), f"{name}.uncorrectable_count"),
            count(part(errors, "deferred_count"), f"{name}.deferred_count"),
        )
        for name, errors in blocks.items()
        if isinstance(errors, dict)
    )


def _unit(total: Any) -> str | None:
    if isinstance(total, dict):
        return word(total.get("unit"), "mem_usage unit")
    return total.split()[1] if isinstance(total, str) and len(total.split()) == 2 else None
