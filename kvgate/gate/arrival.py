"""G1 asked again at the end of a soak: its gate tests, on its subjects, by the same agreement, on answers of this run."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from checks.phrase import say
from checks.verdict import Verdict
from kvgate.agreement import Agreement
from kvgate.errors import DECLARABLE, CannotTell, Unsupported
from kvgate.evidence.store import Evidence
from kvgate.gate import noted
from kvgate.gate.ask import Asked, Rehearsal, Rehearsed
from kvgate.gate.declared import declared, instead
from kvgate.gate.rehearsal import dry
from kvgate.inventory.model import Rack
from kvgate.inventory.subjects import owed

if TYPE_CHECKING:  # the database is loaded when a run begins, journals with G4 alone
    from checks.soak.arrival import Arrived
    from kvgate.gate.body import GateTest
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunRecord

#: Kind of the journal line that holds what of G1 was no PASS when G1 passed.
ACCEPTED = "arrival"


def keep(evidence: Evidence, ledger: Ledger, run: RunRecord) -> None:
    """Take what was no PASS in the G1 that passed into the evidence, once. Raises Unwritable."""
    if evidence.notes(ACCEPTED):
        return
    rows = [
        [*item[:2], row.verdict.outcome.value]
        for item, row in ledger.recorded(run).items()
        if row.verdict.outcome.value != "PASS"
    ]
    noted.keep(evidence, ACCEPTED, {"accepted": rows}, gate=run.gate, run=run.id, count=len(rows))


def accepted(evidence: Evidence) -> dict[tuple[str, str], str]:
    """What was no PASS then, by clause and subject. Raises Damaged."""

    def places(document: Mapping[str, Any]) -> dict[tuple[str, str], str]:
        return {(str(row[0]), str(row[1])): str(row[2]) for row in noted.rows(document, "accepted")}

    return noted.read(evidence, ACCEPTED, "what of G1 was accepted", places) or {}


class Arrival:
    """What of G1 is asked again of one rack by one agreement: blocking clauses that are measured, less those that are left out."""

    def __init__(self, rack: Rack, agreement: Agreement) -> None:
        self._rack, self._agreement = rack, agreement

    def rehearse(self, ask: Rehearsal, left_out: Collection[str]) -> None:
        """Note every question of theirs."""
        for test in self._tests(left_out):
            with suppress(Rehearsed, Exception):
                test.body(**test.arguments(ask, self._terms(test), dry, dry))

    def judge(self, ask: Asked, left_out: Collection[str]) -> Arrived:
        """Judge each on the answers of this run; what cannot be told is UNDECIDED, or what was declared instead."""
        from checks.soak.arrival import Arrived

        now = {(test.owed.clause, test.owed.subject): self._judged(test, ask) for test in self._tests(left_out)}
        return Arrived(now, accepted(ask.answers.evidence))

    def _judged(self, test: GateTest, ask: Asked) -> Verdict:
        given: list[Verdict] = []
        try:
            test.body(**test.arguments(ask, self._terms(test), given.append, lambda: declared(self._rack, test.owed)))
        except CannotTell as error:
            verdict = Verdict.undecided(error.phrase)
            if isinstance(error, DECLARABLE):
                return instead(self._rack, test.owed, verdict, type(error).__name__).verdict
            return verdict
        if len(given) != 1:
            return Verdict.undecided(say("the test decided {count} times instead of once", count=len(given)))
        if given[0].declarable:
            return instead(self._rack, test.owed, given[0], Unsupported.__name__).verdict
        return given[0]

    def _terms(self, test: GateTest) -> dict[str, Any]:
        limits = self._agreement.acceptance.clauses[test.owed.clause].limits
        return {name: limit.value for name, limit in limits.items()}

    def _tests(self, left_out: Collection[str]) -> Iterator[GateTest]:
        from kvgate.gate.body import GateTest, bodies

        clauses = self._agreement.acceptance.clauses
        for item, thing in owed(self._agreement.acceptance, self._rack, "G1"):
            clause, body = clauses[item.clause], bodies("G1").get(item.clause)
            if body is not None and item.blocking and clause.answer == "measured" and item.clause not in left_out:
                yield GateTest(item, thing, body, tuple(inspect.signature(body).parameters))
