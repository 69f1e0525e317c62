"""Every SELECT of the ledger: rows to typed values. A row that cannot be read is Damaged, never skipped."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Executable, func, select

from checks.decision import Owed
from checks.phrase import say
from checks.verdict import Outcome
from kvgate.codec import parse_object, verdict_from_json
from kvgate.errors import Damaged
from kvgate.ledger.models import (
    AcceptanceRevision,
    Campaign,
    DecisionEntry,
    InventorySnapshot,
    OwedRow,
    Run,
    VerdictEntry,
)  # fmt: skip
from kvgate.ledger.rows import Revision, RunRecord, StoredDecision, StoredVerdict

#: A run as a RunRecord, column by column.
_RUNS = (
    select(
        Run.id, Run.seq, Campaign.name, Run.gate, Run.attempt, Run.evidence, InventorySnapshot.digest,
        InventorySnapshot.fingerprint, AcceptanceRevision.digest, AcceptanceRevision.number, Run.code, Run.operator,
        Run.host, Run.simulated, Run.nonce, Run.prev, Run.ticket, Run.ticket_digest, Run.started, Run.state,
        Run.ended, Run.why,
    )
    .join(Campaign, Run.campaign_id == Campaign.id)
    .join(InventorySnapshot, Run.inventory_id == InventorySnapshot.id)
    .join(AcceptanceRevision, Run.acceptance_id == AcceptanceRevision.id)
    .order_by(Run.seq)
)  # fmt: skip


def runs(connection: Connection, campaign: str | None = None, gate: str | None = None) -> list[RunRecord]:
    """Every run, oldest first."""
    query = _RUNS
    if campaign is not None:
        query = query.where(Campaign.name == campaign)
    if gate is not None:
        query = query.where(Run.gate == gate)
    return _records(connection, query)


def run(connection: Connection, name: str) -> list[RunRecord]:
    """Return the run of that id, else all whose id begins so."""
    exact = _records(connection, _RUNS.where(Run.id == name))
    if exact:
        return exact
    return _records(connection, _RUNS.where(Run.id.startswith(name, autoescape=True)))


def _records(connection: Connection, query: Executable) -> list[RunRecord]:
    return [RunRecord(*tuple(row)) for row in connection.execute(query)]


def owed(connection: Connection, run_id: str) -> list[Owed]:
    """What the run owes, in the order it was written down."""
    query = select(OwedRow.clause, OwedRow.subject, OwedRow.blocking)
    return [Owed(*row) for row in connection.execute(query.where(OwedRow.run == run_id).order_by(OwedRow.place))]


def verdicts(connection: Connection, run_id: str, judgement: int) -> list[StoredVerdict]:
    """Every verdict row of one judgement, oldest first. Raises Damaged."""
    entry = VerdictEntry
    query = (
        select(
            entry.clause, entry.subject, entry.content, entry.outcome, entry.evidence, entry.basis, entry.reason,
            entry.judgement, entry.utc, entry.id,
        )
        .where(entry.run == run_id, entry.judgement == judgement)
        .order_by(entry.id)
    )  # fmt: skip
    found = []
    for clause, subject, content, outcome, evidence, basis, reason, number, utc, row_id in connection.execute(query):
        try:
            verdict = verdict_from_json(parse_object(content))
            lines = tuple(int(line) for line in evidence.split())
        except ValueError as error:
            raise Damaged(
                say(
                    "verdict row {row_id} ({clause} on {subject}) cannot be read: {why}",
                    row_id=row_id,
                    clause=clause,
                    subject=subject,
                    why=str(error),
                )
            ) from error
        if verdict.outcome.value != outcome:
            raise Damaged(
                say(
                    "verdict row {row_id} ({clause} on {subject}) says {outcome}, its content {content}",
                    row_id=row_id,
                    clause=clause,
                    subject=subject,
                    outcome=outcome,
                    content=verdict.outcome,
                )
            )
        found.append(StoredVerdict(clause, subject, verdict, lines, basis, reason, number, utc, row_id))
    return found


def outcomes(connection: Connection, run_id: str) -> dict[tuple[str, str], str]:
    """Return the newest outcome of each clause and subject that the run itself judged, without reading the verdicts."""
    entry = VerdictEntry
    query = select(entry.clause, entry.subject, entry.outcome).where(entry.run == run_id, entry.judgement == 1)
    return {(clause, subject): value for clause, subject, value in connection.execute(query.order_by(entry.id))}


def judgements(connection: Connection, run_id: str) -> list[int]:
    """Return the numbers of all judgements of a run; its own, 1, is always among them."""
    query = select(VerdictEntry.judgement).where(VerdictEntry.run == run_id).distinct()
    return sorted({1, *connection.execute(query).scalars()})


def raw_verdicts(connection: Connection, run_id: str, judgement: int, last: int | None = None) -> list[list[object]]:
    """Return the same rows with every column, as they are hashed; up to row ``last`` if given."""
    entry = VerdictEntry
    query = select(
        entry.id, entry.clause, entry.subject, entry.judgement, entry.outcome, entry.measured, entry.required,
        entry.unit, entry.note, entry.content, entry.evidence, entry.basis, entry.reason, entry.utc,
    ).where(entry.run == run_id, entry.judgement == judgement)  # fmt: skip
    if last is not None:
        query = query.where(entry.id <= last)
    return [list(row) for row in connection.execute(query.order_by(entry.id))]


def decisions(connection: Connection, run_id: str | None = None) -> list[StoredDecision]:
    """Entries of the decision log, oldest first. Raises Damaged."""
    entry = DecisionEntry
    query = select(
        entry.seq, entry.run, entry.judgement, entry.kind, entry.outcome, entry.passed, entry.stopped, entry.undecided,
        entry.why, entry.evidence_lines, entry.evidence_head, entry.evidence_root, entry.content, entry.prev, entry.hash,
        entry.utc,
    ).order_by(entry.seq)  # fmt: skip
    if run_id is not None:
        query = query.where(entry.run == run_id)
    try:
        return [
            StoredDecision(**{**row, "outcome": Outcome(row["outcome"])})
            for row in connection.execute(query).mappings()
        ]
    except ValueError as error:
        raise Damaged(say("a decision row cannot be read: {why}", why=str(error))) from error


def head(connection: Connection) -> tuple[int, str] | None:
    """Number and hash of the newest entry of the decision log."""
    query = select(DecisionEntry.seq, DecisionEntry.hash).order_by(DecisionEntry.seq.desc()).limit(1)
    return next(((seq, value) for seq, value in connection.execute(query)), None)


def next_seq(connection: Connection) -> int:
    """Return the number of the next run of this ledger."""
    return int(connection.execute(select(func.coalesce(func.max(Run.seq), 0))).scalar_one()) + 1


def next_attempt(connection: Connection, campaign_id: int, gate: str) -> int:
    """Return the number of the next attempt at a gate in a campaign."""
    query = select(func.coalesce(func.max(Run.attempt), 0)).where(Run.campaign_id == campaign_id, Run.gate == gate)
    return int(connection.execute(query).scalar_one()) + 1


def revisions(connection: Connection, campaign: str) -> list[Revision]:
    """Every text of the agreement that runs of a campaign went by, oldest first."""
    entry = AcceptanceRevision
    query = select(entry.number, entry.digest, entry.content, entry.frozen).join(
        Campaign, entry.campaign_id == Campaign.id
    )
    return [Revision(*row) for row in connection.execute(query.where(Campaign.name == campaign).order_by(entry.number))]


def inventories(connection: Connection, campaign: str) -> dict[str, str]:
    """Every inventory that runs of a campaign went by: digest -> text."""
    query = (
        select(InventorySnapshot.digest, InventorySnapshot.content)
        .join(Run, Run.inventory_id == InventorySnapshot.id)
        .join(Campaign, Run.campaign_id == Campaign.id)
    )
    rows = connection.execute(query.where(Campaign.name == campaign))
    return {row.digest: row.content for row in rows}


def latest(rows: Sequence[StoredVerdict]) -> dict[tuple[str, str], StoredVerdict]:
    """Return the newest verdict of each clause and subject."""
    return {(row.clause, row.subject): row for row in rows}
