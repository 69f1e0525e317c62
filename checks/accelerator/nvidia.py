"""NVIDIA cards: one ``nvidia-smi -q -x`` answers nearly everything; fabric manager, GPUDirect Storage beside it."""

from __future__ import annotations

from checks.accelerator.facts import GTS, Card, Cards, Counters, Platform, Question, Release, short_bdf
from checks.parsers import gdscheck, nvidia_smi, systemctl_is_active
from checks.parsers.nvidia_smi import EccErrors, NvidiaCard
from checks.probe import Probe

_LIMIT = 60.0
_YES = {"Yes": 1, "No": 0}


def _cards(text: str) -> Cards:
    answer = nvidia_smi.parse(text)
    return Cards(tuple(_card(number, card, answer.driver) for number, card in enumerate(answer.cards)))


def _release(text: str) -> Release:
    return Release(nvidia_smi.parse(text).cuda)


def _card(number: int, card: NvidiaCard, driver: str) -> Card:
    return Card(
        name=f"GPU {number}",
        bdf=short_bdf(card.bus_id),
        model=card.name,
        driver=driver,
        firmware=card.vbios,
        memory=None if card.memory_total_mib is None else card.memory_total_mib * 2**20,
        memory_used=None if card.memory_used_mib is None else card.memory_used_mib * 2**20,
        ecc=_ecc(card),
        uncorrectable=_uncorrectable(card),
        correctable=(
            ("SRAM correctable", card.volatile.sram_correctable),
            ("DRAM correctable", card.volatile.dram_correctable),
        ),
        bad_pages=_bad_pages(card),
        lanes=card.lanes,
        speed=None if card.link_gen is None else GTS.get(card.link_gen),
        capable_speed=None if card.link_gen_max is None else GTS.get(card.link_gen_max),
        link_errors=(("replays", card.replays), ("replay rollovers", card.replay_rollovers)),
        temperatures=(("core", card.temperature_c),)
        + ((("memory", card.memory_temperature_c),) if card.memory_temperature_c is not None else ()),
        thermal=_given(("hardware thermal us", card.hw_thermal_us), ("software thermal us", card.sw_thermal_us)),
        slowed=_slowed(card),
        health=card.recovery_action,
        fabric_state=card.fabric_state,
        fabric_status=card.fabric_status,
    )


def _ecc(card: NvidiaCard) -> str | None:
    # A mode that waits for the next reset is the one that the rack will run with.
    return "Disabled" if card.ecc_pending_mode == "Disabled" else card.ecc_mode


def _uncorrectable(card: NvidiaCard) -> Counters:
    found = _column("volatile", card.volatile) + _column("aggregate", card.aggregate)
    return found + _given(("SRAM threshold exceeded", _flag(card.sram_threshold_exceeded)))


def _column(name: str, errors: EccErrors) -> Counters:
    # Drivers to 5xx print one SRAM number, later ones its two parts; one of the two forms must be whole.
    parts = (("SRAM parity", errors.sram_parity), ("SRAM SEC-DED", errors.sram_secded))
    whole = (("SRAM uncorrectable", errors.sram_uncorrectable),)
    sram = whole if errors.sram_parity is None and errors.sram_secded is None else parts
    return tuple(
        (f"{name} {place}", value) for place, value in (*sram, ("DRAM uncorrectable", errors.dram_uncorrectable))
    )


def _bad_pages(card: NvidiaCard) -> Counters:
    rows = (
        ("rows remapped for uncorrectable errors", card.remapped_uncorrectable),
        ("row remapping pending", _flag(card.remapped_pending)),
        ("row remapping failed", _flag(card.remapping_failure)),
    )
    pages = (
        ("pages retired for single-bit errors", card.retired_single),
        ("pages retired for double-bit errors", card.retired_double),
        ("page retirement pending", _flag(card.retired_pending)),
    )
    # A card either remaps rows (Ampere and later) or retires pages; the other group is N/A as a whole.
    told = tuple(pair for group in (rows, pages) if any(value is not None for _, value in group) for pair in group)
    repairs = _given(
        ("unrepairable memory", _flag(card.unrepairable_memory)),
        ("channel repair pending", _flag(card.channel_repair_pending)),
        ("TPC repair pending", _flag(card.tpc_repair_pending)),
    )
    return told + repairs if told else ()


def _flag(word: str | None) -> int | None:
    return _YES.get(word) if word is not None else None


def _given(*counters: tuple[str, int | None]) -> Counters:
    return tuple(pair for pair in counters if pair[1] is not None)


def _slowed(card: NvidiaCard) -> str | None:
    words = (card.hw_thermal_slowdown, card.sw_thermal_slowdown)
    if "Active" in words:
        return "hardware thermal slowdown" if words[0] == "Active" else "software thermal slowdown"
    return "no" if words == ("Not Active", "Not Active") else None


def service(unit: str) -> Probe[systemctl_is_active.UnitState]:
    """Ask systemd whether a unit runs; an absent unit is an answer, not an error."""
    words = ("systemctl", "show", "--property=LoadState,ActiveState,SubState", unit)
    return Probe("systemctl-is-active", words, systemctl_is_active.parse)


_XML = Probe("nvidia-smi", ("nvidia-smi", "-q", "-x"), _cards, limit=_LIMIT)
_TEXT = Probe("nvidia-smi-text", ("nvidia-smi", "-q"), _cards, limit=_LIMIT)
_ALL = Question((_XML,), otherwise=_TEXT)

_CUDA = Probe("nvidia-smi-cuda", ("nvidia-smi", "-q", "-x"), _release, limit=_LIMIT)
_CUDA_TEXT = Probe("nvidia-smi-text-cuda", ("nvidia-smi", "-q"), _release, limit=_LIMIT)

PLATFORM = Platform(
    identity=_ALL,
    firmware=_ALL,
    ecc_mode=_ALL,
    ecc_errors=_ALL,
    bad_pages=_ALL,
    link=_ALL,
    link_errors=_ALL,
    temperature=_ALL,
    throttle=_ALL,
    memory=_ALL,
    fabric=_ALL,
    health=_ALL,
    runtime=_CUDA,
    runtime_otherwise=_CUDA_TEXT,
)
FABRIC_MANAGER = service("nvidia-fabricmanager.service")
GDS = Probe("gdscheck", ("/usr/local/cuda/gds/tools/gdscheck", "-p"), gdscheck.parse, limit=_LIMIT)
GDS_OTHERWISE = Probe("gdscheck-py", ("/usr/local/cuda/gds/tools/gdscheck.py", "-p"), gdscheck.parse, limit=_LIMIT)
