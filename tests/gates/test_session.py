"""The one place where verdicts become records: declarations stand in where they may, never where something was measured."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from checks.phrase import say
from checks.verdict import Outcome, Verdict
from kvgate import agreement as agreements
from kvgate.gate.answers import Answers
from kvgate.gate.body import GateTest
from kvgate.gate.judged import Judged
from kvgate.gate.operator import operator
from kvgate.gate.session import GateSession
from kvgate.inventory import reader
from kvgate.inventory.model import Declaration
from kvgate.inventory.subjects import owed
from lab.inventory import text
from lab.rack import build, fingerprint, host_key

CLAUSE = "G1.2.19"
Body = Callable[..., None]


def declaration(conforms: bool, subject: str = "*") -> Declaration:
    return Declaration(
        clause=CLAUSE, subject=subject, value="BMC log read", conforms=conforms, by="A. Person", on=date(2026, 11, 1)
    )


def judged(body: Body, *declared: Declaration) -> Judged:
    """Judge one body on the first disk of a rack whose inventory holds these declarations."""
    hosts = [(host.ordered, 42200 + n, fingerprint(host_key(host.name))) for n, host in enumerate(build(1, "rocm", ()))]
    inventory = reader.parse(text(hosts))
    inventory = replace(inventory, rack=inventory.rack.model_copy(update={"declared": declared}))
    agreement = agreements.read()
    items = owed(agreement.acceptance, inventory.rack, "G1")
    session = GateSession("G1", inventory, agreement, items)
    session.answers = Answers(None)  # type: ignore[arg-type]  # these bodies ask nothing
    item, thing = next(pair for pair in items if pair[0].clause == CLAUSE)
    return session.judge(GateTest(item, thing, body, ("disk", "decide")))


def not_offered(disk: object, decide: Callable[[Verdict], None]) -> None:
    decide(Verdict.not_offered(say("nobody counts")))


def undecided(disk: object, decide: Callable[[Verdict], None]) -> None:
    decide(Verdict.undecided(say("the output was cut")))


def stopped(disk: object, decide: Callable[[Verdict], None]) -> None:
    decide(Verdict.of(False, "1 fatal", "0"))


@pytest.mark.parametrize("conforms, outcome", [(True, Outcome.PASS), (False, Outcome.STOP)])
def test_a_declaration_stands_in_for_what_the_machine_does_not_offer(conforms: bool, outcome: Outcome) -> None:
    found = judged(not_offered, declaration(conforms))
    assert (found.verdict.outcome, found.basis) == (outcome, "declared")


def test_without_a_declaration_it_stays_undecided_with_its_own_reason() -> None:
    found = judged(not_offered)
    assert found.verdict.outcome is Outcome.UNDECIDED
    assert "nobody counts" in str(found.verdict.note)
    assert found.basis == "measured"


@pytest.mark.parametrize("body, outcome", [(undecided, Outcome.UNDECIDED), (stopped, Outcome.STOP)])
def test_a_declaration_never_stands_in_for_anything_else(body: Body, outcome: Outcome) -> None:
    found = judged(body, declaration(True))
    assert (found.verdict.outcome, found.basis) == (outcome, "measured")


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_of_two_declarations_the_bad_one_counts(order: tuple[bool, bool]) -> None:
    found = judged(not_offered, *(declaration(conforms, "*" if conforms else "fx100-a:*") for conforms in order))
    assert found.verdict.outcome is Outcome.STOP


def test_who_runs_a_gate_is_named_where_the_environment_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KVGATE_OPERATOR", "USER"):
        monkeypatch.delenv(name, raising=False)
    named = operator()
    assert named == pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setenv("KVGATE_OPERATOR", "A. Person")
    assert operator() == "A. Person"
