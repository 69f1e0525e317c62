"""The G3 judge at its bounds: value, rounding, interval, validity before value, every concurrency, baseline, recompute."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from checks.phrase import say
from checks.serving import comparison, criteria
from checks.serving.cells import Cell, Pair, Rules, cell
from checks.statistics.plan import Cause, Voided
from checks.verdict import Outcome, Verdict
from tests.serving.load import planned, run
from tests.serving.rounds import BAD, RULES, pairs, with_throughput

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED


@pytest.mark.parametrize(
    "percent, decimals, outcome",
    [
        ("25", None, PASS), ("24.999999999", None, STOP), ("24.99", None, STOP), ("25.01", None, PASS), ("-3", None, STOP),
        ("24.5", 0, PASS), ("24.49", 0, STOP), ("92.07", None, PASS),
    ],
)  # fmt: skip
def test_a_drop_at_its_bound(percent: str, decimals: int | None, outcome: Outcome) -> None:
    assert criteria.drop(Decimal(percent), 25, decimals).outcome is outcome


@pytest.mark.parametrize(
    "percent, decimals, outcome",
    [
        ("28.93", 0, PASS), ("28.5", 0, PASS), ("28.49", 0, STOP), ("28.93", None, STOP), ("29", None, PASS),
        ("40.49", 0, PASS), ("40.5", 0, UNDECIDED), ("40", None, PASS), ("40.01", None, UNDECIDED),
        ("1726.8", 0, UNDECIDED), ("-5", 0, STOP), ("0", 0, STOP),
    ],
)  # fmt: skip
def test_a_gain_at_both_edges_of_the_band(percent: str, decimals: int | None, outcome: Outcome) -> None:
    assert criteria.gain(Decimal(percent), 29, 40, decimals).outcome is outcome


def test_a_value_next_to_its_limit_never_looks_like_it() -> None:
    assert str(criteria.drop(Decimal("24.999"), 25).measured) == "-24.9990 %"
    assert str(criteria.drop(Decimal("24.9999999"), 25).measured) == "-24.999999900 %"
    assert str(criteria.drop(Decimal(25), 25).measured) == "-25.00 %"
    assert str(criteria.gain(Decimal("40.001"), 29, 40, None).measured) == "+40.0010 %"


def test_above_the_band_it_says_where_to_look() -> None:
    verdict = criteria.gain(Decimal("41.2"), 29, 40)
    assert "weak baseline" in str(verdict.note)
    assert str(verdict.measured) == "+41.20 %, printed as +41 %"


@pytest.mark.parametrize("ratio, outcome", [(0.70, PASS), (0.80, STOP), (1.1, STOP), (0.3, PASS)])
def test_a_clear_drop_is_told(ratio: float, outcome: Outcome) -> None:
    verdict = criteria.ttft_drop(pairs(ttft=ratio), RULES, least=25)
    assert verdict.outcome is outcome
    assert verdict.note is None
    told = float(str(verdict.measured).split(" %")[0])
    assert told == pytest.approx((ratio - 1) * 100, abs=0.6)
    low, high = (q.value for q in verdict.quantities if q.name.startswith("interval"))
    assert low < told < high
    assert {quantity.name for quantity in verdict.quantities} >= {
        "ratio",
        "interval low",
        "interval high",
        "pooled ratio",
    }


def test_the_drop_and_its_interval_are_what_the_rounds_give() -> None:
    rounds = pairs(ttft=0.74)
    found = comparison.ttft(rounds, RULES)
    ratios = [
        pair.array.figures.ttft_p50 / pair.local.figures.ttft_p50
        for pair in rounds
        if pair.array.figures is not None and pair.local.figures is not None
    ]
    assert list(found.ratios) == pytest.approx(ratios)
    assert found.ratio == pytest.approx(math.prod(ratios) ** (1 / 5))
    assert found.interval.low < found.ratio < found.interval.high
    assert found.pooled == pytest.approx(found.ratio, rel=0.01)


def test_a_ratio_whose_interval_holds_the_limit_is_marginal_and_still_decided() -> None:
    verdict = criteria.ttft_drop(pairs(ttft=0.7502), RULES, least=25)
    assert verdict.outcome is PASS
    assert "marginal: the interval holds the limit -25 %" in str(verdict.note)


def test_a_wide_interval_decides_nothing_and_says_how_many_rounds_would() -> None:
    verdict = criteria.ttft_drop(pairs(ttft=0.60), replace(RULES, width_points=0.5), least=25)
    assert verdict.outcome is UNDECIDED
    assert "points wide, at most 0.5 decide: about" in str(verdict.note)
    assert criteria.ttft_drop(pairs(ttft=0.60), replace(RULES, width_points=10), least=25).outcome is PASS


@pytest.mark.parametrize(
    "ratio, outcome",
    [(1.2801, STOP), (1.2899, PASS), (1.35, PASS), (1.4040, PASS), (1.41, UNDECIDED), (18.3, UNDECIDED), (0.9, STOP)],
)
def test_throughput_against_the_band(ratio: float, outcome: Outcome) -> None:
    verdict = criteria.throughput_gain(pairs(throughput=ratio), RULES, low=29, high=40)
    assert verdict.outcome is outcome, str(verdict.note)


def test_above_the_band_stays_undecided_though_it_is_marginal_too() -> None:
    rounds = list(pairs(throughput=1.40))
    odd = pairs(throughput=1.415)
    mixed = [odd[i] if i % 2 else rounds[i] for i in range(5)]
    verdict = criteria.throughput_gain(mixed, RULES, low=29, high=40)
    assert verdict.outcome is UNDECIDED
    assert "weak baseline" in str(verdict.note)
    assert "marginal" in str(verdict.note)


@pytest.mark.parametrize(
    "ratio, marginal", [(1.2855, True), (1.2893, False), (1.30, False), (1.4045, True), (1.40, False), (1.3999, False)]
)
def test_a_gain_is_marginal_where_the_rounded_verdict_turns(ratio: float, marginal: bool) -> None:
    rounds = [
        replace(pair, array=with_throughput(pair.array.figures, pair.local.figures.throughput * (ratio + shift)))
        for pair, shift in zip(pairs(), (-0.002, 0.002, 0.0, -0.001, 0.001), strict=True)
        if pair.array.figures is not None and pair.local.figures is not None
    ]
    verdict = criteria.throughput_gain(rounds, RULES, low=29, high=40)
    assert verdict.outcome is PASS
    assert ("marginal" in str(verdict.note)) is marginal, str(verdict.measured)


Judge = Callable[[tuple[Pair, ...]], Verdict]
JUDGES: list[Judge] = [
    lambda rounds: criteria.ttft_drop(rounds, RULES, least=25),
    lambda rounds: criteria.throughput_gain(rounds, RULES, low=29, high=40),
]


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("arm", ["local", "array"])
@pytest.mark.parametrize("which", range(5))
def test_one_invalid_cell_hides_the_ratio_and_says_why(judge: Judge, arm: str, which: int) -> None:
    rounds = list(pairs(throughput=1.35))
    rounds[which] = replace(rounds[which], **{arm: BAD})
    verdict = judge(tuple(rounds))
    assert verdict.outcome is UNDECIDED
    assert str(verdict.measured) == ""
    assert f"round {which + 1}, {arm} arm: 3 preemptions" in str(verdict.note)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("count, told", [(0, False), (1, False), (4, False), (5, True), (8, True)])
def test_five_rounds_are_needed(judge: Judge, count: int, told: bool) -> None:
    verdict = judge(pairs(throughput=1.35, rounds=count))
    assert (verdict.outcome is PASS) is told
    assert told or "rounds, wanted at least 5" in str(verdict.note)


def test_a_round_counted_twice_is_no_round() -> None:
    rounds = pairs()
    assert "counted twice" in str(criteria.ttft_drop((*rounds, rounds[0]), RULES, least=25).note)


@pytest.mark.parametrize(
    "voided, said",
    [
        ([Voided(6, 8, Cause.THROTTLED, recorded=5, seen=9)], None),
        ([Voided(6, 8, Cause.THROTTLED, recorded=9, seen=9)], "after its result was seen"),
        (
            [Voided(6, 8, Cause.REBOOTED, 5, None), Voided(7, 8, Cause.REBOOTED, 6, None)],
            "2 of 7 rounds were taken out",
        ),
        ([Voided(5, 8, Cause.REBOOTED, 5, None)], "is counted"),
    ],
)
def test_rounds_taken_out_follow_the_rule_or_nothing_is_decided(voided: list[Voided], said: str | None) -> None:
    verdict = criteria.ttft_drop(pairs(), RULES, least=25, voided=voided)
    assert (verdict.outcome is PASS) is (said is None)
    assert said is None or said in str(verdict.note)


def test_a_local_arm_that_drifts_is_no_baseline() -> None:
    verdict = criteria.ttft_drop(pairs(drift=0.016), RULES, least=25)
    assert verdict.outcome is UNDECIDED
    assert "drifted by" in str(verdict.note)
    assert criteria.ttft_drop(pairs(drift=0.008), RULES, least=25).outcome is PASS


def test_rounds_that_do_not_repeat_decide_nothing() -> None:
    rounds = list(pairs(throughput=1.35))
    slow = cell(run(requests=160, ttft=8.3, spread=0.05, seed=77), planned())
    rounds[2] = replace(rounds[2], array=slow)
    assert "of the array arm varies from round to round by" in str(criteria.ttft_drop(rounds, RULES, least=25).note)


def test_many_reasons_are_counted_not_dropped() -> None:
    many = Cell(None, tuple(say("{text}", text=f"reason {number}") for number in range(9)))
    rounds = tuple(Pair(number, many, many) for number in range(1, 6))
    assert "more" in str(criteria.ttft_drop(rounds, RULES, least=25).note)


def test_a_cell_that_was_not_measured_is_invalid() -> None:
    assert str(cell(None, planned()).faults[0]) == "it was not measured"
    proof = (say("bytes do not add up"),)
    assert cell(run(), planned(), proof) == Cell(None, proof)
    with pytest.raises(ValueError, match="never both"):
        Cell(None, ())
    with pytest.raises(ValueError, match="never both"):
        Cell(cell(run(), planned()).figures, proof)
    with pytest.raises(ValueError, match="no figures"):
        comparison.ttft([Pair(1, BAD, BAD)], RULES)


GOOD = Verdict.of(True, "-26 %", "at least 25 %")


@pytest.mark.parametrize(
    "verdicts, outcome, said",
    [
        ({8: GOOD, 16: GOOD, 32: GOOD}, PASS, "concurrency 8"),
        ({8: GOOD, 16: GOOD}, UNDECIDED, "concurrency 32"),
        (
            {8: GOOD, 16: Verdict.of(False, "-24 %", "x"), 32: Verdict.undecided(say("a"))},
            STOP,
            "concurrency 16: -24 %",
        ),
        ({}, UNDECIDED, "concurrency 8"),
    ],
)
def test_every_configured_concurrency_must_pass(verdicts: dict[int, Verdict], outcome: Outcome, said: str) -> None:
    verdict = criteria.every_concurrency(verdicts, (32, 8, 16))
    assert verdict.outcome is outcome
    assert said in str(verdict.measured)


def test_no_configured_concurrency_is_no_pass() -> None:
    assert criteria.every_concurrency({8: GOOD}, ()).outcome is UNDECIDED


@pytest.mark.parametrize(
    "measured, baseline, outcome",
    [
        (11.0, 10.0, PASS), (9.0, 10.0, PASS), (11.01, 10.0, UNDECIDED), (8.99, 10.0, UNDECIDED), (10.0, None, UNDECIDED),
        (None, 10.0, UNDECIDED), (math.nan, 10.0, UNDECIDED), (10.0, 0.0, UNDECIDED), (0.0, 10.0, UNDECIDED),
    ],
)  # fmt: skip
def test_the_local_arm_gives_what_g2_gave(measured: float | None, baseline: float | None, outcome: Outcome) -> None:
    assert criteria.reproduces(say("TTFT p50"), measured, baseline, percent=10).outcome is outcome


@pytest.mark.parametrize(
    "numbers, lower, outcome",
    [
        ((149.5, 17.31, 11.85), True, PASS), ((4.1, 53.6, 74.9), False, PASS),
        ((149.5, 149.5, 11.85), True, UNDECIDED), ((4.1, 4.1, 74.9), False, UNDECIDED),
        ((149.5, 17.31, 149.5), True, STOP), ((4.1, 53.6, 4.0), False, STOP),
        ((None, 17.31, 11.85), True, UNDECIDED), ((149.5, None, 11.85), True, UNDECIDED),
        ((149.5, 17.31, math.nan), True, UNDECIDED), ((149.5, 0.0, 11.85), True, UNDECIDED),
    ],
)  # fmt: skip
def test_both_arms_beat_computing_anew(
    numbers: tuple[float | None, float | None, float | None], lower: bool, outcome: Outcome
) -> None:
    assert criteria.beats_recompute(*numbers, lower=lower).outcome is outcome


def test_more_rounds_are_asked_for_by_the_width_alone_and_within_the_budget() -> None:
    found = comparison.ttft(pairs(ttft=0.9), RULES)
    narrow, wide = replace(RULES, width_points=50), replace(RULES, width_points=found.width_points / 2)
    assert comparison.more_rounds([found], narrow, done=5, budget=20) == 0
    assert comparison.more_rounds([found], wide, done=5, budget=30) == 15
    assert comparison.more_rounds([found], wide, done=5, budget=12) == 7
    assert comparison.more_rounds([found], wide, done=20, budget=12) == 0
    assert comparison.more_rounds([], RULES, done=2, budget=12) == 3
    assert Rules(seed=1).rounds == 5
