"""A planned restart excuses what it interrupts until the engine answers again, and nothing beyond."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from checks.soak.outages import scheduled
from checks.soak.plan import Load, Plan, Policy, Stream
from checks.soak.requests import requests
from checks.soak.track import Doing
from checks.verdict import Outcome
from lab.serving.client import Served, document
from lab.soak import work
from lab.soak.faults import SoakFault
from lab.soak.trouble import Failing
from tests.gates.soaking import array, clauses, judge, node, told

RESTART, WITHIN = 3000.0, 1800.0
OPTIONS = {
    "endpoints": ["http://127.0.0.1:8000"], "model": "m", "seed": 1, "set": "soak", "tokens": 100, "ids": [1, 9], "out": 10,
    "shift": 0, "mode": "measure", "concurrency": 1, "first": 60, "stall": 60,
}  # fmt: skip


def track(serve: Callable[[int], Served], counts: Sequence[int], took: float = 2.0) -> Any:
    """A client whose runs follow one another, and a restart that is over after two seconds: the process is there at once."""
    loads, at = (
        [
            Doing(RESTART, "restart", "begin", {"number": 9}),
            Doing(RESTART + 2, "restart", "end", {"number": 9, "status": 0}),
        ],
        0.0,
    )
    first = 0
    for number, count in enumerate(counts):
        text, seconds = document(
            {**OPTIONS, "count": count}, (at, at), lambda index, first=first: serve(first + index), 0.0, 0.0
        )
        loads += [Doing(at, "client", "begin", {"number": number})]
        at, first = at + seconds, first + count
        loads += [Doing(at, "client", "end", {"number": number, "status": 0, "stdout": text})]
    plan = Plan(
        "s", "h", "node", 1.0, 7200.0, {"process": Stream(60.0, ("engine",))},
        (Load("client", 0, 0, True, 3600, False, 0), Load("restart", RESTART, 86400, False, 1800, True, WITHIN)),
        Policy("restart_clock", 0, 0),
    )  # fmt: skip
    return SimpleNamespace(
        plan=plan,
        loads=sorted(loads, key=lambda one: one.at),
        tables={},
        seconds={},
        breaks=(),
        steps=(),
        last=at,
        known={},
    )


def well(_: int) -> Served:
    return Served(0.5, 1.5, 100, 10, 0, "answer")


def failing(first: int, count: int, seconds: float) -> Callable[[int], Served]:
    """From request ``first`` on so many fail, each after so many seconds."""

    def serve(index: int) -> Served:
        if first <= index < first + count:
            return Served(0.0, seconds, 100, 10, 0, "", "failed", "refused")
        return well(index)

    return serve


@pytest.mark.parametrize("counts", [(3000,), (1600, 1500), (1400, 80, 80, 1400)])
def test_until_the_engine_answers_again_failures_are_those_of_the_restart(counts: tuple[int, ...]) -> None:
    # Two seconds a request: the one that is under way when the engine goes down is number 1499, and 150 more are refused.
    found = track(failing(1499, 151, 2.0), counts)
    [(begin, end)] = scheduled(found)
    assert begin == RESTART
    assert 3290 < end < 3310
    told_ = requests(found, "client")
    assert told_ is not None
    assert (told_.failed, told_.in_restarts >= 150) == (0, True)


def test_an_engine_that_does_not_answer_within_the_time_is_not_excused_beyond_it() -> None:
    found = track(failing(1500, 1400, 2.0), (3500,))
    assert scheduled(found) == ((RESTART, RESTART + WITHIN),)
    told_ = requests(found, "client")
    assert told_ is not None
    assert told_.failed > 400


def test_where_nobody_asks_nothing_is_excused_longer_than_the_restart_took() -> None:
    assert scheduled(track(well, (1400,))) == ((RESTART, RESTART + 2),)


def test_failures_long_before_the_restart_and_after_it_was_over_are_failures() -> None:
    for first in (1400, 1700):
        told_ = requests(track(failing(first, 5, 2.0), (3000,)), "client")
        assert told_ is not None
        assert told_.failed == 5


@pytest.mark.parametrize(("minutes", "stops"), [(5, set()), (45, {"G4.2.11"})])
def test_an_engine_that_loads_its_model_after_the_restart_returned_stops_nothing(
    minutes: int, stops: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(work._TOOK, "restart", 2.0)
    begin = 33_000.0
    fault = SoakFault("loads", "", "", None, (Failing(begin + 2, begin + minutes * 60),))
    verdicts = judge({"fx100-a": array(), "node-01": node(fault)})
    assert clauses(verdicts, Outcome.STOP) >= stops, told(verdicts)
    if not stops:
        assert not clauses(verdicts, Outcome.STOP) | clauses(verdicts, Outcome.UNDECIDED), told(verdicts)


def test_where_the_first_request_is_answered_the_restart_is_over_and_that_request_counts() -> None:
    found = track(well, (3000,))
    assert scheduled(found) == ((RESTART, RESTART + 2),)
    loading = track(failing(1499, 10, 2.0), (3000,))
    [(_, end)] = scheduled(loading)
    told_ = requests(loading, "client")
    assert told_ is not None
    assert told_.total + told_.in_restarts == 3000
    assert told_.in_restarts == 10
    assert RESTART + 2 < end < RESTART + 21
