"""A cell is valid or says why not: every mistake alone, and the sound run that none of them may touch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.phrase import say
from checks.serving.figures import figures
from checks.serving.records import Clock, Instant, Run, Status, Summary
from checks.serving.validity import faults
from tests.serving.load import TOKENS, changed, planned, run

GOOD = run(spread=0.1)


def summary(of: Run, **changes: Any) -> Summary:
    ours = figures(of, 8)
    told = Summary(
        ttft_p50=ours.ttft_p50, throughput=ours.throughput, duration=ours.window, tokens_out=ours.tokens_out,
        completed=len(of.requests), failed=0,
    )  # fmt: skip
    return replace(told, **changes)


def test_a_sound_run_has_no_fault() -> None:
    assert faults(GOOD, planned()) == ()
    assert faults(replace(GOOD, summary=summary(GOOD)), planned()) == ()


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("concurrency", [1, 8, 16, 32])
def test_no_honest_load_breaks_littles_law(spread: float, concurrency: int) -> None:
    load = run(concurrency=concurrency, requests=max(64, 10 * concurrency), spread=spread, seed=concurrency)
    assert faults(load, planned(concurrency)) == ()


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"status": Status.FAILED, "error": "HTTP 500"}, "1 of 80 requests failed: HTTP 500"),
        ({"status": Status.EMPTY}, "1 of 80 requests empty"),
        ({"status": Status.UNFINISHED}, "1 of 80 requests unfinished"),
        ({"tokens_out": TOKENS - 1}, "output lengths 63 tokens"),
        ({"tokens_out": None}, "output lengths ? tokens"),
        ({"tokens_in": 32769}, "prompt lengths 32769 tokens"),
        ({"tokens_in": None}, "prompt lengths ? tokens"),
        ({"first": None}, "does not tell all its times"),
        ({"ttft": 0.0}, "contradict"),
    ],
)
def test_one_bad_request_spoils_the_cell(changes: dict[str, Any], said: str) -> None:
    found = faults(changed(GOOD, 5, **changes), planned())
    assert any(said in str(reason) for reason in found), [str(reason) for reason in found]


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"objections": (say("the role is counted"),)}, "the role is counted"),
        ({"begun": 81}, "81 requests were begun, 80 are in the file"),
        ({"requests": (), "begun": 0}, "no request was made"),
        ({"concurrency": None}, "kept no limit"),
        ({"concurrency": 16}, "concurrency 16, wanted 8"),
        ({"timeline": Clock.WALL, "ends": None}, "nothing shows that it was not stepped"),
        ({"stopwatch": Clock.WALL, "ends": (Instant(0.0, 0.0), Instant(300.006, 300.0))}, "moved by 0.0060 s"),
        ({"stopwatch": Clock.WALL, "ends": (Instant(0.0, 0.0), Instant(299.994, 300.0))}, "moved by -0.0060 s"),
        ({"stopwatch": Clock.WALL, "ends": (Instant(0.0, 300.0), Instant(0.0, 300.0))}, "moved by"),
    ],
)
def test_one_fault_of_the_run_is_named(changes: dict[str, Any], said: str) -> None:
    found = faults(replace(GOOD, **changes), planned())
    assert any(said in str(reason) for reason in found), [str(reason) for reason in found]


def test_a_wall_clock_that_was_not_stepped_is_believed() -> None:
    ends = (Instant(1.79e9, 0.0), Instant(1.79e9 + 300.004, 300.0))
    assert faults(replace(GOOD, timeline=Clock.WALL, stopwatch=Clock.WALL, ends=ends), planned()) == ()


@pytest.mark.parametrize("requests, enough", [(80, True), (79, False)])
def test_ten_waves_are_needed(requests: int, enough: bool) -> None:
    found = faults(run(requests=requests), planned())
    assert (found == ()) is enough


def test_a_small_concurrency_needs_sixty_four_requests_all_the_same() -> None:
    assert faults(run(concurrency=1, requests=64), planned(1)) == ()
    assert "63 requests, wanted at least 64" in str(faults(run(concurrency=1, requests=63), planned(1))[0])


@pytest.mark.parametrize("real, valid", [(8, True), (7, False), (9, False)])
def test_a_load_of_another_concurrency_than_it_says_breaks_littles_law(real: int, valid: bool) -> None:
    found = faults(
        run(concurrency=real, requests=160, spread=0.1)
        if real == 8
        else replace(run(concurrency=real, requests=160, spread=0.1), concurrency=8),
        planned(),
    )
    assert (found == ()) is valid
    assert valid or "Little" in str(found[0])


@pytest.mark.parametrize(
    "change, said",
    [
        ({"ttft_p50": 9.0}, "TTFT p50: kvgate says 9"),
        ({"ttft_p50": None}, "printed no TTFT p50"),
        ({"throughput": 20.0}, "throughput: kvgate says 20"),
        ({"throughput": 0.0}, "throughput: kvgate says 0"),
        ({"tokens_out": 1}, "output tokens"),
        ({"completed": 79}, "completed requests"),
        ({"failed": 1}, "counts 1 failed"),
    ],
)
def test_a_summary_that_disagrees_leaves_it_undecided(change: dict[str, Any], said: str) -> None:
    found = faults(replace(GOOD, summary=summary(GOOD, **change)), planned())
    assert len(found) == 1
    assert said in str(found[0])


@pytest.mark.parametrize(
    "percent, seconds, agrees",
    [(0, 0, True), (0.99, 0.25, True), (1.01, 0.25, False), (-0.02, 0, False), (-50, 0, False)],
)
def test_the_tools_window_may_be_a_little_longer_and_never_shorter(
    percent: float, seconds: float, agrees: bool
) -> None:
    ours = figures(GOOD, 8)
    told = summary(GOOD, throughput=ours.tokens_out / (ours.window * (1 + percent / 100) + seconds))
    assert (faults(replace(GOOD, summary=told), planned()) == ()) is agrees


def test_a_median_that_is_an_order_statistic_is_compared_as_one() -> None:
    ttfts = sorted(figures(GOOD, 8).ttfts)
    told = summary(GOOD, ttft_p50=ttfts[39], lower_median=True)
    assert faults(replace(GOOD, summary=told), planned()) == ()
    assert "TTFT p50" in str(faults(replace(GOOD, summary=replace(told, lower_median=False)), planned())[0])


TIMES = ("sent", "first", "last", "ttft", "tokens_in", "tokens_out")


@given(
    index=st.integers(0, 79),
    field=st.sampled_from(TIMES),
    value=st.sampled_from((None, 0, -1.0, math.nan, math.inf, -math.inf, 1e9)),
)
@settings(max_examples=60, derandomize=True, deadline=None, database=None)
def test_no_value_that_is_none_is_ever_counted(index: int, field: str, value: float | None) -> None:
    assert faults(changed(GOOD, index, **{field: value}), planned()) != ()


def test_every_reason_is_given_not_the_first_only() -> None:
    bad = replace(changed(GOOD, 0, status=Status.FAILED), concurrency=4, begun=90)
    assert len(faults(bad, planned())) == 3


def test_a_median_latency_stands_in_for_a_ttft_that_was_not_printed() -> None:
    latencies = sorted(one.latency or 0.0 for one in GOOD.requests)
    middle = (latencies[39] + latencies[40]) / 2
    told = summary(GOOD, ttft_p50=None, latency_p50=middle)
    assert faults(replace(GOOD, summary=told), planned()) == ()
    wrong = replace(GOOD, summary=replace(told, latency_p50=middle * 1.01))
    assert ["latency p50" in str(reason) for reason in faults(wrong, planned())] == [True]
    none = replace(GOOD, summary=replace(told, latency_p50=None))
    assert ["printed no TTFT p50" in str(reason) for reason in faults(none, planned())] == [True]
