"""Ratios and intervals: exact where they can be computed, equal to the slow way where they are drawn, and seeded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from checks.statistics.paired import (
    FEWEST_RESAMPLES,
    Samples,
    drawn_medians,
    geometric_mean,
    median_ratios,
    rounds_wanted,
    student_interval,
    two_level_bootstrap,
)


def sample(rng: np.random.Generator, n: int, middle: float, spread: float) -> tuple[float, ...]:
    return tuple(float(value) for value in middle * np.exp(rng.normal(0, spread, n)))


def experiment(drop: float, rounds: int = 5, n: int = 64, spread: float = 0.1, seed: int = 1) -> list[Samples]:
    rng = np.random.default_rng(seed)
    return [Samples(sample(rng, n, 10.0, spread), sample(rng, n, 10.0 * (1 - drop), spread)) for _ in range(rounds)]


def test_the_geometric_mean_of_a_doubling_and_a_halving_is_one() -> None:
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([0.74]) == pytest.approx(0.74)
    assert geometric_mean([0.7, 0.8, 0.9]) == pytest.approx(float(stats.gmean([0.7, 0.8, 0.9])))


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [math.nan]])
def test_a_ratio_that_is_none_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"ratio|value"):
        geometric_mean(bad)


def test_ratios_are_paired_by_round() -> None:
    rounds = [Samples((10.0, 20.0, 30.0), (5.0, 10.0, 15.0)), Samples((1.0, 1.0), (0.75, 0.75))]
    assert median_ratios(rounds) == (0.5, 0.75)


@pytest.mark.parametrize(
    "values", [tuple(float(x) for x in range(1, 8)), tuple(float(x) ** 2 for x in range(1, 13)), (3.0, 9.0)]
)
def test_a_median_drawn_by_rank_is_distributed_as_one_of_drawn_values(values: tuple[float, ...]) -> None:
    rng = np.random.default_rng(7)
    quick = drawn_medians(values, 40_000, rng)
    slow = np.median(rng.choice(np.array(values), (40_000, len(values))), axis=1)
    shown = sorted(set(quick) | set(slow))
    assert set(quick) <= set(shown)
    for value in shown:
        assert abs(float((quick <= value).mean()) - float((slow <= value).mean())) < 0.012, value


def test_the_interval_holds_the_ratio_and_narrows_with_more_requests() -> None:
    widths = []
    for n in (32, 128, 512):
        rounds = experiment(0.26, n=n)
        interval = two_level_bootstrap(rounds, seed=3)
        assert interval.low < geometric_mean(median_ratios(rounds)) < interval.high
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths, reverse=True)


def test_the_quick_way_is_the_slow_way() -> None:
    rounds = experiment(0.26, rounds=4, n=15)
    rng = np.random.default_rng(9)
    logs = []
    for _ in range(4000):
        drawn = rng.integers(len(rounds), size=len(rounds))
        ratios = [
            np.median(rng.choice(rounds[which].array, 15)) / np.median(rng.choice(rounds[which].local, 15))
            for which in drawn
        ]
        logs.append(np.mean(np.log(ratios)))
    low, high = np.exp(np.percentile(logs, [2.5, 97.5]))
    quick = two_level_bootstrap(rounds, seed=9)
    assert (quick.low, quick.high) == pytest.approx((low, high), abs=0.01)


def test_a_seed_makes_the_same_interval_again_and_another_seed_nearly_so() -> None:
    rounds = experiment(0.26)
    first = two_level_bootstrap(rounds, seed=11)
    assert two_level_bootstrap(rounds, seed=11) == first
    other = two_level_bootstrap(rounds, seed=12)
    assert other != first
    assert other.low == pytest.approx(first.low, abs=0.004)
    assert (first.seed, first.resamples) == (11, FEWEST_RESAMPLES)


def test_rounds_that_differ_widen_the_interval_more_than_requests_do() -> None:
    calm = experiment(0.26, n=128)
    wild = [
        Samples(one.local, tuple(v * f for v in one.array))
        for one, f in zip(calm, (0.9, 1.0, 1.1, 0.95, 1.05), strict=True)
    ]
    narrow, wide = two_level_bootstrap(calm, seed=1), two_level_bootstrap(wild, seed=1)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


@pytest.mark.parametrize(
    "rounds, resamples, said",
    [
        ([], FEWEST_RESAMPLES, "at least 2"),
        (experiment(0.2, rounds=1), FEWEST_RESAMPLES, "at least 2"),
        (experiment(0.2), FEWEST_RESAMPLES - 1, "9999"),
        ([Samples((1.0,), (1.0, 2.0)), *experiment(0.2)], FEWEST_RESAMPLES, "two requests"),
        ([Samples((1.0, 2.0), ()), *experiment(0.2)], FEWEST_RESAMPLES, "no values"),
        ([Samples((1.0, 0.0), (1.0, 2.0)), *experiment(0.2)], FEWEST_RESAMPLES, "positive"),
        ([Samples((1.0, math.nan), (1.0, 2.0)), *experiment(0.2)], FEWEST_RESAMPLES, "finite"),
    ],
)
def test_too_little_or_bad_data_gives_no_interval(rounds: list[Samples], resamples: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        two_level_bootstrap(rounds, seed=1, resamples=resamples)


def test_students_interval_is_scipys_on_logarithms() -> None:
    ratios = [1.28, 1.31, 1.30, 1.27, 1.33]
    interval = student_interval(ratios)
    logs = np.log(ratios)
    low, high = stats.t.interval(0.95, 4, loc=logs.mean(), scale=stats.sem(logs))
    assert (interval.low, interval.high) == pytest.approx((math.exp(low), math.exp(high)))
    with pytest.raises(ValueError, match="at least 2"):
        student_interval([1.3])
    with pytest.raises(ValueError, match="positive"):
        student_interval([1.3, 0.0])


@pytest.mark.parametrize("width, rounds, wanted", [(4.0, 5, 5), (3.9, 5, 5), (8.0, 5, 20), (4.1, 5, 6)])
def test_rounds_wanted_grow_with_the_square_of_the_width(width: float, rounds: int, wanted: int) -> None:
    assert rounds_wanted(width, 4.0, rounds) == wanted


def test_rounds_wanted_needs_numbers() -> None:
    with pytest.raises(ValueError, match="positive"):
        rounds_wanted(0.0, 4.0, 5)
