"""Deviations that both parties accept: written about verdicts of one decided run, counting when both signed, until their day.

A waiver never turns a verdict into a pass: the clause is shown as waived, and it only keeps the gate shut no longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from checks.decision import Decision, Owed, decide
from checks.phrase import Phrase, say
from checks.verdict import Outcome, Verdict
from kvgate.campaign import statements
from kvgate.campaign.documents import Document, Documents
from kvgate.campaign.statements import Deviation, Waiver
from kvgate.certificates.coherence import ends
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.statement import Resource, Sha256
from kvgate.codec import canonical, digest, printable, verdict_to_json
from kvgate.errors import NotAllowed
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, StoredVerdict, Waived


@dataclass(frozen=True, slots=True)
class Weighed:
    """One waiver of a run. ``counts`` says whether it has an effect now, ``why`` why not."""

    document: str
    said: Waiver
    signers: tuple[str, ...]
    counts: bool
    why: Phrase | None = None

    @property
    def ends(self) -> datetime:
        """The moment from which on it has no effect: the end of its last day, UTC."""
        return ends(self.said.until)

    def places(self) -> list[tuple[str, str]]:
        """Clause and subject of every verdict that it accepts."""
        return [(one.clause, one.subject) for one in self.said.deviations]


def may_be_waived(verdict: Verdict) -> bool:
    """A STOP may, and an UNDECIDED whose verdict says so; never what could not be read."""
    return verdict.outcome is Outcome.STOP or (verdict.outcome is Outcome.UNDECIDED and verdict.acceptable)


def propose(
    ledger: Ledger, run: RunRecord, clause: str, subject: str | None, reason: str, until: date, at: datetime
) -> Envelope:
    """Write a waiver, unsigned. Raises NotAllowed: not decided, nothing to waive there, or nothing that may be waived."""
    standing = ledger.outcome(run)
    if standing.problems:
        raise NotAllowed(say("run {id} cannot be waived: {why}", id=run.id, why=standing.problems[0]))
    if not standing.decided:
        raise NotAllowed(
            say(
                "run {id} is not decided: finish it first (pytest -m {gate} --only-stale ...)", id=run.id, gate=run.gate
            )
        )
    if ends(until.isoformat()) <= at:
        raise NotAllowed(
            say(
                "found --until {until}, which is over: a waiver counts until the end of that day (UTC)",
                until=str(until),
            )
        )
    if len(reason.strip()) < 3:
        raise NotAllowed(say("found no reason, wanted --reason 'why both parties accept it'"))
    rows = {
        item: row
        for item, row in ledger.recorded(run).items()
        if item.clause == clause and subject in (None, item.subject)
    }
    if not rows:
        raise NotAllowed(
            say(
                "run {id} has no verdict of {clause} on {subject}: kvgate show {id}",
                id=run.id,
                clause=clause,
                subject=subject or say("any subject"),
            )
        )
    deviations = [_deviation(item, row) for item, row in rows.items() if item.blocking and may_be_waived(row.verdict)]
    if not deviations:
        raise NotAllowed(_nothing(run, rows))
    decision = [one for one in ledger.decisions(run) if one.judgement == 1 and one.kind == "decided"][-1]
    said = Waiver(
        campaign=run.campaign, run=run.id, gate=run.gate, attempt=run.attempt, ticket=run.ticket_digest,
        decision=decision.hash, deviations=tuple(deviations), reason=reason.strip(), until=until.isoformat(),
        written=at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )  # fmt: skip
    subjects = [Resource(name=f"decision/{run.id}", digest=Sha256(sha256=decision.hash))]
    if decision.evidence_root:
        subjects.append(Resource(name=f"evidence/{run.id}", digest=Sha256(sha256=decision.evidence_root)))
    return statements.write(statements.WAIVER, said, subjects)


def _deviation(item: Owed, row: StoredVerdict) -> Deviation:
    verdict = row.verdict
    return Deviation(
        clause=item.clause, subject=item.subject, outcome="STOP" if verdict.outcome is Outcome.STOP else "UNDECIDED",
        measured=printable(verdict.measured)[:4000], required=printable(verdict.required)[:4000],
        note=printable(verdict.note)[:4000], verdict=verdict_digest(verdict),
    )  # fmt: skip


def verdict_digest(verdict: Verdict) -> str:
    """SHA-256 of a verdict as the ledger keeps it."""
    return digest(canonical(verdict_to_json(verdict)))


def _nothing(run: RunRecord, rows: Mapping[Owed, StoredVerdict]) -> Phrase:
    item, row = next(iter(rows.items()))
    if all(one.verdict.outcome is Outcome.PASS for one in rows.values()):
        return say("{clause} passed in run {id}: there is nothing to waive", clause=item.clause, id=run.id)
    if not item.blocking:
        return say("{clause} is advisory: it keeps no gate shut, so there is nothing to waive", clause=item.clause)
    return say(
        "{clause} on {subject} could not be told ({why}): what is not known cannot be accepted; mend that, then: "
        "pytest -m {gate} --only-stale ...",
        clause=item.clause,
        subject=item.subject,
        why=row.verdict.note or row.reason,
        gate=run.gate,
    )


def waivers_of(ledger: Ledger, run: RunRecord, documents: Documents) -> list[Weighed]:
    """Every waiver about a run, the newest form of each, with whether it has an effect at ``documents.at``."""
    recorded = ledger.recorded(run)
    logged = documents.waived(run)
    last = documents.last(run)
    found: dict[str, Weighed] = {}
    for one in documents.waivers:
        if one.said.run == run.id:
            why = _flaw(one, run, recorded, documents.at, None if last is None else last.hash)
            if documents.trust is None:
                why = say("it is not known whose signatures count, so it was not weighed")
            if why is None and one.digest not in logged:
                why = say("not entered in the decision log yet: kvgate cosign enters it")
            known = found.get(one.digest)
            if known is None or not known.counts:
                found[one.digest] = Weighed(one.digest, one.said, one.signers, why is None, why)
    return list(found.values())


def contradicts(ledger: Ledger, run: RunRecord, said: Waiver) -> Phrase | None:
    """What a waiver says that the ledger does not; None when they agree."""
    own = [one for one in ledger.decisions(run) if one.judgement == 1 and one.kind != "waived"]
    return _unlike(said, run, ledger.recorded(run), own[-1].hash if own else None)


def _flaw(
    one: Document[Waiver], run: RunRecord, recorded: Mapping[Owed, StoredVerdict], at: datetime, decision: str | None
) -> Phrase | None:
    """Why a waiver has no effect, apart from the log; None when it has."""
    if one.refused:
        return say("it carries a signature that does not count")
    if not one.final:
        return (
            say("signed by {party} only", party=one.signers[0])
            if one.signers
            else say("signed by nobody whose key counts")
        )
    if ends(one.said.until) <= at:
        return say("it counted until {until}", until=one.said.until)
    return _unlike(one.said, run, recorded, decision)


def _unlike(
    said: Waiver, run: RunRecord, recorded: Mapping[Owed, StoredVerdict], decision: str | None
) -> Phrase | None:
    if said.ticket != run.ticket_digest or said.decision != decision:
        return say("it is about another decision than the run's last one")
    known = {item[:2]: row.verdict for item, row in recorded.items()}
    for deviation in said.deviations:
        verdict = known.get((deviation.clause, deviation.subject))
        if verdict is None or verdict_digest(verdict) != deviation.verdict:
            return say(
                "{clause} on {subject} came to something else than it says",
                clause=deviation.clause,
                subject=deviation.subject,
            )
        if not may_be_waived(verdict):
            return say(
                "{clause} on {subject} could not be told, and cannot be waived",
                clause=deviation.clause,
                subject=deviation.subject,
            )
    return None


def remaining(owed: Sequence[Owed], recorded: Mapping[Owed, StoredVerdict], waivers: Sequence[Weighed]) -> Decision:
    """Decide again with what is waived taken out of what keeps the gate shut. The waived verdicts stay what they are.

    A gate whose every blocking verdict is waived is UNDECIDED: then nothing at all was shown to be good.
    """
    waived = {place for one in waivers if one.counts for place in one.places()}
    items = {item: item._replace(blocking=item.blocking and item[:2] not in waived) for item in owed}
    return decide(list(items.values()), {items[item]: row.verdict for item, row in recorded.items() if item in items})


def settle(ledger: Ledger, run: RunRecord, documents: Documents) -> Decision | None:
    """Enter waivers that both parties have signed in the decision log, where they are not yet; None when there is none.

    The earlier decision stays in the log; the new entry names the waivers. Raises Unwritable.
    """
    recorded, logged, last = ledger.recorded(run), documents.waived(run), documents.last(run)
    fresh: list[Weighed] = []
    old = [one for one in waivers_of(ledger, run, documents) if one.counts]
    for one in documents.waivers:
        new = one.said.run == run.id and one.digest not in logged
        if new and _flaw(one, run, recorded, documents.at, None if last is None else last.hash) is None:
            fresh.append(Weighed(one.digest, one.said, one.signers, counts=True))
    if not fresh:
        return None
    every = [*old, *fresh]
    decision = remaining(ledger.owed(run), recorded, every)
    rows = [Waived(clause, subject, one.document, one.said.until) for one in every for clause, subject in one.places()]
    named = ", ".join(dict.fromkeys(f"{clause} on {subject}" for one in fresh for clause, subject in one.places()))
    ledger.waive(run, decision, rows, f"both parties accept {named}"[:2000])
    return decision
