"""Is the ledger still what was written? Every ticket, every link of the decision log, every hash, recomputed from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlalchemy import Connection, select

from checks.verdict import number
from kvgate.codec import canonical, digest, parse_object, printable
from kvgate.errors import Damaged
from kvgate.ledger import chain, clocks, envelopes, queries, seen
from kvgate.ledger.findings import Finding
from kvgate.ledger.models import AcceptanceRevision, InventorySnapshot, Measurement, VerdictEntry
from kvgate.ledger.rows import RunRecord, StoredDecision, StoredVerdict
from kvgate.ledger.standing import standing

#: Told after every run, with how many are done.
Progress = Callable[[str, int], None]


def check(connection: Connection, anchors: Sequence[tuple[int, str]] = ()) -> list[str]:
    """Name everything that is not what was written as a sentence; an empty list is good. Clocks are no damage."""
    return [finding.text for finding in findings(connection, anchors) if finding.kind != "clock"]


def findings(
    connection: Connection, anchors: Sequence[tuple[int, str]] = (), progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield every problem as it is found; holds the rows of one run at a time, and of all runs their heads."""
    try:
        entries = queries.decisions(connection)
        runs = queries.runs(connection)
    except Damaged as error:
        yield Finding("row", "ledger", str(error))
        return
    by_run: dict[str, list[StoredDecision]] = {}
    for entry in entries:
        by_run.setdefault(entry.run, []).append(entry)
    yield from _log(connection, entries, anchors)
    yield from _numbers(runs)
    yield from _texts(connection)
    yield from clocks.findings(runs, entries)
    for text in envelopes.check(connection):
        yield Finding("certificate", "ledger", text)
    hashes = {chain.GENESIS, *(entry.hash for entry in entries)}
    for done, run in enumerate(runs, start=1):
        if run.prev not in hashes:
            yield Finding(
                "chain",
                run.id,
                f"run {run.id} began after a decision that is not in the log: it was cut or written anew",
            )
        try:
            yield from _run(connection, run, by_run.pop(run.id, []))
        except Damaged as error:
            yield Finding("row", run.id, f"run {run.id}: {error}")
        if progress is not None:
            progress("ledger", done)
    for name, own in by_run.items():
        for entry in own:
            yield Finding("run-missing", name, f"decision {entry.seq} is about run {entry.run}, which is not there")


def _log(
    connection: Connection, entries: Sequence[StoredDecision], anchors: Sequence[tuple[int, str]]
) -> Iterator[Finding]:
    prev = chain.GENESIS
    gaps = 0
    for place, entry in enumerate(entries, start=1):
        where = f"decision {entry.seq}"
        if entry.seq != place + gaps:
            text = f"decision {place + gaps} is missing from the log: {entry.seq} stands in its place"
            yield Finding("decision-missing", f"decision {place + gaps}", text)
            gaps = entry.seq - place
        if entry.prev != prev:
            text = f"decision {entry.seq} does not follow the one before it: one was changed, removed or added"
            yield Finding("chain", where, text)
        if digest(entry.content) != entry.hash:
            yield Finding("row", where, f"decision {entry.seq} was changed: its content has another hash")
        yield from _entry(connection, entry)
        prev = entry.hash
    yield from _order(entries)
    hashes: dict[int, str] = {entry.seq: entry.hash for entry in entries}
    hashes[0] = chain.GENESIS
    for seq, value in anchors:
        if hashes.get(seq) != value:
            yield anchored(seq, seq in hashes)


def anchored(seq: int, there: bool) -> Finding:
    """Return the finding about a head that left this machine and is not in the log."""
    what = "is not the one" if there else "is missing"
    text = f"decision {seq} {what} that was anchored outside: the log was cut or written anew"
    return Finding("anchor", f"decision {seq}", text)


def _order(entries: Sequence[StoredDecision]) -> Iterator[Finding]:
    """Follow the links instead of the numbers: where both reach every entry in another order, the log was reordered."""
    after = {entry.prev: entry for entry in entries}
    linked: list[int] = []
    at = chain.GENESIS
    while at in after and len(linked) < len(entries):
        linked.append(after[at].seq)
        at = after[at].hash
    if len(linked) == len(entries) and linked != sorted(linked):
        shown = ", ".join(str(seq) for seq in linked[:8])
        yield Finding("chain", "log", f"the decision log was reordered: by its links it runs {shown}")


def _entry(connection: Connection, entry: StoredDecision) -> Iterator[Finding]:
    where = f"decision {entry.seq}"
    try:
        content = parse_object(entry.content)
        last = content.get("last")
        if not isinstance(last, int):
            raise ValueError("it does not say which verdicts it decides on")
    except ValueError as error:
        yield Finding("row", where, f"decision {entry.seq} was changed: {error}")
        return
    for name in chain.differs(entry, content):
        yield Finding("row", where, f"decision {entry.seq} was changed: its column {name} says something else")
    rows = queries.raw_verdicts(connection, entry.run, entry.judgement, last)
    if digest(canonical(rows)) != content.get("verdicts"):
        text = f"verdicts of run {entry.run} are not those that decision {entry.seq} was made on"
        yield Finding("row", entry.run, text)
    if "seen" in content and seen.differs(connection, entry.run, content["seen"]):
        text = f"who answered in run {entry.run} is not what decision {entry.seq} was made on"
        yield Finding("row", entry.run, text)


def _numbers(runs: Sequence[RunRecord]) -> Iterator[Finding]:
    for place, run in enumerate(runs, start=1):
        if run.seq != place:
            text = f"run number {place} is missing: {run.seq} ({run.id}) stands in its place"
            yield Finding("run-missing", f"run number {place}", text)
            break
    attempts: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        attempts.setdefault((run.campaign, run.gate), []).append(run.attempt)
    for (campaign, gate), numbers in attempts.items():
        if numbers != list(range(1, len(numbers) + 1)):
            text = f"attempts at {gate} in campaign {campaign} are {numbers}: one is missing"
            yield Finding("run-missing", campaign, text)


def _texts(connection: Connection) -> Iterator[Finding]:
    table = InventorySnapshot
    for row in connection.execute(select(table.id, table.digest, table.content)):
        if digest(row.content) != row.digest:
            text = f"inventory {row.id} was changed: its text has another digest"
            yield Finding("inventory", f"inventory {row.id}", text)
    for row in connection.execute(select(AcceptanceRevision.id, AcceptanceRevision.digest, AcceptanceRevision.content)):
        if not _same_agreement(row.content, row.digest):
            text = f"agreement {row.id} was changed: its text has another digest"
            yield Finding("limit", f"agreement {row.id}", text)


def _same_agreement(content: str, wanted: str) -> bool:
    """Layout does not count: the digest is over the clauses (see Acceptance.digest)."""
    import json

    try:
        clauses = parse_object(content)
    except ValueError:
        return False
    return digest(json.dumps(clauses, sort_keys=True, ensure_ascii=False, separators=(",", ":"))) == wanted


def _run(connection: Connection, run: RunRecord, entries: Sequence[StoredDecision]) -> Iterator[Finding]:
    owed = queries.owed(connection, run.id)
    if digest(run.ticket) != run.ticket_digest or chain.expected_ticket(run, owed) != run.ticket:
        yield _ticket(run)
    for judgement in queries.judgements(connection, run.id):
        rows = queries.verdicts(connection, run.id, judgement)
        yield from _columns(connection, run, judgement, rows)
        yield from _measured(connection, run, judgement, rows)
        if judgement == 1:
            for problem in standing(run, owed, rows, entries).problems:
                yield Finding("row", run.id, problem)


def _ticket(run: RunRecord) -> Finding:
    """Say what of a run is not what its ticket fixed; a ticket that names another agreement is a limit changed afterwards."""
    try:
        said: Mapping[str, object] = parse_object(run.ticket)
    except ValueError:
        said = {}
    if said.get("acceptance") not in (run.acceptance_digest, None):
        text = f"run {run.id} goes by another agreement than its start ticket says: a limit was changed after the fact"
        return Finding("limit", run.id, text)
    return Finding("row", run.id, f"run {run.id} was changed: it, or what it owes, is not what its start ticket says")


def _columns(
    connection: Connection, run: RunRecord, judgement: int, rows: Sequence[StoredVerdict]
) -> Iterator[Finding]:
    """The texts that people read must be those of the verdict itself."""
    entry = VerdictEntry
    query = select(entry.id, entry.measured, entry.required, entry.unit, entry.note)
    texts = {
        row.id: tuple(row)[1:]
        for row in connection.execute(query.where(entry.run == run.id, entry.judgement == judgement))
    }
    for row in rows:
        told = row.verdict
        if texts.get(row.id) != (printable(told.measured), printable(told.required), told.unit, printable(told.note)):
            text = f"verdict row {row.id} of run {run.id} was changed: its texts are not those of its verdict"
            yield Finding("row", run.id, text)


def _measured(
    connection: Connection, run: RunRecord, judgement: int, rows: Sequence[StoredVerdict]
) -> Iterator[Finding]:
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
    if wrong:
        yield Finding("row", run.id, f"measurements of run {run.id} were changed: {', '.join(wrong[:3])}")
