"""TTFT, throughput, concurrency and steady window of loads whose numbers are known by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checks.serving.figures import figures
from checks.serving.records import Status
from tests.serving.load import TOKENS, changed, run


def test_ten_even_waves_by_hand() -> None:
    found = figures(run(concurrency=8, requests=80, ttft=10.0, decode=1.0), 8)
    assert found.ttft_p50 == pytest.approx(10.0)
    assert found.window == pytest.approx(110.0)
    assert found.tokens_out == 80 * TOKENS
    assert found.throughput == pytest.approx(80 * TOKENS / 110)
    assert found.mean_latency == pytest.approx(11.0)
    assert found.occupied == pytest.approx(8.0)
    assert found.tail_percent == pytest.approx(10.0)


def test_the_steady_window_leaves_ramp_and_tail_out() -> None:
    load = run(concurrency=4, requests=400, ttft=5.0, decode=1.0, spread=0.3)
    found = figures(load, 4)
    assert found.steady_throughput is not None
    # What four slots give when none of them ever waits: TOKENS for each mean latency.
    assert found.steady_throughput == pytest.approx(4 * TOKENS / found.mean_latency, rel=0.02)
    assert found.throughput < found.steady_throughput
    assert figures(run(concurrency=8, requests=8), 8).steady_throughput is None


def test_one_request_is_a_run_of_its_own_length() -> None:
    found = figures(run(concurrency=1, requests=1, ttft=2.0, decode=2.0), 1)
    assert (found.window, found.throughput, found.occupied) == (pytest.approx(4.0), pytest.approx(TOKENS / 4), 1.0)


def test_idle_time_between_requests_shows_as_lower_occupation() -> None:
    load = run(concurrency=1, requests=10, ttft=9.0, decode=1.0)
    late = tuple(
        replace(one, sent=one.sent + 10 * one.index, first=one.first + 10 * one.index, last=one.last + 10 * one.index)
        for one in load.requests
        if one.sent is not None and one.first is not None and one.last is not None
    )
    assert figures(replace(load, requests=late), 1).occupied == pytest.approx(0.5)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": Status.FAILED},
        {"status": Status.EMPTY},
        {"sent": None},
        {"first": None},
        {"last": None},
        {"ttft": None},
        {"tokens_out": None},
        {"tokens_out": 0},
        {"ttft": 0.0},
        {"first": 0.0},
        {"last": 101.0},
    ],
)
def test_one_request_that_cannot_be_counted_leaves_no_figures_at_all(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="request 3"):
        figures(changed(run(), 3, **changes), 8)


def test_no_requests_have_no_figures() -> None:
    with pytest.raises(ValueError, match="no requests"):
        figures(replace(run(), requests=()), 8)
