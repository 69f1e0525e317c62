"""AMD cards: what is asked of amd-smi (rocm-smi where it is absent) and how its answers become cards."""

from __future__ import annotations

from checks.accelerator.facts import Card, Cards, Counters, Platform, Question, Release, short_bdf
from checks.lexing import tree
from checks.parsers import (
    amd_smi_bad_pages,
    amd_smi_metric,
    amd_smi_partition,
    amd_smi_static,
    amd_smi_version,
    rocm_smi,
)
from checks.probe import Probe, UnreadableOutput

_LIMIT = 60.0
_UNITS = {"MB": 2**20, "GB": 2**30, "B": 1}
#: Retraining out of L0 is ordinary power management; only replays and rejected packets are errors of the link.
_LINK_ERRORS = frozenset({"replay_count", "replay_roll_over_count", "nak_sent_count", "nak_received_count"})


def _static(text: str) -> Cards:
    cards = amd_smi_static.parse(text)
    return Cards(
        tuple(
            Card(
                name=f"GPU {card.gpu}",
                bdf=short_bdf(card.bdf),
                model=card.market_name,
                driver=card.driver_version,
                firmware=card.firmware,
                firmware_part=card.firmware_part,
                memory=_bytes(card.vram, card.vram_unit),
                ecc=dict(card.ecc_blocks).get("UMC"),
                capable_speed=card.max_speed_gts,
                compute_partition=card.compute_partition,
                memory_partition=card.memory_partition,
            )
            for card in cards
            if not card.partition_id
        )
    )


def _metric(text: str) -> Cards:
    return Cards(
        tuple(
            Card(
                name=f"GPU {card.gpu}",
                memory=_bytes(card.memory_total, card.memory_unit),
                memory_used=_bytes(card.memory_used, card.memory_unit),
                uncorrectable=_uncorrectable(card),
                correctable=_errors(card, "correctable"),
                lanes=card.lanes,
                speed=card.speed_gts,
                link_errors=tuple(pair for pair in card.link_errors if pair[0] in _LINK_ERRORS),
                temperatures=(("hotspot", card.hotspot_c), ("memory", card.memory_c)),
                thermal=card.thermal,
            )
            for card in amd_smi_metric.parse(text)
        )
    )


def _errors(card: amd_smi_metric.MetricCard, kind: str) -> Counters:
    # The total must be told; blocks only add what a total of another scope may leave out.
    total: int | None = getattr(card, kind)
    blocks = ((f"{block.block} {kind}", getattr(block, kind)) for block in card.blocks)
    return ((f"{kind} ECC errors", total), *(pair for pair in blocks if pair[1]))


def _uncorrectable(card: amd_smi_metric.MetricCard) -> Counters:
    return _errors(card, "uncorrectable") + _errors(card, "deferred")


def _bad_pages(text: str) -> Cards:
    return Cards(
        tuple(
            Card(
                name=f"GPU {card.gpu}",
                bad_pages=tuple(
                    (f"{word} pages", None if pages is None else len(pages))
                    for word, pages in (
                        ("retired", card.retired), ("pending", card.pending), ("unreservable", card.unreservable),
                    )
                ),
            )
            for card in amd_smi_bad_pages.parse(text)
        )
    )  # fmt: skip


def _partition(text: str) -> Cards:
    return Cards(
        tuple(
            Card(name=f"GPU {card.gpu}", compute_partition=card.compute, memory_partition=card.memory)
            for card in amd_smi_partition.parse(text)
        )
    )


def _older(text: str) -> Cards:
    return Cards(
        tuple(
            Card(
                name=card.card,
                bdf=short_bdf(card.bdf),
                model=card.series,
                driver=card.driver,
                firmware_part=card.firmware,  # rocm-smi's "VBIOS version" is the part number
                memory=card.memory_total,
                memory_used=card.memory_used,
                link_errors=(("replay_count", card.replay_count),),
                temperatures=(("junction", card.hotspot_c), ("memory", card.memory_c)),
            )
            for card in rocm_smi.parse(text)
        )
    )


def _version(text: str) -> Release:
    return Release(amd_smi_version.parse(text).rocm)


def _installed(text: str) -> Release:
    found = tree(text)
    if len(found) != 1:
        raise UnreadableOutput(f"{len(found)} version files of ROCm, wanted one")
    return Release(next(iter(found.values())).strip() or None)


def _bytes(size: float | None, unit: str | None) -> int | None:
    return None if size is None or unit not in _UNITS else int(size * _UNITS[unit])


_STATIC = Probe("amd-smi-static", ("amd-smi", "static", "--json"), _static, limit=_LIMIT)
_METRIC = Probe("amd-smi-metric", ("amd-smi", "metric", "--json"), _metric, limit=_LIMIT)
_PAGES = Probe("amd-smi-bad-pages", ("amd-smi", "bad-pages", "--json"), _bad_pages, limit=_LIMIT)
_SPLIT = Probe("amd-smi-partition", ("amd-smi", "partition", "--current", "--json"), _partition, limit=_LIMIT)
_OLDER = Probe("rocm-smi", ("rocm-smi", "-a", "--json"), _older, limit=_LIMIT)

_VERSION = Probe("amd-smi-version", ("amd-smi", "version", "--json"), _version, limit=_LIMIT)
_INSTALLED = Probe("rocm-version", ("grep", "-Hs", "", "/opt/rocm/.info/version"), _installed)

PLATFORM = Platform(
    identity=Question((_STATIC,), otherwise=_OLDER),
    firmware=Question((_STATIC,), otherwise=_OLDER),
    ecc_mode=Question((_STATIC,)),
    ecc_errors=Question((_METRIC,)),
    bad_pages=Question((_PAGES,)),
    link=Question((_STATIC, _METRIC)),
    link_errors=Question((_METRIC,)),
    temperature=Question((_METRIC,), otherwise=_OLDER),
    throttle=Question((_METRIC,)),
    memory=Question((_METRIC,), otherwise=_OLDER),
    partition=Question((_STATIC,), otherwise=_SPLIT),
    runtime=_VERSION,
    runtime_otherwise=_INSTALLED,
)
