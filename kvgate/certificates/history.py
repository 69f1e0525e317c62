"""A certificate against a ledger that knows its run: attempts before it, its start ticket, its place in the decision log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.phrase import Phrase, listed, say
from checks.verdict import Outcome
from kvgate.certificates import soak_book
from kvgate.certificates.decision import Attempt, BegunSoak, Certificate
from kvgate.certificates.examine import Check
from kvgate.errors import Refused
from kvgate.ledger.chain import GENESIS
from kvgate.ledger.racks import Racks
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, StoredDecision


def attempts_before(ledger: Ledger, run: RunRecord) -> Iterator[Attempt]:
    """Every earlier attempt at this gate in this campaign, and on this rack under any other name."""
    for other in Racks(ledger).attempts(run):
        standing = ledger.outcome(other)
        entries = [one for one in ledger.decisions(other) if one.judgement == 1 and one.kind != "waived"]
        yield Attempt(
            campaign=other.campaign,
            attempt=other.attempt,
            run=other.id,
            outcome=standing.outcome.value,
            state=other.state,
            started=other.started,
            ended=other.ended or "",
            ticket=other.ticket_digest,
            decision=entries[-1].hash if entries else "",
        )


def soaks_before(ledger: Ledger, run: RunRecord) -> Iterator[BegunSoak]:
    """The soak that a run of G4 judged, and every one begun before it that came to no verdict."""
    if run.gate != "G4":
        return
    found = soak_book.until(ledger, run)
    left = {one.soak for one in found.abandoned(found.judged or "-")}
    for one in found.soaks:
        if one.soak == found.judged or one.soak in left:
            yield BegunSoak(
                soak=one.soak, judged=one.soak == found.judged, started=one.started, times=one.times, stopped=one.stopped,
                removed=one.removed, runs=tuple(name for name, _ in one.runs if name != run.id),
            )  # fmt: skip


def counted(certificate: Certificate, ledger: Ledger) -> Check:
    """Compare what a certificate says of the run's history with a ledger; UNDECIDED where the ledger has not this run."""
    found = certificate.predicate
    try:
        run = next((one for one in ledger.runs(gate=found.gate) if one.id == found.run), None)
        if run is None:
            return Check("attempts", Outcome.UNDECIDED, say("the ledger has no run {run}", run=found.run))
        wrong = [*_unlike(certificate, run, ledger)]
    except Refused as error:
        return Check("attempts", Outcome.UNDECIDED, error.phrase)
    if wrong:
        return Check("attempts", Outcome.STOP, listed(wrong))
    told = say(
        "attempt {number}; {count} before it, all of them in the ledger",
        number=found.attempt,
        count=len(found.attempts),
    )
    return Check("attempts", Outcome.PASS, told)


def _unlike(certificate: Certificate, run: RunRecord, ledger: Ledger) -> Iterator[Phrase]:
    found = certificate.predicate
    if (found.campaign, found.attempt) != (run.campaign, run.attempt):
        yield say(
            "signed as attempt {signed} of {campaign}, the ledger has it as attempt {number} of {there}",
            signed=found.attempt, campaign=found.campaign, number=run.attempt, there=run.campaign,
        )  # fmt: skip
    if found.ticket != run.ticket_digest:
        yield say("another start ticket than the ledger has")
    ends = {entry.hash: entry.utc for entry in ledger.decisions(run)}
    if ends.get(found.entry.hash, found.finished) != found.finished:
        yield say(
            "signed as finished {signed}, the ledger has {there}", signed=found.finished, there=ends[found.entry.hash]
        )
    signed, there = {one.run: one for one in found.attempts}, {one.run: one for one in attempts_before(ledger, run)}
    decisions = ledger.decisions()
    for name in dict.fromkeys((*there, *signed)):
        entries = [one for one in decisions if one.run == name and one.judgement == 1]
        if name not in signed or name not in there or not _said_then(signed[name], there[name], entries, found.log.seq):
            yield _attempt(signed.get(name), there.get(name))
    begun = {one.soak: one for one in found.soaks}
    for one in soaks_before(ledger, run):
        if begun.pop(one.soak, None) != one:
            yield say(
                "it does not name soak {soak} as the ledger has it: begun {utc}",
                soak=one.soak,
                utc=one.started[:19] or "-",
            )
    for name in begun:
        yield say("it names soak {soak}, which the ledger does not have", soak=name)
    log = {0: GENESIS, **{entry.seq: entry.hash for entry in decisions}}
    for seq, value in ((found.entry.seq, found.entry.hash), (found.log.seq, found.log.hash)):
        if log.get(seq) != value:
            yield say("entry {seq} of the decision log is another one in the ledger", seq=seq)
            return


def _said_then(signed: Attempt, there: Attempt, entries: Sequence[StoredDecision], head: int) -> bool:
    """Whether a certificate says of an attempt what the log said up to its own head. ``entries`` are those of the attempt.

    What came of the attempt later (it was closed, finished, waived) makes an honest certificate no lie.
    """
    fixed = ("campaign", "attempt", "run", "started", "ticket")
    if any(getattr(signed, name) != getattr(there, name) for name in fixed):
        return False
    own = [one for one in entries if one.kind != "waived"]
    then = [one for one in own if one.seq <= head]
    named = {one.hash for one in entries if one.seq <= head} if then else {""}
    if signed.decision not in named:
        return False
    if len(then) == len(own):
        return (signed.outcome, signed.state, signed.ended) == (there.outcome, there.state, there.ended)
    last = then[-1] if then else None
    if last is None:
        return (signed.outcome, signed.state) == (Outcome.UNDECIDED.value, "started")
    outcome = last.outcome if last.kind == "decided" else Outcome.UNDECIDED
    return (signed.outcome, signed.state) == (outcome.value, last.kind)


def _attempt(signed: Attempt | None, there: Attempt | None) -> Phrase:
    if there is None:
        return say("it counts run {run}, which the ledger does not have before it", run=signed.run if signed else "-")
    told = {"run": there.run, "outcome": there.outcome, "state": there.state}
    if signed is None:
        return say("it does not count run {run}, which the ledger has before it: {outcome}, {state}", **told)
    return say("it says of run {run} something else than the ledger: {outcome}, {state}", **told)
