"""Leaks that restarts hide, on seventy-two hours of made-up values: what grows between them, and what they do not give back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checks.soak import leaks
from checks.soak.facts import HostSoak
from checks.soak.gauges import _gauge, _stretches
from checks.statistics.steadiness import slope_within, trend
from checks.verdict import Outcome, Verdict
from tests.gates import soaking

HOURS = 72
DAILY = (9.0, 33.0, 57.0)


def soak(value: Callable[[float, float], float], restarts: Sequence[float] = DAILY, stream: str = "memory") -> HostSoak:
    """A soak in which one value is ``value(hour, hours since the restart before)``, sampled each minute."""
    fields = {"memory": ("host", "MemAvailable"), "process": ("engine", "rss_bytes")}
    subject, field = fields[stream]
    hours = np.arange(1, HOURS * 60) / 60
    since = [hour - max([0.0, *(at for at in restarts if at <= hour)]) for hour in hours]
    noise = [1 + 0.002 * ((at * 7919) % 13 - 6) / 6 for at in range(len(hours))]
    values = np.array([value(float(hour), age) * more for hour, age, more in zip(hours, since, noise, strict=True)])
    windows = [(at * 3600 - 120, at * 3600) for at in restarts]
    found = tuple(_stretches(windows, hours * 3600, values))
    gauge = _gauge(stream, subject, field, hours * 3600, values, found)
    whole = soaking.array()
    rest = tuple(one for one in whole.gauges if (one.stream, one.field) != (stream, field))
    return replace(whole, gauges=(*rest, gauge))


def judged(value: Callable[[float, float], float], **more: Any) -> Verdict:
    return leaks.memory_kept(soak(value, **more), 5.0, 8)


def test_a_sawtooth_is_a_leak_though_its_whole_has_no_slope() -> None:
    def leaking(hour: float, since: float) -> float:
        return 100 * (1 + 0.0015 * since)

    hours = list(range(HOURS))
    restarted = [leaking(at, at - max([0.0, *(one for one in DAILY if one <= at)])) for at in hours]
    assert abs(trend(hours, restarted).change_percent) < 5
    found = judged(leaking, stream="process")
    assert found.outcome is Outcome.STOP
    assert "between 3 restarts" in str(found.measured)


def test_less_of_it_than_was_agreed_is_none() -> None:
    assert judged(lambda _, since: 100 * (1 + 0.0005 * since), stream="process").outcome is Outcome.PASS
    assert judged(lambda _, since: 100 * (1 + 0.0008 * since), stream="process").outcome is Outcome.STOP


def test_what_one_restart_does_not_give_back_is_named_by_its_minute() -> None:
    def kept(hour: float, _: float) -> float:
        return 100 if hour < 57 else 93

    found = judged(kept)
    assert found.outcome is Outcome.STOP
    assert "left after a restart" in str(found.measured)
    assert "minute 3420" in str(found.note)


def test_what_every_restart_leaves_a_little_more_of_adds_up() -> None:
    assert judged(lambda hour, _: 100 - 2.2 * sum(at <= hour for at in DAILY)).outcome is Outcome.STOP
    assert judged(lambda hour, _: 100 - 1.2 * sum(at <= hour for at in DAILY)).outcome is Outcome.PASS


def test_a_leak_in_one_day_alone_is_found_and_its_begin_named() -> None:
    found = judged(lambda hour, since: 100 * (1 + (0.004 * since if 33 <= hour < 57 else 0)), stream="process")
    assert found.outcome is Outcome.STOP
    assert "in one stretch without a restart" in str(found.measured)
    assert "minute 1980" in str(found.note)


def test_a_cache_that_fills_after_every_restart_and_then_stands_is_no_leak() -> None:
    assert judged(lambda _, since: 100 * (0.6 + 0.4 * min(1.0, since / 1.5)), stream="process").outcome is Outcome.PASS


def test_restarts_that_leave_no_stretch_to_tell_a_leak_by_are_undecided() -> None:
    found = judged(lambda _, since: 100.0, stream="process", restarts=[float(at) for at in range(2, HOURS, 2)])
    assert found.outcome is Outcome.UNDECIDED
    assert "engine rss_bytes: no 8 hours between restarts" in str(found.note)


def test_a_planned_process_that_tells_nothing_is_undecided_and_named() -> None:
    node = soaking.node()
    silent = tuple(one for one in node.gauges if (one.stream, one.field) != ("process", "fds"))
    found = leaks.descriptors_kept(replace(node, gauges=silent), 5.0, 8)
    assert found.outcome is Outcome.UNDECIDED
    assert "engine fds" in str(found.note)


def test_the_slope_within_parts_is_that_of_each_and_no_step_between_them() -> None:
    assert slope_within([([0, 1, 2], [5, 7, 9]), ([3, 4, 5], [1, 3, 5])]) == pytest.approx(2)
    with pytest.raises(ValueError, match="no part has 3 points"):
        slope_within([([0, 1], [5, 7])])
