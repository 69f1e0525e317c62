"""Whether rounds may stand for the device at all: possible, undisturbed, of one fio, at their level; and held to something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checks.block import criteria
from checks.block.burst import Watched
from checks.ceiling import Ceiling
from checks.phrase import say
from checks.verdict import Outcome
from tests.checks.test_block_criteria import GB, HELD, RULE, THREE, a_round, against, measured


@pytest.mark.parametrize(
    ("rates", "why"),
    [
        ((6.0, 5.94, 5.88), "each of 3 rounds gives -1.0 percent on the one before"),
        ((5.88, 5.94, 6.0), "each of 3 rounds gives +1.0 percent on the one before"),
        ((6.0, 5.94, 5.95, 5.88, 5.82), "not at its level"),
        ((6.0, 5.88, 5.94), ""),
        ((6.0, 5.98, 5.96), ""),
    ],
)
def test_rounds_that_go_one_way_are_no_noise(rates: tuple[float, ...], why: str) -> None:
    verdict = criteria.repeatable(measured(*(a_round(rate * GB) for rate in rates)), HELD)
    assert verdict.outcome is (Outcome.UNDECIDED if why else Outcome.PASS)
    assert why in str(verdict.note)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"before": 0.31 * GB}, "was busy before the load began: it moved 310 MB/s for others"),
        ({"before": 0.29 * GB}, ""),
        ({"across": 0.31 * GB}, "the other way, which fio did not ask for"),
        ({"across": 0.29 * GB}, ""),
        ({"watched": Watched(6.0 * GB, 90, 8, 0.31 * GB)}, "310 MB/s the other way"),
        ({"watched": Watched(6.31 * GB, 90, 8, 0.0)}, "310 MB/s more than fio asked for"),
        ({"watched": Watched(6.29 * GB, 90, 8, 0.29 * GB)}, ""),
        ({"version": "fio-3.42"}, "different versions of fio are not compared: fio-3.33, fio-3.42"),
    ],
)
def test_rounds_beside_other_load_or_of_two_fios_stand_for_nothing(more: dict[str, Any], why: str) -> None:
    rows = measured(a_round(), a_round(), a_round(**more))
    limits = {"near": HELD, "far": HELD}
    for verdict in (
        criteria.repeatable(rows, HELD), criteria.carries(rows, against(GB), 0.9, HELD),
        criteria.answers_within(rows, 99.0, 1000, HELD), criteria.client_is_free(rows, 90, HELD),
        criteria.added_latency(THREE, rows, 1000, limits),
        criteria.settled(measured(*rows.facts, a_round(), a_round()), HELD, RULE),
    ):  # fmt: skip
        assert verdict.outcome is (Outcome.UNDECIDED if why else Outcome.PASS), verdict
        assert why in str(verdict.note)


def test_a_device_that_hardly_moves_anything_is_not_busy() -> None:
    slow = [a_round(GB / 1000, before=0.9e6, across=0.9e6) for _ in range(3)]
    assert criteria.repeatable(measured(*slow), HELD).outcome is Outcome.PASS


@pytest.mark.parametrize(("across", "outcome"), [(0.3, Outcome.PASS), (0.301, Outcome.STOP)])
def test_the_device_agrees_with_fio_in_the_other_direction_too(across: float, outcome: Outcome) -> None:
    one = a_round(watched=Watched(6.0 * GB, 90, 8, across * GB))
    assert criteria.device_agrees(measured(a_round(), one), 5, HELD).outcome is outcome
    assert criteria.device_agrees(measured(a_round(), a_round(across=across * GB)), 5, HELD).outcome is outcome


def test_a_rate_beyond_what_carries_it_was_measured_elsewhere() -> None:
    narrow = replace(HELD, ceiling=Ceiling(say("the port"), 6.0 * GB))
    fine, fast = measured(*[a_round(6.05 * GB)] * 5), measured(*[a_round(6.05 * GB)] * 4, a_round(6.07 * GB))
    for found, outcome in ((fine, Outcome.PASS), (fast, Outcome.UNDECIDED)):
        for verdict in (
            criteria.repeatable(found, narrow), criteria.carries(found, against(GB), 0.9, narrow),
            criteria.device_agrees(found, 5, narrow), criteria.settled(found, narrow, RULE),
            criteria.answers_within(found, 99.0, 1000, narrow), criteria.client_is_free(found, 90, narrow),
        ):  # fmt: skip
            assert verdict.outcome is outcome
            assert outcome is Outcome.PASS or "it was measured elsewhere" in str(verdict.note)


def test_what_nobody_declared_is_asked_for_and_passes_nothing() -> None:
    nameless = replace(HELD, ceiling=say("declare the ports"))
    assert str(criteria.repeatable(THREE, nameless).note) == "declare the ports"
    lacking = say("declare the sheet")
    rows = measured(*[a_round()] * 5)
    for verdict in (
        criteria.carries(rows, lacking, 0.9, HELD),
        criteria.carries_settled(rows, lacking, 0.9, HELD, RULE),
    ):
        assert (verdict.outcome, str(verdict.note)) == (Outcome.UNDECIDED, "declare the sheet")


@pytest.mark.parametrize(("reference", "outcome"), [(6.0 / 0.9, Outcome.PASS), (6.68, Outcome.STOP)])
def test_small_requests_are_held_to_their_reference_once_they_are_steady(reference: float, outcome: Outcome) -> None:
    rows = measured(a_round(9.0 * GB), *[a_round()] * 5)
    verdict = criteria.carries_settled(rows, against(reference * GB, 4096), 0.9, HELD, RULE)
    assert verdict.outcome is outcome
    assert "operations/s (90% of" in str(verdict.required)
    unsteady = measured(*(a_round(rate * GB) for rate in (9, 8, 7, 6, 5)))
    assert criteria.carries_settled(unsteady, against(GB), 0.9, HELD, RULE).outcome is Outcome.UNDECIDED


def test_a_floor_holds_below_a_small_reference() -> None:
    assert criteria.carries(THREE, against(GB), 0.2, HELD, floor=6.0 * GB).outcome is Outcome.PASS
    verdict = criteria.carries(THREE, against(GB), 0.2, HELD, floor=6.1 * GB)
    assert (verdict.outcome, str(verdict.required)) == (Outcome.STOP, "at least 6.1 GB/s, whatever was promised")
