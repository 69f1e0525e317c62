"""Percentiles against numpy, scipy and by hand; both definitions at the places where they differ."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.statistics.percentile import Definition, finite, median, percentile


def test_the_two_definitions_differ_in_an_even_sample() -> None:
    assert median([1.0, 2.0, 3.0, 10.0]) == 2.5
    assert percentile([10.0, 1.0, 3.0, 2.0], 50, Definition.LOWER) == 2.0
    assert percentile([3.0, 1.0, 2.0], 50, Definition.LOWER) == median([3.0, 1.0, 2.0]) == 2.0


@pytest.mark.parametrize(
    "percent, linear, lower", [(0, 1.0, 1.0), (25, 1.75, 1.0), (26, 1.78, 2.0), (75, 3.25, 3.0), (100, 4.0, 4.0)]
)
def test_at_the_ends_and_between(percent: float, linear: float, lower: float) -> None:
    values = [4.0, 3.0, 2.0, 1.0]
    assert percentile(values, percent) == pytest.approx(linear)
    assert percentile(values, percent, Definition.LOWER) == lower


def test_a_rank_that_misses_a_whole_number_by_one_bit_is_that_rank() -> None:
    values = [float(number) for number in range(1, 101)]
    assert all(percentile(values, percent, Definition.LOWER) == percent for percent in range(1, 101))


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60), st.floats(0, 100))
def test_both_agree_with_numpy(values: list[float], percent: float) -> None:
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)))
    if abs(percent / 100 * len(values) - round(percent / 100 * len(values))) > 1e-6:
        wanted = float(np.percentile(values, percent, method="inverted_cdf"))
        assert percentile(values, percent, Definition.LOWER) == wanted


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [math.inf], [True, 2.0], ["1"], [None]])
def test_what_is_no_number_is_refused_and_never_zero(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="value"):
        finite(bad)
    with pytest.raises(ValueError, match="value"):
        median(bad)


@pytest.mark.parametrize("percent", [-1, 101, math.nan])
def test_a_percent_outside_its_range_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="0 to 100"):
        percentile([1.0], percent)
