"""What an array keeps in its memory is not read from its disks: the bound, one byte beside it, and what is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.block.memory import ArrayMemory, beyond, from_its_disks, if_told, stated
from checks.phrase import say
from checks.verdict import Outcome, Verdict

GB, GIB, MIB = 10**9, 2**30, 2**20
KNOWN, UNKNOWN, NONE = ArrayMemory(64 * GB), ArrayMemory(None), ArrayMemory(0)
EMPTIED, BARE = ArrayMemory(64 * GB, flushed=True), ArrayMemory(None, flushed=True)
PASS = Verdict.of(True, "7 GB/s", "6 GB/s", note=say("a remark"))


@pytest.mark.parametrize(
    ("memory", "factor", "wanted"),
    [
        (KNOWN, 2, 122071 * MIB), (KNOWN, 0.1, 16 * GIB), (UNKNOWN, 2, 16 * GIB), (EMPTIED, 2, 16 * GIB), (None, 2, 16 * GIB),
        (NONE, 2, 16 * GIB),
    ],
)  # fmt: skip
def test_a_working_set_exceeds_the_memory_that_is_known(memory: ArrayMemory | None, factor: float, wanted: int) -> None:
    found = beyond(16 * GIB, memory, factor)
    assert found == wanted
    assert memory is not KNOWN or factor < 1 or 0 <= found - 128 * GB < MIB


@pytest.mark.parametrize(
    ("size", "outcome"), [(64 * GB, Outcome.UNDECIDED), (64 * GB + 1, Outcome.PASS), (0, Outcome.UNDECIDED)]
)
def test_what_fits_the_memory_was_perhaps_measured_there(size: int, outcome: Outcome) -> None:
    found = from_its_disks(PASS, KNOWN, size)
    assert found.outcome is outcome
    assert ("measured the array's memory" in str(found.note)) is (outcome is Outcome.UNDECIDED)
    assert "a remark" in str(found.note)
    assert found.measured == PASS.measured


def test_what_is_too_slow_even_from_memory_stays_a_stop() -> None:
    found = from_its_disks(Verdict.of(False, "1 GB/s", "6 GB/s"), KNOWN, GB)
    assert found.outcome is Outcome.STOP
    assert "may have answered" in str(found.note)


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (KNOWN, "working set 128 GB, 2.0 times the array's memory of 64 GB"),
        (BARE, "the vendor empties the array's memory between rounds, as declared"),
        (EMPTIED, "the vendor empties the array's memory of 64 GB between rounds, as declared"),
        (NONE, "the array has no memory of its own, as declared"),
    ],
)
def test_every_verdict_says_how_it_stands_to_the_memory(memory: ArrayMemory, said: str) -> None:
    found = from_its_disks(PASS, memory, 128 * GB)
    assert found.outcome is Outcome.PASS
    assert said in str(found.note)


@pytest.mark.parametrize("size", [1, 10**18])
def test_where_nobody_tells_of_the_memory_nothing_passes_whatever_the_working_set(size: int) -> None:
    found = from_its_disks(PASS, UNKNOWN, size)
    assert found == if_told(PASS, UNKNOWN)
    assert found.outcome is Outcome.UNDECIDED
    assert found.measured == PASS.measured
    for words in ("not proven", "declare `cache` of the array's host", "a remark"):
        assert words in str(found.note)
    assert "not proven" in str(stated(UNKNOWN, size))


@pytest.mark.parametrize("outcome", [Outcome.STOP, Outcome.UNDECIDED])
def test_where_nobody_tells_of_the_memory_no_other_outcome_changes(outcome: Outcome) -> None:
    worse = replace(PASS, outcome=outcome)
    assert if_told(worse, UNKNOWN).outcome is outcome
    assert "not proven" in str(if_told(worse, UNKNOWN).note)


@pytest.mark.parametrize("memory", [KNOWN, NONE, EMPTIED, BARE, None])
def test_where_somebody_tells_of_the_memory_a_verdict_stays_as_it_is(memory: ArrayMemory | None) -> None:
    assert if_told(PASS, memory) is PASS


def test_a_mount_that_stands_on_no_array_is_judged_as_it_is() -> None:
    assert from_its_disks(PASS, None, 1) is PASS
