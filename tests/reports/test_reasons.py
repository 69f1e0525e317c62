"""One trouble that leaves many clauses undecided is told once."""

from __future__ import annotations

from checks.decision import Owed
from checks.phrase import say
from checks.verdict import Verdict
from kvgate.reports.reasons import shared

DOWN = Verdict.undecided(say("{host} is down", host="node-01"))


def test_a_reason_of_many_clauses_is_shared() -> None:
    rows = [(Owed(f"G1.1.{number}", "node-01", True), DOWN) for number in range(4)]
    other = (Owed("G1.1.9", "node-02", True), Verdict.undecided(say("no such tool")))
    assert shared([*rows, other]) == {DOWN.note: [owed for owed, _ in rows]}


def test_one_clause_on_many_subjects_stays_a_clause() -> None:
    assert shared([(Owed("G1.2.1", f"disk {number}", True), DOWN) for number in range(9)]) == {}


def test_what_was_measured_or_stopped_is_never_hidden() -> None:
    half = Verdict.undecided(say("why"), measured="7")
    stop = Verdict.of(False, "1", "2", note=say("why"))
    assert shared([(Owed(f"G1.1.{number}", "x", True), half if number % 2 else stop) for number in range(9)]) == {}
