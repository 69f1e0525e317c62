"""The precision that rounds of one arm promise is the precision that a comparison then has."""

from __future__ import annotations

import numpy as np
import pytest

from checks.statistics.expected import shake, throughput_points, ttft_points
from checks.statistics.paired import Samples, student_interval, two_level_bootstrap


def rounds(count: int, shaken: float, spread: float, seed: int, requests: int = 160) -> list[tuple[float, ...]]:
    rng = np.random.default_rng(seed)
    return [tuple(10.0 * rng.lognormal(0, shaken) * rng.lognormal(0, spread, requests)) for _ in range(count)]


@pytest.mark.parametrize(("shaken", "spread"), [(0.005, 0.10), (0.01, 0.05), (0.02, 0.10), (0.0, 0.25)])
def test_the_width_of_ttft_is_foretold_within_a_third_on_average(shaken: float, spread: float) -> None:
    told, came = [], []
    for seed in range(40):
        local, array = rounds(5, shaken, spread, seed), rounds(5, shaken, spread, 1000 + seed)
        told.append(ttft_points(local, 5, 1.0, seed))
        pairs = [Samples(one, other) for one, other in zip(local, array, strict=True)]
        interval = two_level_bootstrap(pairs, seed)
        came.append((interval.high - interval.low) * 100)
    assert 0.75 < np.mean(told) / np.mean(came) < 1.33


def test_the_width_of_throughput_is_foretold_within_a_third_on_average() -> None:
    rng = np.random.default_rng(1)
    told, came = [], []
    for _ in range(200):
        local, array = np.exp(rng.normal(0, 0.01, 8)), np.exp(rng.normal(0, 0.01, 8))
        told.append(throughput_points(list(local), 8, 1.0))
        interval = student_interval(list(array / local))
        came.append((interval.high - interval.low) * 100)
    assert 0.75 < np.mean(told) / np.mean(came) < 1.33


def test_more_rounds_and_a_smaller_ratio_make_it_narrower() -> None:
    local = rounds(3, 0.01, 0.05, 1)
    assert ttft_points(local, 10, 1.0, 1) < ttft_points(local, 5, 1.0, 1)
    assert ttft_points(local, 5, 0.75, 1) == pytest.approx(0.75 * ttft_points(local, 5, 1.0, 1))
    assert throughput_points([1.0, 1.01, 1.02], 10, 1.4) < throughput_points([1.0, 1.01, 1.02], 5, 1.4)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 0.0], [1.0, -1.0], [1.0, float("nan")]])
def test_a_shake_needs_two_positive_rounds(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"wanted|no values|finite|positive"):
        shake(values)
