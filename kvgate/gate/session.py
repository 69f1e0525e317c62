"""One run of one gate, from what it owes to its decision. Knows nothing of pytest."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from checks.acceptance import Clause
from checks.decision import Decision, Owed, decide
from checks.phrase import Phrase, say
from checks.trial import Trial
from checks.verdict import Outcome, Verdict
from kvgate.agreement import Agreement, differences
from kvgate.campaign import seen
from kvgate.campaign.scopes import Place
from kvgate.campaign.seen import Seen
from kvgate.codec import NO_EVIDENCE
from kvgate.errors import CannotTell, KvgateError, Unwritable
from kvgate.evidence.store import Evidence
from kvgate.gate import meeting, rehearsal, verdicts
from kvgate.gate.answers import Answers
from kvgate.gate.arrival import Arrival
from kvgate.gate.ask import Asked, Rehearsal
from kvgate.gate.baseline import Baseline
from kvgate.gate.body import GateTest, TermsThen, test_of
from kvgate.gate.collect import Progress, Rounds, replay, with_rounds
from kvgate.gate.comparison import Comparison, compare
from kvgate.gate.declared import declared
from kvgate.gate.judged import Judged
from kvgate.gate.moment import Tell
from kvgate.gate.permission import NOT_PERMITTED, permitted, written
from kvgate.gate.signals import Interrupted, waiting
from kvgate.gate.stored import Then, conclude, sealed
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from kvgate.inventory.reader import Inventory
from kvgate.inventory.subjects import Thing
from kvgate.transport.base import Transport

if TYPE_CHECKING:  # the database is loaded when a run begins, not with every pytest
    from checks.soak.facts import HostSoak
    from kvgate.gate.soaked import Soaked
    from kvgate.gate.soaks import Journals
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle, SeenRow, VerdictRow

#: Verdicts written at once at most, and seconds after which they are written however few they are: few transactions, and
#: little to ask again after a crash.
_GROUP, _AFTER = 512, 0.5


@dataclass(repr=False)
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
    trouble: list[str] = field(default_factory=list)  # what could not be kept: with any of it the gate is not PASS
    remarks: list[str] = field(default_factory=list)  # faults of kvgate itself; their clauses are UNDECIDED
    destroys: frozenset[str] = frozenset()  # serials of disks that whoever started the run lets be written raw
    late: frozenset[Owed] = frozenset()  # what can be judged only after look_again
    decided: Decision | None = None  # as read back from the ledger
    before: tuple[str, Mapping[Place, Seen]] | None = None  # the gate that opened this one, and who answered there
    seen: dict[Place, Seen] = field(default_factory=dict)  # who answers here
    elsewhere: int = 0  # attempts at this gate on this rack under other names of the campaign
    recognised: Callable[[Sequence[SeenRow]], list[Phrase]] = lambda rows: []  # why a STOP elsewhere forbids it
    loud: Phrase | None = None  # that other keys of the parties count than the first attempt fixed
    unasked: dict[Owed, Phrase] = field(default_factory=dict)  # why something owed is not judged in this run
    ended: Phrase | None = None  # why the run ended before everything was judged
    interrupted: bool = False  # it ended so, and that is stored
    then: Then | None = None  # what a stored run came to, when it is judged again
    agreed: Agreement | None = None  # by which it was judged then
    bodies: dict[str, Callable[..., None]] = field(default_factory=dict)  # gate tests by clause
    _waiting: dict[Owed, None] = field(default_factory=dict)
    _written: float = field(default_factory=time.monotonic)
    _rounds: Rounds | None = None
    _trials: Trials | None = None
    _tried: Tried | None = None
    _tests: Sequence[GateTest] = ()  # that the hosts were asked for
    _looks: bool = False  # whether there are answers of hosts to judge by
    _weighed: set[Owed] = field(default_factory=set)  # judged in this sitting
    _cut: set[Owed] = field(
        default_factory=set
    )  # not judged to the end: by its time limit, or evidence that cannot be read
    journals: Journals | None = None  # a soak as it was collected; None: none was
    _soaked: Soaked | None = None

    def comparison(self) -> Comparison | None:
        """What differs from the stored verdicts and why; None for a run that is not judged again."""
        if self.then is None:
            return None
        terms = differences(self.agreed.acceptance, self.agreement.acceptance) if self.agreed else ()
        full = {item: self.judged.get(item) or Judged(verdict) for item, verdict in self.decision().verdicts}
        return compare(self.then, full, terms, self.bodies)

    # ---- what will be asked

    def rehearse(self, tests: Sequence[GateTest]) -> Rehearsal:
        """What every test asks and loads, as far as it goes without answers."""
        return rehearsal.rehearse(tests, self.terms, Baseline(self.evidence), self._again)

    def following(self, tests: Sequence[GateTest], answers: Answers | None) -> list[Trial[Any]]:
        """Loads that tests choose by ``answers``; None, as in a plan: what they load if nobody tells."""
        return rehearsal.following(tests, self.terms, Baseline(self.evidence), answers)

    @property
    def _again(self) -> Arrival:
        return Arrival(self.inventory.rack, self.agreement)

    def clause(self, owed: Owed) -> Clause:
        """Return the clause of an owed verdict."""
        return self.agreement.acceptance.clauses[owed.clause]

    def terms(self, owed: Owed) -> dict[str, Any]:
        """Limits of a clause: name -> value."""
        found = {name: limit.value for name, limit in self.clause(owed).limits.items()}
        return found if self.then is None else TermsThen(found)

    def look(
        self,
        tests: Sequence[GateTest],
        transport: Transport,
        progress: Progress | None = None,
        *,
        watch: Transport | None = None,
        tell: Tell | None = None,
    ) -> None:
        """Go and ask everything once; raw bytes are on disk when this returns. All but ``late`` can be judged then.

        ``watch`` is a second way to the hosts and ``tell`` hears how far it is, both for clauses that make load.
        """
        dry = self.rehearse(tests)
        assert self.evidence is not None  # noqa: S101 - a run that looks has an evidence folder
        self.late, self._tests, self._looks = frozenset(dry.late), tests, True
        met, clocks = meeting.met(self.gate, self.inventory.rack, dry.hosts), sorted(set(dry.clocks))
        hosts = sorted(met)
        needs = [*dry.needs, *meeting.identities(self.inventory.rack, met)]
        self._rounds = Rounds(needs, hosts, transport, self.evidence, progress, clocks=clocks)
        self.answers = with_rounds(self._rounds.answers)
        self._asking(self.answers, met)
        self._rounds.first()
        self.identify(met)
        if self.journals is not None:
            for host in sorted(set(dry.soaks)):
                with suppress(CannotTell):  # a journal that is not there is told by the clauses that need it
                    self._kept_journals().keep(host, self.journals(host), self.journals.state(host))
            self._soaked = None  # read anew from the answers that count in the end
        following = [test for test in tests if test.owed in dry.following]
        if trials := [*dry.trials, *self.following(following, self.answers)]:
            mark = f"kvgate:{self.evidence.run}"
            may, may_not = permitted(trials, self.destroys)
            for trial in may_not:
                self.evidence.note(NOT_PERMITTED, trial=trial.key, serials=sorted(written(trial)))
            self._trials = Trials(may, transport, self.answers, mark, watch=watch, tell=tell, decided=self.stop_early)

    def _asking(self, none_yet: Answers, hosts: Collection[str]) -> None:
        """Let the ledger know, before the first question, that hosts are asked: what they answer is owed from then on."""
        if self.ledger is not None and self.run is not None and not self.seen:
            found = [one for one in seen.look(self.inventory.rack, none_yet) if one.host in hosts]
            self.ledger.see(self.run, [one.row() for one in found])

    def identify(self, hosts: Collection[str]) -> None:
        """Write down who answered. Another rack than the one that opened this gate cannot pass it."""
        assert self.answers is not None  # noqa: S101 - called when they were asked
        found = [one for one in seen.look(self.inventory.rack, self.answers) if one.host in hosts]
        self.seen |= {one.place: one for one in found}
        if self.ledger is not None and self.run is not None:
            try:
                self.ledger.see(self.run, [one.row() for one in found])
            except KvgateError as error:
                self.trouble.append(str(error))
        if self.before is not None:
            gate, passed = self.before
            for phrase in seen.another(gate, passed, self.seen):
                self.trouble.append(str(phrase))
        self.trouble += [str(phrase) for phrase in self.recognised([one.row() for one in found])]

    def look_again(self) -> None:
        """Make load where clauses need it, then ask the counters a second time; stored answers are judged as they are."""
        self.write()  # counters run for seconds, load for minutes: nothing judged is kept in mind alone meanwhile
        # No load on a rack that may be another, or that nothing is kept of.
        if self._trials is not None and not self.trouble:
            self._tried = self._trials.tried
            try:
                self._trials.run()
            finally:
                self.remarks += [str(what) for what in self._trials.left]
        if self._rounds is not None:
            self._rounds.again()

    # ---- judging

    def judge(self, test: GateTest) -> Judged:
        """Run one test on the kept answers and record its verdict."""
        self._cut.add(test.owed)
        try:
            judged = self._judge(test, waiting())
        except Interrupted:
            self._cut.discard(test.owed)
            raise
        self._cut.discard(test.owed)
        self._weighed.add(test.owed)
        self.record(test.owed, judged)
        return judged

    def stop_early(self) -> bool:
        """Record what comes to STOP by what was kept until now, and write it: no end of the run, whatever it is, takes that back.

        All that is owed is judged, chosen or not. What does not come to STOP is left for later: with all answers it may be another
        verdict. Return whether a blocking STOP was found, and the ledger has it.
        """
        remarks, found = list(self.remarks), False
        chosen = {test.owed: test for test in self._tests}
        for owed, thing in self.owed if self._looks else ():
            known = self.judged.get(owed)
            told = known is not None and known.verdict.outcome is not Outcome.UNDECIDED
            if owed in self._weighed | self._cut or told or (test := chosen.get(owed) or test_of(owed, thing)) is None:
                continue
            judged = self._judge(test, nullcontext())
            if judged.verdict.outcome is Outcome.STOP:
                self.record(owed, judged)
                found = found or owed.blocking
        self.remarks = remarks  # a clause that kvgate failed on is judged again with all answers
        self.write()
        return found and not self._waiting

    def recall(self, evidence: Evidence) -> None:
        """Judge for its STOPs what an earlier sitting of the run was told and died with, before its hosts are asked anything again."""
        self.answers, self._looks = replay(evidence), True
        self.stop_early()
        self.answers = self._tried = self._soaked = None
        self._looks = False

    def _judge(self, test: GateTest, interruptible: AbstractContextManager[None]) -> Judged:
        assert self.answers is not None  # noqa: S101 - judged after looking
        asked = Asked(self.answers, self._kept_rounds, self._kept_journals, self._again)
        given: list[Verdict] = []
        rack = self.inventory.rack
        try:
            with interruptible:
                test.body(
                    **test.arguments(asked, self.terms(test.owed), given.append, partial(declared, rack, test.owed))
                )
        except CannotTell as error:
            judged = verdicts.untold(rack, test.owed, error)
        except Exception as error:
            if isinstance(error, Unwritable) and self.run is not None:
                raise  # evidence that goes while the gate runs: nothing that is judged from here on could be proved
            judged = verdicts.failed(error)
            self.remarks.append(f"{test.owed.clause} {test.owed.subject}: {type(error).__name__}: {error}")
        else:
            judged = verdicts.given(rack, self.clause(test.owed), test.owed, given)
        judged.evidence = tuple(dict.fromkeys(asked.used))
        judged.readers, judged.unasked = tuple(dict.fromkeys(asked.readers)), tuple(dict.fromkeys(asked.unasked))
        return judged

    @property
    def tried(self) -> Tried | None:
        """Rounds of load that clauses asked for; None where no clause did."""
        return self._tried

    @property
    def soaks(self) -> Mapping[str, HostSoak]:
        """What the journals told that clauses asked for, by host."""
        return self._soaked.known if self._soaked is not None else {}

    def _kept_journals(self) -> Soaked:
        """Journals of the soak, read from the evidence once each, when the first clause asks for one."""
        if self._soaked is None:
            from kvgate.gate.soaked import Soaked  # heavy, and only G4 needs it

            assert self.answers is not None  # noqa: S101 - judged after looking
            self._soaked = Soaked(self.answers)
        return self._soaked

    def _kept_rounds(self) -> Tried:
        """Rounds of trials, read from the evidence once, when the first clause asks for any."""
        if self._tried is None:
            assert self.answers is not None  # noqa: S101 - judged after looking
            self._tried = Tried(self.answers)
        return self._tried

    # ---- keeping

    def record(self, owed: Owed, judged: Judged) -> None:
        """Keep a verdict; written to ledger and journal in groups."""
        self.judged[owed] = judged
        self._waiting[owed] = None
        due = len(self._waiting) >= _GROUP or time.monotonic() - self._written > _AFTER
        if due and not self.trouble:
            self.write()

    def write(self) -> None:
        """Write the waiting verdicts. A failure is remembered: the run cannot pass any more."""
        try:
            if self.ledger is not None and self.run is not None:
                self.ledger.record(self.run, [self._row(owed) for owed in self._waiting])
            self._waiting.clear()
        except KvgateError as error:
            self.trouble.append(str(error))  # they are tried once more at the end
        self._written = time.monotonic()

    def _row(self, owed: Owed) -> VerdictRow:
        from kvgate.ledger.rows import VerdictRow

        judged = self.judged[owed]
        return VerdictRow(owed.clause, owed.subject, judged.verdict, judged.evidence, judged.basis, judged.reason)

    def decision(self) -> Decision:
        """Return the decision on what is recorded so far."""
        verdicts = {item: judged.verdict for item, judged in self.judged.items()}
        return decide([item for item, _ in self.owed], verdicts, self._why)

    def _why(self, owed: Owed) -> Phrase:
        """Why something owed has no verdict."""
        if owed in self.unasked:
            return self.unasked[owed]
        if self.ended is not None:
            return self.ended
        if self.trouble:
            return say("the run ended before this clause was decided: {why}", why=self.trouble[0])
        return say("the run ended before this clause was decided")

    @property
    def kept(self) -> int:
        """How many verdicts are in the ledger."""
        return len(self.judged) - len(self._waiting)

    def reasons(self) -> str:
        """Return every reason why something owed has no verdict, and every remark of the run, each once, for the ledger."""
        missing = (str(self._why(item)) for item, _ in self.owed if item not in self.judged)
        return "; ".join(dict.fromkeys((*missing, *self.remarks)))

    def finish(self) -> Decision:
        """Write the decision, read it back, and give what was read. What could not be kept is never PASS."""
        try:
            self.stop_early()  # of what pytest did not come to, or was not to: -x, -k
        except KvgateError as error:
            self.trouble.append(str(error))
        if self._cut:  # it may hang: who closes the run judges it without a limit
            names = ", ".join(sorted({owed.clause for owed in self._cut}))
            self.trouble.append(f"the judging of {names} was cut short: it is owed until kvgate close, or --only-stale")
        decision = self.decision()
        if self.ledger is not None and self.run is not None and not self.trouble:
            try:
                conclude(self.ledger, self.run, decision, self.reasons(), self.evidence, self.judged)
            except KvgateError as error:
                self.trouble.append(str(error))
        if self.trouble:
            self.interrupt(self.trouble[0])
            if decision.outcome is Outcome.PASS:
                decision = Decision(Outcome.UNDECIDED, decision.verdicts)
        self.decided = decision
        return decision

    def interrupt(self, why: str) -> None:
        """Write what was decided so far and that the run ended early: it can be taken up again, and is UNDECIDED unless it came to STOP.

        Its evidence is sealed when all that it comes to is in the ledger; else the next attempt waits until somebody closes this one.
        """
        self.interrupted = True
        seal = NO_EVIDENCE
        try:
            self.stop_early()
            if self.evidence is not None:
                whole = sealed(self.evidence, self.judged, "interrupted", why=why)
                seal = NO_EVIDENCE if self._waiting or self._cut else whole
        except KvgateError as error:
            if str(error) not in self.trouble:
                self.trouble.append(str(error))
        if self.ledger is not None and self.run is not None:
            try:
                self.ledger.interrupt(self.run, why, seal=seal)
            except KvgateError as error:
                self.trouble.append(f"it could not be noted either: {error}" if self.trouble else str(error))

    def close(self) -> None:
        """Let go of evidence and ledger."""
        if self.evidence is not None:
            try:
                self.evidence.close()
            except KvgateError as error:
                self.trouble.append(str(error))
        if self.ledger is not None:
            self.ledger.close()
