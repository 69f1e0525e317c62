"""Steady state, variation and drift at their bounds, and against one value that would tip a plain fit."""

from __future__ import annotations

import math

import pytest

from checks.statistics.steadiness import drift_percent, level, steadiness, trend, variation_percent


def test_five_equal_rounds_are_steady() -> None:
    found = steadiness([100.0] * 5)
    assert (found.mean, found.range_percent, found.rise_percent) == (100.0, 0.0, 0.0)
    assert found.holds(20, 10)


@pytest.mark.parametrize(
    "values, steady",
    [
        ([90.0, 110.0, 100.0, 110.0, 90.0], True),  # range exactly 20 %, no slope
        ([89.9, 110.0, 100.0, 110.0, 90.0], False),
        ([95.0, 97.5, 100.0, 102.5, 105.0], True),  # the line rises by exactly 10 %
        ([94.9, 97.5, 100.0, 102.5, 105.1], False),
        ([105.1, 102.5, 100.0, 97.5, 94.9], False),  # falling is no steadier than rising
    ],
)
def test_range_and_slope_at_their_bounds(values: list[float], steady: bool) -> None:
    assert steadiness(values).holds(20, 10) is steady


def test_only_the_last_window_counts() -> None:
    assert not steadiness([500.0, 100.0, 100.0, 100.0, 100.0]).holds(20, 10)
    assert steadiness([500.0, 100.0, 100.0, 100.0, 100.0, 100.0]).holds(20, 10)


@pytest.mark.parametrize("values", [[], [1.0] * 4, [1.0, 2.0, 3.0, 4.0, math.nan], [0.0] * 5, [-1.0] * 5])
def test_too_few_or_bad_rounds_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"rounds|finite|positive|no values"):
        steadiness(values)


def test_the_coefficient_of_variation_is_of_the_sample() -> None:
    assert variation_percent([95.0, 105.0]) == pytest.approx(7.0710678)
    assert variation_percent([100.0, 100.0, 100.0]) == 0.0
    for bad in ([], [1.0], [0.0, 0.0], [1.0, math.inf]):
        with pytest.raises(ValueError, match=r"values|positive|finite"):
            variation_percent(bad)


def test_a_trend_is_its_slope_over_the_span() -> None:
    found = trend([0.0, 1.0, 2.0, 3.0, 4.0], [10.0, 10.1, 10.2, 10.3, 10.4])
    assert found.slope == pytest.approx(0.1)
    assert found.change_percent == pytest.approx(0.4 / 10.2 * 100)
    assert found.p_value < 0.05


def test_one_outlier_makes_no_trend() -> None:
    times = [float(hour) for hour in range(12)]
    values = [10.0] * 11 + [30.0]
    assert trend(times, values).change_percent == 0.0
    assert trend(times, [10.0] * 12).p_value == 1.0


@pytest.mark.parametrize(
    "times, values",
    [([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0, 3.0], [1.0, 2.0]), ([1.0] * 3, [1.0] * 3), ([1.0, 2.0, 3.0], [0.0] * 3)],
)
def test_no_trend_from_nothing(times: list[float], values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"wanted|must"):
        trend(times, values)


@pytest.mark.parametrize(
    ("values", "drift"),
    [
        ((100, 99, 98), -1.0),
        ((98, 99, 100), 1.0),
        ((100, 98, 99), 0.0),  # no direction
        ((100, 99), 0.0),  # too few
        ((100, 99, 98, 97, 97.1, 95), -1.0),  # one step out of line
        ((100, 99, 98, 99, 98, 99), 0.0),
        ((5, 5, 5, 5), 0.0),
    ],
)
def test_rounds_that_go_one_way_have_a_drift(values: tuple[float, ...], drift: float) -> None:
    assert drift_percent(values) == pytest.approx(drift, abs=0.03)


@pytest.mark.parametrize(
    ("values", "stays"),
    [
        ((100, 99, 98), False),
        ((100, 98.6, 98.8), False),  # not each below the one before, and lower on the whole: more are wanted
        ((100, 98.6, 98.8, 100.1, 99.7), True),
        ((100, 99.8, 99.7), True),
        ((100, 100), True),
        ((0, 0, 0), True),  # no rate: more of it tells no more
    ],
)
def test_rounds_that_fall_on_the_whole_ask_for_more(values: tuple[float, ...], stays: bool) -> None:
    assert level(values) is stays
