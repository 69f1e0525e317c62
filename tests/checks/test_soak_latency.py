"""Latency hour by hour: an hour in the middle counts as much as one at the ends, p99 as much as p50."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from checks.soak import drift
from checks.soak.requests import Hour, Requests
from checks.verdict import Outcome, Verdict
from tests.gates import soaking

P50, P99, HOURS = 0.8, 1.0, 16


def judged(changed: Mapping[int, tuple[float, float]], p50: float = P50) -> Verdict:
    """The clause on sixteen hours, some of which have another p50 and p99."""
    hours = tuple(
        Hour(at, 16, 500, *changed.get(at, (p50, P99 * (1 + 0.005 * (at % 3)))), 1000.0, 3600.0) for at in range(HOURS)
    )
    node = soaking.node()
    requests = Requests("client", hours, 500 * HOURS, 0, None, 0)
    return drift.latency_steady({"node-01": replace(node, requests={"client": requests})}, "client", 5, 20, 100, 8)


def test_quiet_hours_pass_and_the_slowest_is_told() -> None:
    found = judged({})
    assert found.outcome is Outcome.PASS
    assert "p50" in str(found.measured)


@pytest.mark.parametrize(("p99", "outcome"), [(2.0, Outcome.PASS), (2.05, Outcome.STOP)])
def test_one_hour_in_the_middle_is_held_against_the_usual_hour(p99: float, outcome: Outcome) -> None:
    found = judged({7: (P50, p99 * P99)})
    assert found.outcome is outcome
    if outcome is Outcome.STOP:
        assert "hours 7, first minute 420" in str(found.note)


@pytest.mark.parametrize(("p99", "outcome"), [(1.15, Outcome.PASS), (1.3, Outcome.STOP)])
def test_a_worse_middle_of_some_hours_is_a_change_of_level(p99: float, outcome: Outcome) -> None:
    found = judged(dict.fromkeys((6, 7, 8, 9), (P50, p99)))
    assert found.outcome is outcome
    if outcome is Outcome.STOP:
        assert "p99" in str(found.measured)
        assert "minute 360" in str(found.note)


def test_hours_that_are_better_are_none_of_its_business() -> None:
    assert judged({7: (0.2, 0.3)}).outcome is Outcome.PASS


def test_times_that_cannot_be_are_undecided() -> None:
    assert judged({}, p50=0.0).outcome is Outcome.UNDECIDED
