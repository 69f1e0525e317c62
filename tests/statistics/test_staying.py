"""Rounds stay when the whole interval of their slope lies within the bound: shown for what is known, counted for what is not."""

from __future__ import annotations

import numpy as np
import pytest

from checks.statistics.staying import Course, settled, slope


def test_an_exact_line_has_its_slope_and_nothing_to_be_off_by() -> None:
    found = slope([99.0, 100.0, 101.0], 95)
    assert (found.percent, found.reach) == (1.0, 0.0)


def test_the_interval_is_that_of_least_squares_by_hand() -> None:
    # 1 % of noise laid out as +1 -1 -1 +1: no slope, residual deviation 2/sqrt(2), Sxx 5, t(95 %, 2) = 2.920
    found = slope([101.0, 99.0, 99.0, 101.0], 95)
    assert found.percent == 0.0
    assert found.reach == pytest.approx(2.920 * (4 / 2 / 5) ** 0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("percent", "reach", "course"),
    [
        (0.0, 0.99, Course.STAYS), (0.5, 0.499, Course.STAYS), (0.5, 0.5, Course.OPEN), (-0.5, 0.499, Course.STAYS),
        (0.9, 0.2, Course.OPEN), (1.2, 0.3, Course.OPEN), (1.2, 0.2, Course.GOES), (-1.2, 0.2, Course.GOES), (0.0, 9.0, Course.OPEN),
    ],
)  # fmt: skip
def test_the_whole_interval_decides(percent: float, reach: float, course: Course) -> None:
    from checks.statistics.staying import Slope

    assert Slope(percent, reach).course(1.0) is course


@pytest.mark.parametrize("values", [[1.0, 2.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.5]])
def test_what_has_no_slope_in_percent_says_so(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"wanted at least|not positive"):
        slope(values, 95)
    with pytest.raises(ValueError, match=r"wanted at least|not positive"):
        settled(values, 1.0, 95)


@pytest.mark.parametrize("sure", [0.0, 50.0, 100.0])
def test_a_certainty_that_is_none_is_refused(sure: float) -> None:
    with pytest.raises(ValueError, match="between 50 and 100"):
        slope([1.0, 1.0, 1.0], sure)
    with pytest.raises(ValueError, match="between 50 and 100"):
        settled([1.0, 1.0, 1.0], 1.0, sure)


def ended(drift: float, noise: float, bound: float, campaigns: int = 400, most: int = 10) -> tuple[float, float]:
    """Share of campaigns that end at their level, and rounds that a campaign takes; both by percent a round."""
    random = np.random.default_rng(7)
    passed, made = 0, 0
    for _ in range(campaigns):
        values = 100 * (1 + drift / 100 * np.arange(most)) * (1 + noise / 100 * random.standard_normal(most))
        for count in range(3, most + 1):
            course = settled(values[:count].tolist(), bound, 95)
            if course is not Course.OPEN or count == most:
                passed, made = passed + (course is Course.STAYS), made + count
                break
    return passed / campaigns, made / campaigns


@pytest.mark.parametrize(
    ("drift", "noise", "bound", "least", "most"),
    [
        (1.0, 1.0, 0.5, 0.0, 0.04),  # what passed half the time
        (2.0, 1.0, 1.0, 0.0, 0.04), (2.0, 2.0, 1.0, 0.0, 0.04),
        (0.0, 0.4, 1.0, 0.98, 1.0), (0.0, 1.0, 1.0, 0.95, 1.0), (0.0, 2.0, 1.0, 0.88, 1.0), (0.5, 0.4, 1.0, 0.95, 1.0),
    ],
)  # fmt: skip
def test_how_often_a_drift_is_missed_and_a_level_is_not_shown(
    drift: float, noise: float, bound: float, least: float, most: float
) -> None:
    """The numbers of runbooks/g2-baseline.md."""
    passed, _ = ended(drift, noise, bound)
    assert least <= passed <= most


def test_little_noise_costs_few_rounds() -> None:
    assert ended(0.0, 0.4, 1.0)[1] < 4.5
