"""The plan: interleaved, shuffled, the same from the same seed; and which rounds may be taken out of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from checks.statistics.plan import Cause, Voided, interleaved, void_faults

ARMS = ("local", "array")


def test_every_round_has_both_arms_of_every_concurrency_next_to_each_other() -> None:
    slots = interleaved(ARMS, (8, 16, 32), 5, seed=42)
    assert [slot.place for slot in slots] == list(range(1, 31))
    for first, second in zip(slots[::2], slots[1::2], strict=True):
        assert (first.round, first.concurrency, first.prompts) == (second.round, second.concurrency, second.prompts)
        assert {first.arm, second.arm} == set(ARMS)
    assert Counter((slot.concurrency, slot.arm) for slot in slots) == dict.fromkeys(
        [(c, arm) for c in (8, 16, 32) for arm in ARMS], 5
    )


@pytest.mark.parametrize("seed", range(8))
def test_arms_go_a_b_b_a_within_each_concurrency(seed: int) -> None:
    for concurrency in (8, 16, 32):
        arms = [slot.arm for slot in interleaved(ARMS, (8, 16, 32), 6, seed) if slot.concurrency == concurrency]
        first, second = arms[0], arms[1]
        assert arms == [first, second, second, first] * 3


def test_no_two_pairs_share_their_prompts() -> None:
    slots = interleaved(ARMS, (8, 16, 32), 20, seed=1)
    assert len({slot.prompts for slot in slots}) == 60
    assert not {slot.prompts for slot in slots} & {slot.prompts for slot in interleaved(ARMS, (8, 16, 32), 20, seed=2)}


PLANNED = "a8 l8 a32 l32 a16 l16 l16 a16 l8 a8 l32 a32 a16 l16 a32 l32 a8 l8"


def test_a_seed_makes_the_same_plan_for_ever() -> None:
    slots = interleaved(ARMS, (8, 16, 32), 3, seed=2026)
    assert interleaved(ARMS, [32, 8, 16], 3, seed=2026) == slots
    shown = "".join(f"{slot.arm[0]}{slot.concurrency} " for slot in slots).strip()
    assert shown == PLANNED


def test_orders_and_beginners_differ_between_seeds() -> None:
    orders = {tuple(s.concurrency for s in interleaved(ARMS, (8, 16, 32), 1, seed)[::2]) for seed in range(60)}
    assert len(orders) == 6
    assert {interleaved(ARMS, (8,), 1, seed)[0].arm for seed in range(20)} == set(ARMS)


@pytest.mark.parametrize(
    "arms, concurrencies, rounds",
    [(("a", "a"), (8,), 1), (ARMS, (), 1), (ARMS, (8, 8), 1), (ARMS, (0,), 1), (ARMS, (8,), 0)],
)
def test_a_plan_that_is_none_is_refused(arms: tuple[str, str], concurrencies: tuple[int, ...], rounds: int) -> None:
    with pytest.raises(ValueError, match="wanted"):
        interleaved(arms, concurrencies, rounds, 1)


GOOD = Voided(round=2, concurrency=16, cause=Cause.THROTTLED, recorded=100, seen=101)


@pytest.mark.parametrize("seen, allowed", [(101, True), (None, True), (100, False), (99, False)])
def test_a_cause_counts_only_before_the_result_is_seen(seen: int | None, allowed: bool) -> None:
    assert (void_faults([replace(GOOD, seen=seen)], run=6) == ()) is allowed


@pytest.mark.parametrize(
    "voided, run, allowed", [(1, 5, True), (1, 4, False), (2, 10, True), (2, 9, False), (0, 0, True)]
)
def test_at_most_one_round_in_five_may_go(voided: int, run: int, allowed: bool) -> None:
    rounds = [replace(GOOD, round=number) for number in range(voided)]
    assert (void_faults(rounds, run) == ()) is allowed


def test_a_round_taken_out_twice_is_a_fault() -> None:
    assert "twice" in str(void_faults([GOOD, GOOD], run=20)[0])
