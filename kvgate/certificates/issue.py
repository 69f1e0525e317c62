"""From a decided run to its certificate: ledger, evidence and a fresh judgement must say the same, or nothing is issued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from checks.decision import Owed, decide
from checks.phrase import Phrase, say
from checks.verdict import Outcome
from kvgate.certificates import ticket as tickets
from kvgate.certificates import ticketed
from kvgate.certificates.coherence import contradictions, ends
from kvgate.certificates.decision import (
    Certificate,
    Entry,
    GateDecision,
    Previous,
    SealedEvidence,
    Waiver,
)  # fmt: skip
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.history import attempts_before, soaks_before
from kvgate.certificates.proven import Judgement, Proven, clauses, party_keys, prove
from kvgate.certificates.simulated import marked, scaled
from kvgate.certificates.statement import Resource, Sha256
from kvgate.certificates.trust import PARTIES, VENDOR
from kvgate.codec import Seal
from kvgate.errors import Damaged, NotAllowed
from kvgate.evidence.store import Evidence
from kvgate.ledger.repository import Ledger, RunRecord, StoredDecision, StoredVerdict

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True)
class Ticket:
    """The start ticket of a run with the signature that counts, and the party that made it."""

    party: str
    envelope: Envelope


def certificate(
    ledger: Ledger,
    run: RunRecord,
    folder: Path,
    again: Judgement,
    *,
    previous: Previous | None,
    waivers: Sequence[Waiver] = (),
    days: int,
    ticket: Ticket | Phrase,
) -> Certificate:
    """Return the statement about a run, unsigned; ``ticket`` is its signed start ticket, or why there is none: enough for a STOP.

    Raises NotAllowed for what cannot be certified, Damaged.
    """
    entry = _decided(ledger, run, bool(waivers))
    evidence = Evidence.open(folder)
    if evidence.run != run.id:
        raise NotAllowed(
            say("{folder} is the evidence of run {run}, not of {id}", folder=str(folder), run=evidence.run, id=run.id)
        )
    seal = Seal(entry.evidence_lines, entry.evidence_head, entry.evidence_root)
    if problems := evidence.verify(seal).problems:
        raise Damaged(
            say(
                "evidence {folder} is not what was sealed: {first} ({problems} such)",
                folder=str(folder),
                first=problems[0],
                problems=len(problems),
            )
        )
    recorded = ledger.recorded(run)
    rows = {item: recorded.get(item) for item in ledger.owed(run)}
    _same(run, rows, again)
    proven = prove(evidence)
    inventory = proven.inventory
    if missing := sorted(set(PARTIES) - set(inventory.rack.parties)):
        raise NotAllowed(
            say(
                "the inventory of run {id} names no {first} under parties: nobody could co-sign",
                id=run.id,
                first=missing[0],
            )
        )
    _agree(run, proven)
    if not (run.simulated or inventory.rack.simulated) and (hosts := scaled(evidence)):
        raise NotAllowed(
            say(
                "the soak of run {id} was time-scaled on {hosts}: its hours are no hours, and outside the embedded rack they "
                "certify nothing",
                id=run.id, hosts=", ".join(hosts),
            )
        )  # fmt: skip
    issued = datetime.now(UTC)
    waived = {(one.clause, one.subject): one.document for one in waivers}
    said = proven.fields
    log = ledger.head()
    outcome = _outcome(run, rows, waived)
    if isinstance(ticket, Phrase) and outcome is Outcome.PASS:
        raise NotAllowed(say("run {id} passed, but it is not certified: {why}", id=run.id, why=ticket))
    signed = None if isinstance(ticket, Phrase) else ticket
    found = GateDecision(
        result="PASSED" if outcome is Outcome.PASS else "FAILED",
        configuration=(
            _resource("acceptance", run.acceptance_digest),
            _resource("inventory", inventory.text_digest),
            _resource("code", again.code),
        ),
        simulated=run.simulated or inventory.rack.simulated or bool(marked(evidence)),
        decision="PASS" if outcome is Outcome.PASS else "STOP",
        gate=run.gate,
        campaign=run.campaign,
        rack=said["rack"],
        run=run.id,
        attempt=run.attempt,
        attempts=tuple(attempts_before(ledger, run)),
        clauses=tuple(clauses(again, proven.acceptance, waived)),
        overlaid=said["overlaid"],
        revision=run.revision,
        waivers=tuple(waivers),
        evidence=SealedEvidence(lines=seal.lines, head=seal.head),
        hosts=said["hosts"],
        version=again.version,
        operator=run.operator,
        machine=run.host,
        started=run.started,
        finished=entry.utc,
        elapsed=said["elapsed"],
        boots=said["boots"],
        ticket=run.ticket_digest,
        ticket_signed_by="" if signed is None else "vendor" if signed.party == VENDOR else "customer",
        start_ticket=None if signed is None else tickets.carried(signed.envelope),
        parties=tuple(party_keys(run.ticket)),
        soaks=tuple(soaks_before(ledger, run)),
        entry=Entry(seq=entry.seq, hash=entry.hash),
        log=Entry(seq=log[0], hash=log[1]),
        previous=previous,
        issued=issued.strftime(_TIME),
        expires=_expires(issued, days, waivers).strftime(_TIME),
    )
    whole = Certificate(
        subject=(_resource(f"rack/{found.rack}", run.fingerprint), _resource(f"evidence/{run.id}", seal.root)),
        predicate=found,
    )
    if wrong := contradictions(whole) + ticketed.contradictions(found):
        raise NotAllowed(say("run {id} cannot be certified: {why}", id=run.id, why=wrong[0]))
    return whole


def _agree(run: RunRecord, proven: Proven) -> None:
    """What the ledger keeps of a run must be what its evidence says of it. Raises Damaged."""
    rows = {
        "gate": run.gate, "campaign": run.campaign, "run": run.id, "fingerprint": run.fingerprint,
        "acceptance": run.acceptance_digest, "attempt": run.attempt,
        "revision": run.revision, "ticket": run.ticket_digest, "operator": run.operator, "machine": run.host,
        "started": run.started,
    }  # fmt: skip
    for name, there in rows.items():
        if name not in proven.silent and proven.fields[name] != there:
            raise Damaged(
                say(
                    "run {id}: its evidence says {name} {found:.80}, the ledger has {there:.80}",
                    id=run.id, name=name, found=str(proven.fields[name]), there=str(there),
                )
            )  # fmt: skip


def _expires(issued: datetime, days: int, waivers: Sequence[Waiver]) -> datetime:
    """Return when it counts no longer: not after any waiver that it stands on."""
    return min([issued + timedelta(days=days), *(ends(one.until) for one in waivers)])


def _outcome(
    run: RunRecord, rows: Mapping[Owed, StoredVerdict | None], waived: Mapping[tuple[str, str], str]
) -> Outcome:
    """Decide again with what is waived taken out of what keeps the gate shut. Raises NotAllowed when it stays UNDECIDED."""
    items = {item: item._replace(blocking=item.blocking and item[:2] not in waived) for item in rows}
    found = decide(list(items.values()), {items[item]: row.verdict for item, row in rows.items() if row}).outcome
    if found is Outcome.UNDECIDED:
        raise NotAllowed(
            say("run {id} is UNDECIDED even with its waivers: only a complete PASS, or a STOP, is certified", id=run.id)
        )
    return found


def _decided(ledger: Ledger, run: RunRecord, waived: bool) -> StoredDecision:
    standing = ledger.outcome(run)
    if standing.problems:
        raise Damaged(
            say(
                "run {id} cannot be certified: {why}",
                id=run.id,
                why=standing.problems[0],
            )
        )
    if not standing.decided or (standing.outcome is Outcome.UNDECIDED and not waived):
        what = "is not finished" if not standing.decided else "is UNDECIDED"
        raise NotAllowed(
            say(
                "run {id} {what}: only a complete PASS, or a STOP, is certified; run the gate again (pytest -m {gate} --only-stale ...)",
                id=run.id,
                what=what,
                gate=run.gate,
            )
        )
    if standing.missing and standing.outcome is Outcome.PASS:
        first = standing.missing[0]
        raise NotAllowed(
            say(
                "run {id} is incomplete: {clause} on {subject} has no verdict",
                id=run.id,
                clause=first.clause,
                subject=first.subject,
            )
        )
    entry = [one for one in ledger.decisions(run) if one.judgement == 1 and one.kind == "decided"][-1]
    if not entry.evidence_lines:
        raise NotAllowed(say("run {id} has no sealed evidence: it cannot be certified", id=run.id))
    return entry


def _same(run: RunRecord, rows: Mapping[Owed, StoredVerdict | None], again: Judgement) -> None:
    """The evidence alone must come to what the ledger says."""
    if again.trouble:
        raise NotAllowed(say("run {id} cannot be judged again: {why}", id=run.id, why=again.trouble[0]))
    if set(again.verdicts) != set(rows):
        raise NotAllowed(say("run {id}, judged again from its evidence, owes something else than it did", id=run.id))
    for item, row in rows.items():
        now = again.verdicts[item].verdict.outcome
        if now is not (row.verdict.outcome if row else Outcome.UNDECIDED):
            raise NotAllowed(
                say(
                    "run {id}, judged again from its evidence, comes to {now} for {clause} on {subject}, the "
                    "ledger says {what}: see kvgate judge {id}",
                    id=run.id,
                    now=now,
                    clause=item.clause,
                    subject=item.subject,
                    what=row.verdict.outcome if row else "nothing",
                )
            )


def _resource(name: str, digest: str) -> Resource:
    return Resource(name=name, digest=Sha256(sha256=digest))
