"""Steady and repeatable at their bounds; too few rounds, or a value that is none, decide nothing."""

from __future__ import annotations

import math

import pytest

from checks.phrase import say
from checks.statistics.criteria import repeatable, steady_state
from checks.verdict import Outcome

PASS, UNDECIDED = Outcome.PASS, Outcome.UNDECIDED


@pytest.mark.parametrize(
    "values, outcome, said",
    [
        ([90.0, 110.0, 100.0, 110.0, 90.0], PASS, "None"),
        ([89.9, 110.0, 100.0, 110.0, 90.0], UNDECIDED, "not steady yet"),
        ([94.9, 97.5, 100.0, 102.5, 105.1], UNDECIDED, "not steady yet"),
        ([100.0] * 4, UNDECIDED, "4 rounds, wanted at least 5"),
        ([100.0, 100.0, 100.0, 100.0, math.nan], UNDECIDED, "not finite"),
        ([], UNDECIDED, "cannot be told"),
    ],
)
def test_steady_state(values: list[float], outcome: Outcome, said: str) -> None:
    verdict = steady_state(values)
    assert verdict.outcome is outcome
    assert said in str(verdict.note)


@pytest.mark.parametrize(
    "values, outcome, said",
    [
        ([100.0, 100.0, 100.0], PASS, "None"),
        ([95.0, 100.0, 105.0], PASS, "None"),  # exactly 5 %
        ([94.9, 100.0, 105.1], UNDECIDED, "look for heat"),
        ([100.0, 100.0], UNDECIDED, "too few rounds"),
        ([100.0], UNDECIDED, "wanted at least 2"),
        ([0.0, 0.0, 0.0], UNDECIDED, "not positive"),
        ([100.0, math.inf, 100.0], UNDECIDED, "not finite"),
    ],
)
def test_repeatable(values: list[float], outcome: Outcome, said: str) -> None:
    verdict = repeatable(say("throughput"), values)
    assert verdict.outcome is outcome
    assert said in str(verdict.note)
