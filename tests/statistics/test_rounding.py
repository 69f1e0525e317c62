"""Halves go up in decimal, as the reports print; the published pairs come out to their last digit."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.statistics.rounding import drop_percent, gain_percent, half_up


@pytest.mark.parametrize(
    "value, whole",
    [
        (28.5, 29), (28.499999999, 28), (28.4999999999999, 29), (28.49, 28), (29.5, 30), (40.5, 41), (40.49, 40),
        (-0.5, -1), (-28.5, -29), (0.0, 0), (24.5, 25), (Decimal("24.4999999999999999"), 24), (Decimal("24.5"), 25),
    ],
)  # fmt: skip
def test_a_half_goes_away_from_zero(value: float | Decimal, whole: int) -> None:
    assert half_up(value) == whole


def test_python_would_have_rounded_otherwise() -> None:
    assert round(28.5) == 28
    assert half_up(28.5) == 29
    assert round(2.675, 2) == 2.67
    assert half_up(2.675, 2) == Decimal("2.68")


@pytest.mark.parametrize("bad", [math.nan, math.inf, True, "29", None, Decimal("NaN")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="wanted"):
        half_up(bad)
    with pytest.raises(ValueError, match="wanted"):
        drop_percent(bad, 1.0)


@pytest.mark.parametrize("before, after", [(0, 1), (1, 0), (-1, 1), (1, -1)])
def test_a_drop_of_nothing_is_refused(before: float, after: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        drop_percent(before, after)


@pytest.mark.parametrize(
    "local, array, exact, whole",
    [
        ("10.17", "7.53", "25.95870206489676", 26),
        ("17.31", "11.85", "31.54246100519931", 32),
        ("35.73", "26.35", "26.25244892247411", 26),
    ],
)
def test_the_published_drops(local: str, array: str, exact: str, whole: int) -> None:
    drop = drop_percent(Decimal(local), Decimal(array))
    assert abs(drop - Decimal(exact)) < Decimal("1e-13")
    assert half_up(drop) == whole
    assert half_up(float(drop)) == whole


@pytest.mark.parametrize(
    "local, array, exact, whole",
    [
        ("43.9", "56.6", "28.92938496583144", 29),
        ("53.6", "74.9", "39.73880597014925", 40),
        ("53.9", "71.6", "32.83858998144712", 33),
    ],
)
def test_the_published_gains(local: str, array: str, exact: str, whole: int) -> None:
    gain = gain_percent(Decimal(local), Decimal(array))
    assert abs(gain - Decimal(exact)) < Decimal("1e-13")
    assert half_up(gain) == whole


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_rounding_moves_a_value_by_at_most_half_a_step(value: float, decimals: int) -> None:
    assert abs(half_up(value, decimals) - Decimal(value)) <= Decimal("0.5").scaleb(-decimals) + Decimal("1e-9")
