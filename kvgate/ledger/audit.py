"""Is the ledger still what was written? Every ticket, every link of the decision log, every hash, recomputed from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import Connection, select

from checks.verdict import number
from kvgate.codec import canonical, digest, parse_object, printable
from kvgate.errors import Damaged
from kvgate.ledger import chain, envelopes, queries, seen
from kvgate.ledger.models import AcceptanceRevision, InventorySnapshot, Measurement, VerdictEntry
from kvgate.ledger.rows import RunRecord, StoredDecision, StoredVerdict
from kvgate.ledger.standing import standing


def check(connection: Connection, anchors: Sequence[tuple[int, str]] = ()) -> list[str]:
    """Name every problem; an empty list is good."""
    try:
        entries = queries.decisions(connection)
        runs = queries.runs(connection)
    except Damaged as error:
        return [str(error)]
    found = _log(connection, entries, anchors) + _numbers(runs) + _texts(connection)
    found += envelopes.check(connection)
    for run in runs:
        try:
            found += _run(connection, run, [entry for entry in entries if entry.run == run.id])
        except Damaged as error:
            found.append(f"run {run.id}: {error}")
    known = {run.id for run in runs}
    found += [
        f"decision {entry.seq} is about run {entry.run}, which is not there"
        for entry in entries
        if entry.run not in known
    ]
    return found


def _log(connection: Connection, entries: Sequence[StoredDecision], anchors: Sequence[tuple[int, str]]) -> list[str]:
    found = []
    prev = chain.GENESIS
    for place, entry in enumerate(entries, start=1):
        if entry.seq != place:
            found.append(f"decision {place} is missing from the log: {entry.seq} stands in its place")
            place = entry.seq
        if entry.prev != prev:
            found.append(f"decision {entry.seq} does not follow the one before it: one was changed, removed or added")
        if digest(entry.content) != entry.hash:
            found.append(f"decision {entry.seq} was changed: its content has another hash")
        found += _entry(connection, entry)
        prev = entry.hash
    hashes = {entry.seq: entry.hash for entry in entries}
    hashes[0] = chain.GENESIS
    for seq, value in anchors:
        if hashes.get(seq) != value:
            what = "is missing" if seq not in hashes else "is not the one"
            found.append(f"decision {seq} {what} that was anchored outside: the log was cut or written anew")
    return found


def _entry(connection: Connection, entry: StoredDecision) -> list[str]:
    try:
        content = parse_object(entry.content)
        last = content.get("last")
        if not isinstance(last, int):
            raise ValueError("it does not say which verdicts it decides on")
    except ValueError as error:
        return [f"decision {entry.seq} was changed: {error}"]
    found = [
        f"decision {entry.seq} was changed: its column {name} says something else"
        for name in chain.differs(entry, content)
    ]
    rows = queries.raw_verdicts(connection, entry.run, entry.judgement, last)
    if digest(canonical(rows)) != content.get("verdicts"):
        found.append(f"verdicts of run {entry.run} are not those that decision {entry.seq} was made on")
    if "seen" in content and seen.differs(connection, entry.run, content["seen"]):
        found.append(f"who answered in run {entry.run} is not what decision {entry.seq} was made on")
    return found


def _numbers(runs: Sequence[RunRecord]) -> list[str]:
    found = []
    for place, run in enumerate(runs, start=1):
        if run.seq != place:
            found.append(f"run number {place} is missing: {run.seq} ({run.id}) stands in its place")
            break
    attempts: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        attempts.setdefault((run.campaign, run.gate), []).append(run.attempt)
    for (campaign, gate), numbers in attempts.items():
        if numbers != list(range(1, len(numbers) + 1)):
            found.append(f"attempts at {gate} in campaign {campaign} are {numbers}: one is missing")
    return found


def _texts(connection: Connection) -> list[str]:
    table = InventorySnapshot
    found = []
    for row in connection.execute(select(table.id, table.digest, table.content)):
        if digest(row.content) != row.digest:
            found.append(f"inventory {row.id} was changed: its text has another digest")
    for row in connection.execute(select(AcceptanceRevision.id, AcceptanceRevision.digest, AcceptanceRevision.content)):
        if not _same_agreement(row.content, row.digest):
            found.append(f"agreement {row.id} was changed: its text has another digest")
    return found


def _same_agreement(content: str, wanted: str) -> bool:
    """Layout does not count: the digest is over the clauses (see Acceptance.digest)."""
    import json

    try:
        clauses = parse_object(content)
    except ValueError:
        return False
    return digest(json.dumps(clauses, sort_keys=True, ensure_ascii=False, separators=(",", ":"))) == wanted


def _run(connection: Connection, run: RunRecord, entries: Sequence[StoredDecision]) -> list[str]:
    owed = queries.owed(connection, run.id)
    found = []
    if digest(run.ticket) != run.ticket_digest or chain.expected_ticket(run, owed) != run.ticket:
        found.append(f"run {run.id} was changed: it, or what it owes, is not what its start ticket says")
    for judgement in sorted({1, *(entry.judgement for entry in entries)}):
        rows = queries.verdicts(connection, run.id, judgement)
        found += _columns(connection, run, judgement, rows)
        found += _measured(connection, run, judgement, rows)
        if judgement == 1:
            found += standing(run, owed, rows, entries).problems
    return found


def _columns(connection: Connection, run: RunRecord, judgement: int, rows: Sequence[StoredVerdict]) -> list[str]:
    """The texts that people read must be those of the verdict itself."""
    entry = VerdictEntry
    query = select(entry.id, entry.measured, entry.required, entry.unit, entry.note)
    texts = {
        row.id: tuple(row)[1:]
        for row in connection.execute(query.where(entry.run == run.id, entry.judgement == judgement))
    }
    return [
        f"verdict row {row.id} of run {run.id} was changed: its texts are not those of its verdict"
        for row in rows
        if texts.get(row.id)
        != (
            printable(row.verdict.measured),
            printable(row.verdict.required),
            row.verdict.unit,
            printable(row.verdict.note),
        )
    ]


def _measured(connection: Connection, run: RunRecord, judgement: int, rows: Sequence[StoredVerdict]) -> list[str]:
    table = Measurement
    query = select(table.clause, table.subject, table.name, table.value, table.unit)
    stored: Counter[tuple[object, ...]] = Counter(
        tuple(row) for row in connection.execute(query.where(table.run == run.id, table.judgement == judgement))
    )
    wanted: Counter[tuple[object, ...]] = Counter(
        (row.clause, row.subject, quantity.name, number(quantity.value), quantity.unit)
        for row in rows
        for quantity in row.verdict.quantities
    )
    wrong = sorted({f"{place[0]} on {place[1]}" for place in (stored - wanted) + (wanted - stored)})
    return [f"measurements of run {run.id} were changed: {', '.join(wrong[:3])}"] if wrong else []
