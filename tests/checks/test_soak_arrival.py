"""G1 asked again: what fails now and held then stops with its name, what was accepted then changes nothing, silence is no success."""

from __future__ import annotations

from checks.phrase import say
from checks.soak.arrival import Arrived, as_it_arrived
from checks.verdict import Outcome, Verdict
from tests.gates.soaking import HOURS, array, node

GOOD = Verdict.of(True, "as ordered", "as ordered")
BAD = Verdict.of(False, "GDC5302Q", "GDC5602Q", note=say("another firmware"))
UNTOLD = Verdict.undecided(say("the disk does not say"))
HELD, OTHER = ("G1.2.4", "node-01/S1"), ("G1.1.2", "node-01")
SOAKS = {"fx100-a": array(), "node-01": node()}


def test_all_that_held_holds() -> None:
    found = as_it_arrived(Arrived({HELD: GOOD, OTHER: GOOD}), SOAKS)
    assert found.outcome is Outcome.PASS
    assert "2 verdicts of G1 asked again: 0 stop now" in str(found.measured)


def test_what_fails_now_is_named_with_its_clause_and_subject() -> None:
    found = as_it_arrived(Arrived({HELD: BAD, OTHER: UNTOLD}), SOAKS)
    assert found.outcome is Outcome.STOP
    assert "G1.2.4 on node-01/S1: another firmware" in str(found.note)


def test_what_cannot_be_told_now_leaves_it_undecided() -> None:
    found = as_it_arrived(Arrived({HELD: GOOD, OTHER: UNTOLD}), SOAKS)
    assert found.outcome is Outcome.UNDECIDED
    assert "G1.1.2 on node-01: the disk does not say" in str(found.note)
    assert as_it_arrived(Arrived({}), SOAKS).outcome is Outcome.UNDECIDED


def test_what_was_accepted_as_it_is_changes_nothing_and_a_change_for_the_worse_does() -> None:
    found = as_it_arrived(Arrived({HELD: BAD, OTHER: GOOD}, {HELD: "STOP"}), SOAKS)
    assert found.outcome is Outcome.PASS
    assert str(found.note) == "accepted then, and now: G1.2.4 on node-01/S1: another firmware", "it may have got worse"
    assert as_it_arrived(Arrived({HELD: GOOD}, {HELD: "STOP"}), SOAKS).note is None
    assert as_it_arrived(Arrived({HELD: UNTOLD}, {HELD: "UNDECIDED"}), SOAKS).outcome is Outcome.PASS
    assert as_it_arrived(Arrived({HELD: BAD}, {HELD: "UNDECIDED"}), SOAKS).outcome is Outcome.STOP


def test_nothing_is_said_while_the_soak_runs() -> None:
    found = as_it_arrived(Arrived({HELD: BAD}), {**SOAKS, "node-01": node(until=HOURS * 1800)})
    assert found.outcome is Outcome.UNDECIDED
    assert "the soak runs for another" in str(found.note)
