"""One run of one gate, from what it owes to its decision. Knows nothing of pytest."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks.acceptance import Clause
from checks.decision import Decision, Owed, decide
from checks.phrase import say
from checks.verdict import Outcome, Verdict
from kvgate.agreement import Agreement
from kvgate.codec import Seal
from kvgate.errors import DECLARABLE, CannotTell, Unsupported, Unwritable
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.ask import Asked, Asker, Rehearsal, Rehearsed
from kvgate.gate.collect import Progress, collect
from kvgate.inventory.reader import Inventory
from kvgate.inventory.subjects import Thing
from kvgate.transport.base import Transport

if TYPE_CHECKING:  # the database is loaded when a run begins, not with every pytest
    from kvgate.ledger.repository import Ledger, RunHandle, VerdictRow


class NotDeclared(CannotTell):
    """Nobody has answered, in the inventory, for a fact that cannot be asked."""


@dataclass(frozen=True)
class GateTest:
    """One gate test on one subject: the callable and the names of its parameters."""

    owed: Owed
    thing: Thing
    body: Callable[..., None]
    parameters: tuple[str, ...]

    def arguments(self, ask: Asker, terms: Mapping[str, Any], decide_: Any, declared: Any) -> dict[str, Any]:
        """Fill the parameters; the one that is none of ours is the subject."""
        known = {"ask": ask, "terms": terms, "decide": decide_, "declared": declared}
        return {name: known.get(name, self.thing) for name in self.parameters}


@dataclass
class Judged:
    """A verdict as recorded: how it was reached and on which evidence."""

    verdict: Verdict
    basis: str = "measured"  # or "declared"
    reason: str = ""  # class name of what could not be told
    evidence: tuple[int, ...] = ()


@dataclass
class GateSession:
    """Everything of one run. ``tests`` is what was collected; ``owed`` is what must be decided, whether collected or not."""

    gate: str
    inventory: Inventory
    agreement: Agreement
    owed: Sequence[tuple[Owed, Thing]]
    ledger: Ledger | None = None  # None when judging a folder without one
    evidence: Evidence | None = None
    run: RunHandle | None = None
    answers: Answers | None = None
    judged: dict[Owed, Judged] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    decided: Decision | None = None  # as read back from the ledger
    _waiting: list[Owed] = field(default_factory=list)

    # ---- what will be asked

    def rehearse(self, tests: Sequence[GateTest]) -> Rehearsal:
        """Run every test dry. A body that fails without answers is a fault of kvgate and is raised."""
        rehearsal = Rehearsal()
        for test in tests:
            try:
                arguments = test.arguments(rehearsal, self.terms(test.owed), _dry, _dry)
                test.body(**arguments)
            except Rehearsed:
                continue
        return rehearsal

    def clause(self, owed: Owed) -> Clause:
        """Return the clause of an owed verdict."""
        return self.agreement.acceptance.clauses[owed.clause]

    def terms(self, owed: Owed) -> dict[str, Any]:
        """Limits of a clause: name -> value."""
        return {name: limit.value for name, limit in self.clause(owed).limits.items()}

    def look(self, tests: Sequence[GateTest], transport: Transport, progress: Progress | None = None) -> None:
        """Go and ask everything that the tests need; raw bytes are on disk when this returns."""
        rehearsal = self.rehearse(tests)
        assert self.evidence is not None  # noqa: S101 - a run that looks has an evidence folder
        self.answers = collect(rehearsal.needs, sorted(rehearsal.hosts), transport, self.evidence, progress)

    # ---- the one place where "could not tell" becomes UNDECIDED

    def judge(self, test: GateTest) -> Judged:
        """Run one test on the kept answers and record its verdict."""
        assert self.answers is not None  # noqa: S101 - judged after looking
        asked = Asked(self.answers)
        given: list[Verdict] = []
        try:
            test.body(**test.arguments(asked, self.terms(test.owed), given.append, lambda: self._declared(test.owed)))
        except CannotTell as error:
            judged = self._could_not_tell(test.owed, error)
        except Exception as error:
            note = say("kvgate failed on this clause: {kind}: {error}", kind=type(error).__name__, error=str(error))
            judged = Judged(Verdict.undecided(note), reason=type(error).__name__)
            self.trouble.append(f"{test.owed.clause} {test.owed.subject}: {type(error).__name__}: {error}")
        else:
            if len(given) == 1 and given[0].declarable:
                judged = self._could_not_tell(test.owed, Unsupported(given[0].note or ""), given[0])
            elif len(given) == 1:
                judged = Judged(given[0], "declared" if self.clause(test.owed).answer == "declared" else "measured")
            else:
                judged = Judged(
                    Verdict.undecided(say("the test decided {count} times instead of once", count=len(given)))
                )
        judged.evidence = tuple(dict.fromkeys(asked.used))
        self.record(test.owed, judged)
        return judged

    def _could_not_tell(self, owed: Owed, error: CannotTell, verdict: Verdict | None = None) -> Judged:
        if isinstance(error, DECLARABLE):
            try:
                verdict = self._declared(owed)
            except NotDeclared:
                pass
            else:
                note = say("declared, because it could not be measured: {reason}", reason=error.phrase)
                return Judged(verdict.with_note(note), "declared", type(error).__name__)
        undecided = replace(verdict, declarable=False) if verdict else Verdict.undecided(error.phrase)
        return Judged(undecided, reason=type(error).__name__)

    def _declared(self, owed: Owed) -> Verdict:
        found = [
            one
            for one in self.inventory.rack.declared
            if one.clause == owed.clause and fnmatchcase(owed.subject, one.subject)
        ]
        if (
            found
        ):  # of several answers the bad one counts: a wide "all is well" never covers what somebody saw on one port
            declaration = min(found, key=lambda one: one.conforms)
            note = say("declared by {who} on {day}", who=declaration.by, day=declaration.on.isoformat())
            return Verdict.of(declaration.conforms, declaration.value, say("what the clause says"), note=note)
        raise NotDeclared(
            say(
                "nobody has answered for it: add {clause} on {subject} to `declared` in the inventory, with who says so",
                clause=owed.clause,
                subject=owed.subject,
            )
        )

    # ---- keeping

    def record(self, owed: Owed, judged: Judged) -> None:
        """Keep a verdict; written to ledger and journal in groups."""
        self.judged[owed] = judged
        self._waiting.append(owed)
        if len(self._waiting) >= 256:
            self.write()

    def write(self) -> None:
        """Write the waiting verdicts. A failure is remembered: the run cannot pass any more."""
        waiting, self._waiting = self._waiting, []
        rows = [self._row(owed) for owed in waiting]
        try:
            if self.ledger is not None and self.run is not None:
                self.ledger.record(self.run, rows)
        except Unwritable as error:
            self.trouble.append(str(error))

    def _row(self, owed: Owed) -> VerdictRow:
        from kvgate.ledger.repository import VerdictRow

        judged = self.judged[owed]
        return VerdictRow(owed.clause, owed.subject, judged.verdict, judged.evidence, judged.basis, judged.reason)

    def decision(self) -> Decision:
        """Return the decision on what is recorded so far."""
        return decide([item for item, _ in self.owed], {item: judged.verdict for item, judged in self.judged.items()})

    def finish(self) -> Decision:
        """Write the decision, read it back, and give what was read. Unwritable or different: never PASS."""
        self.write()
        self.decided = self._finish(self.decision())
        return self.decided

    def _finish(self, decision: Decision) -> Decision:
        if self.ledger is None or self.run is None:
            return decision
        try:
            if self.evidence is not None:
                self.evidence.note("decision", outcome=decision.outcome.value, verdicts=len(decision.verdicts))
                self.evidence.sync()
                if problems := self.evidence.verify().problems:
                    raise Unwritable(f"evidence does not read back as written: {problems[0]}")
            seal = Seal(0, "", "") if self.evidence is None else self.evidence.seal()
            stored = self.ledger.finish(self.run, decision, seal=seal)
            if stored is not decision.outcome:
                raise Unwritable(f"the ledger reads {stored} back where {decision.outcome} was written")
        except Unwritable as error:
            self.trouble.append(str(error))
        if self.trouble and decision.outcome is Outcome.PASS:
            return Decision(Outcome.UNDECIDED, decision.verdicts)
        return decision

    def interrupt(self, why: str) -> None:
        """Write what was decided so far and that the run ended early: it stays UNDECIDED and can be taken up again."""
        try:
            self.write()
            if self.evidence is not None:
                self.evidence.note("interrupted", why=why)
                self.evidence.sync()
            if self.ledger is not None and self.run is not None:
                self.ledger.interrupt(self.run, why)
        except Unwritable as error:
            self.trouble.append(str(error))


def _dry(*_: object, **__: object) -> Any:
    raise Rehearsed


def operator() -> str:
    """Who runs this, as far as the machine knows."""
    return os.environ.get("KVGATE_OPERATOR") or os.environ.get("USER") or "unknown"


def evidence_folder(root: Path, run: str) -> Path:
    """Where the evidence of a run lies."""
    return root / run
