"""A gate opens only when every blocking verdict that is owed is a PASS."""

from __future__ import annotations

import itertools

import pytest

from checks.decision import Owed, decide
from checks.phrase import say
from checks.verdict import Outcome, Verdict, number, worst

PASS = Verdict.of(True, "1", "1")
STOP = Verdict.of(False, "2", "1")
UNDECIDED = Verdict.undecided(say("not asked"))
OUTCOMES = {"PASS": PASS, "STOP": STOP, "UNDECIDED": UNDECIDED, "absent": None}


def owed(number: int, blocking: bool = True) -> Owed:
    return Owed(f"G1.1.{number}", "node-01", blocking)


@pytest.mark.parametrize("names", itertools.product(OUTCOMES, repeat=3), ids="-".join)
def test_every_combination_of_blocking_verdicts(names: tuple[str, ...]) -> None:
    items = [owed(index) for index in range(len(names))]
    verdicts = {item: OUTCOMES[name] for item, name in zip(items, names, strict=True) if name != "absent"}
    wanted = "STOP" if "STOP" in names else "UNDECIDED" if {"UNDECIDED", "absent"} & set(names) else "PASS"
    assert decide(items, verdicts).outcome == wanted  # type: ignore[arg-type]


@pytest.mark.parametrize("advisory", [STOP, UNDECIDED])
def test_an_advisory_verdict_keeps_no_gate_shut(advisory: Verdict) -> None:
    first, second = owed(1), owed(2, blocking=False)
    decision = decide([first, second], {first: PASS, second: advisory})
    assert decision.outcome is Outcome.PASS
    assert decision.count(advisory.outcome, blocking=False) == 1
    assert decision.count(advisory.outcome) == 0


def test_a_gate_that_owes_nothing_blocking_stays_shut() -> None:
    assert decide([], {}).outcome is Outcome.UNDECIDED
    only = owed(1, blocking=False)
    assert decide([only], {only: PASS}).outcome is Outcome.UNDECIDED


def test_an_absent_verdict_is_undecided_and_says_so() -> None:
    decision = decide([owed(1)], {})
    assert decision.verdicts[0][1].outcome is Outcome.UNDECIDED
    assert "before this clause was decided" in str(decision.verdicts[0][1].note)


def test_a_verdict_that_nobody_owes_is_an_error() -> None:
    with pytest.raises(ValueError, match="nobody owes"):
        decide([owed(1)], {owed(1): PASS, owed(2): PASS})


def test_a_verdict_owed_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="owed twice"):
        decide([owed(1), owed(1)], {owed(1): PASS})


def test_the_same_clause_owed_as_blocking_and_advisory_is_an_error() -> None:
    with pytest.raises(ValueError, match="owed twice"):
        decide([owed(1), owed(1, blocking=False)], {owed(1): PASS, owed(1, blocking=False): PASS})


def test_the_worst_stands_first_and_blocking_before_advisory() -> None:
    items = [owed(1), owed(2), owed(3), owed(4, blocking=False)]
    decision = decide(items, dict(zip(items, (PASS, UNDECIDED, STOP, STOP), strict=True)))
    assert [item.clause for item, _ in decision.verdicts] == ["G1.1.3", "G1.1.2", "G1.1.1", "G1.1.4"]


def test_worst_of_several() -> None:
    assert worst([PASS, UNDECIDED, STOP, UNDECIDED]) is STOP
    assert worst([PASS, UNDECIDED]) is UNDECIDED
    assert worst([PASS, PASS]) is PASS
    with pytest.raises(ValueError, match="finding nothing"):
        worst([])


@pytest.mark.parametrize("holds", [None, 1, 0, "yes", ""])
def test_a_verdict_needs_true_or_false(holds: object) -> None:
    with pytest.raises(TypeError):
        Verdict.of(holds, "1", "1")  # type: ignore[arg-type]


def test_text_of_a_verdict_with_braces_survives() -> None:
    assert str(Verdict.of(True, "{x}", "{").measured) == "{x}"


def test_numbers() -> None:
    assert [number(value) for value in (0, 7, -1, 0.5)] == [0, 7, -1, 0.5]
    assert [number(value) for value in (None, True, "7", float("nan"), float("inf"), 10**400 and None)] == [None] * 6


def test_of_verdicts_that_could_not_be_told_the_one_no_declaration_may_answer_is_worse() -> None:
    absent, garbled = Verdict.not_offered(say("no counter")), Verdict.undecided(say("N/A"))
    assert worst([absent, garbled]) is garbled
    assert worst([absent, Verdict.of(False, "1", "0")]).outcome is Outcome.STOP
    assert worst([absent, Verdict.of(True, "0", "0")]).declarable
    assert absent.outcome is Outcome.UNDECIDED
    assert absent.with_note(say("more")).declarable
