"""Hours of a soak's serving load: one in which nobody was answered is an hour of nothing, not an hour that is left out."""

from __future__ import annotations

from checks.soak.requests import _hours

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
