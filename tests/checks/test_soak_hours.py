"""Hours of a soak's serving load: one in which nobody was answered is an hour of nothing, not an hour that is left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from checks.soak.outages import merged
from checks.soak.requests import _hours, _untold
from checks.soak.track import Doing

HOUR = 3600
ANSWERED = [(float(at), 16.0, True, 0.5, 100.0) for at in range(0, 10 * HOUR, 60) if not 3 * HOUR <= at < 6 * HOUR]


def rates(until: float, away: tuple[tuple[float, float], ...] = ()) -> dict[int, float]:
    rows = [(at, int(level), well, ttft, tokens) for at, level, well, ttft, tokens in ANSWERED]
    return {one.hour: round(one.tokens_per_second, 2) for one in _hours(rows, away, until)}


def test_hours_without_an_answer_in_the_middle_and_at_the_end_count_as_nothing() -> None:
    found = rates(12.0 * HOUR)
    assert [found[hour] for hour in range(12)] == [1.67, 1.67, 1.67, 0, 0, 0, 1.67, 1.67, 1.67, 1.67, 0, 0]


def test_time_that_does_not_count_is_no_hour_of_nothing() -> None:
    found = rates(10.0 * HOUR, ((3.0 * HOUR, 6.0 * HOUR),))
    assert set(found) == {0, 1, 2, 6, 7, 8, 9}


def test_a_load_that_runs_now_and_then_owes_no_hour() -> None:
    assert set(rates(0.0)) == {0, 1, 2, 6, 7, 8, 9}


def track(*events: tuple[float, str, str | None]) -> Any:
    loads = [Doing(at, "client", what, {} if text is None else {"stdout": text}) for at, what, text in events]
    return SimpleNamespace(tables={}, loads=loads, last=10_000.0)


@pytest.mark.parametrize(
    ("events", "untold"),
    [
        (((0, "begin", None), (3000, "end", "{}")), []),
        (((0, "begin", None), (3000, "end", "")), [(0, 3000)]),  # it hung, and was ended at its limit
        (
            ((0, "begin", None), (3000, "begin", None), (6000, "end", "{}")),
            [(0, 3000)],
        ),  # the worker was killed in between
        (((0, "begin", None), (3000, "end", "{}"), (3000, "begin", None)), [(3000, 10_000)]),  # it is under way
    ],
)
def test_a_run_whose_document_is_not_there_is_no_hour_of_nothing(
    events: Any, untold: list[tuple[float, float]]
) -> None:
    assert list(_untold(track(*events), "client")) == untold


def test_time_that_is_left_out_twice_is_left_out_once() -> None:
    assert merged([(5.0, 9.0), (1.0, 2.0), (6.0, 7.0), (9.0, 10.0)]) == [(1.0, 2.0), (5.0, 10.0)]
