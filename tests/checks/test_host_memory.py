"""Memory of hosts at the bound, one step below and above, and with the fact missing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from checks.host import memory
from checks.parsers.dmidecode import Firmware, Module
from checks.parsers.meminfo import Memory
from checks.parsers.sysfs_edac import Controller, MemoryErrors
from checks.probe import Interval
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
DIMM = Module("A1", 64 * 2**20, 4800, 4800)
FIRMWARE = Firmware("Dell Inc.", "2.3.7", None, 2, (DIMM, replace(DIMM, locator="A2")))
ORDERED = 2 * 64 * 2**30


def usable(share: float, hugepages: int | None = 0) -> Memory:
    return Memory(math.ceil(ORDERED / 1024 * share), 1, hugepages, 2048)


@pytest.mark.parametrize(
    ("share", "firmware", "outcome"),
    [
        (0.97, FIRMWARE, PASS),
        (0.9699, FIRMWARE, STOP),
        (0.99, replace(FIRMWARE, modules=(DIMM,)), STOP),
        (0.99, replace(FIRMWARE, modules=(DIMM, DIMM, DIMM)), STOP),
        (0.99, replace(FIRMWARE, modules=()), UNDECIDED),
        (0.99, replace(FIRMWARE, modules=(DIMM, replace(DIMM, size_kib=None))), UNDECIDED),
    ],
)
def test_memory_adds_up_and_is_usable(share: float, firmware: Firmware, outcome: Outcome) -> None:
    assert memory.memory_ordered(usable(share), firmware, ORDERED, 0.97).outcome is outcome


@pytest.mark.parametrize(("ordered", "outcome"), [(2, PASS), (1, STOP), (3, STOP)])
def test_modules_are_as_many_as_ordered(ordered: int, outcome: Outcome) -> None:
    assert memory.modules_ordered(FIRMWARE, ordered).outcome is outcome


def test_no_slots_in_the_tables_is_not_no_modules() -> None:
    assert memory.modules_ordered(replace(FIRMWARE, slots=0, modules=()), 2).outcome is UNDECIDED
    assert memory.modules_at_speed(replace(FIRMWARE, modules=()), 4800).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("rated", "configured", "outcome"),
    [
        (4800, 4800, PASS),
        (5600, 4800, PASS),
        (4800, 4799, STOP),
        (5600, 5600, STOP),
        (4400, 4800, STOP),
        (None, 4800, UNDECIDED),
        (4800, None, UNDECIDED),
    ],
)
def test_every_module_runs_at_the_speed_ordered(rated: int | None, configured: int | None, outcome: Outcome) -> None:
    odd = Module("B1", 1, rated, configured)
    assert memory.modules_at_speed(replace(FIRMWARE, modules=(DIMM, odd)), 4800).outcome is outcome


def errors(*counts: tuple[int, int], boot: str = "b") -> MemoryErrors:
    return MemoryErrors(boot, tuple(Controller(f"mc{n}", ce, ue) for n, (ce, ue) in enumerate(counts)))


@pytest.mark.parametrize(("counts", "outcome"), [(((9, 0),), PASS), (((0, 0), (0, 1)), STOP), ((), UNDECIDED)])
def test_uncorrected_errors(counts: tuple[tuple[int, int], ...], outcome: Outcome) -> None:
    assert memory.no_uncorrected_memory_errors(errors(*counts), 0).outcome is outcome


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [(((10, 0), (10, 0)), PASS), (((0, 0), (11, 0)), STOP), (((9, 5),), PASS), ((), UNDECIDED)],
)
def test_corrected_errors_since_boot(counts: tuple[tuple[int, int], ...], outcome: Outcome) -> None:
    assert memory.few_corrected_memory_errors(errors(*counts), 10).outcome is outcome


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (errors((7, 0)), errors((7, 0)), PASS),
        (errors((7, 0)), errors((8, 0)), STOP),
        (errors((7, 0)), errors((6, 0)), UNDECIDED),
        (errors((7, 0), (3, 0)), errors((6, 0), (4, 0)), UNDECIDED),  # one of two backwards, their sum the same
        (errors((7, 0)), errors((7, 0), boot="c"), UNDECIDED),
        (errors(), errors(), UNDECIDED),
        (errors((7, 0)), errors((7, 0), (0, 0)), UNDECIDED),
    ],
)
def test_corrected_errors_count_by_difference(before: MemoryErrors, after: MemoryErrors, outcome: Outcome) -> None:
    assert memory.no_new_corrected_memory_errors(Interval(before, after, 5.0), 0).outcome is outcome


@pytest.mark.parametrize(("pages", "outcome"), [(8, PASS), (7, STOP), (9, STOP), (None, UNDECIDED)])
def test_huge_pages(pages: int | None, outcome: Outcome) -> None:
    assert memory.hugepages_reserved(usable(1, pages), 8).outcome is outcome


def test_only_a_host_whose_memory_nobody_counts_may_be_declared_instead() -> None:
    assert memory.no_uncorrected_memory_errors(errors(), 0).declarable
    assert memory.no_new_corrected_memory_errors(Interval(errors(), errors(), 5.0), 0).declarable
    assert not memory.no_new_corrected_memory_errors(Interval(errors(), errors((0, 0)), 5.0), 0).declarable


def test_what_a_virtual_machine_does_not_offer_a_person_may_answer() -> None:
    """No EDAC driver, no speed of a module, no slots: nobody can measure it there. One module of many is no such case."""
    silent = replace(DIMM, configured=None, rated=None)
    bare = replace(FIRMWARE, modules=(silent,))
    for verdict in (
        memory.few_corrected_memory_errors(errors(), 10),
        memory.no_uncorrected_memory_errors(errors(), 0),
        memory.modules_at_speed(bare, 4800),
        memory.modules_ordered(replace(FIRMWARE, slots=0, modules=()), 8),
    ):
        assert (verdict.outcome, verdict.declarable) == (UNDECIDED, True)
    assert not memory.modules_at_speed(replace(FIRMWARE, modules=(DIMM, silent)), 4800).declarable


def test_a_slow_module_stops_whatever_another_one_does_not_tell() -> None:
    slow, silent = replace(DIMM, configured=4400), replace(DIMM, configured=None)
    assert memory.modules_at_speed(replace(FIRMWARE, modules=(silent, slow)), 4800).outcome is STOP
