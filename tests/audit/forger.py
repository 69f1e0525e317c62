"""Who has the database in hand, knows kvgate by heart and holds no key: every hash of the ledger computed anew after a change."""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import select, update

from kvgate.codec import canonical, digest
from kvgate.ledger import chain, queries
from kvgate.ledger.engine import Store
from kvgate.ledger.models import DecisionEntry, Run
from tests.ledger.sample import tamper

Row = dict[str, object]


def forge(url: str, *statements: str, change: Callable[[int, Row], None] = lambda seq, content: None) -> None:
    """Run statements, then make tickets, verdict digests and the chain agree with what is there. ``change`` edits decisions."""
    tamper(url, *statements)
    store = Store.connect(url)
    with store.writing("forging") as connection:
        if store.dialect == "postgresql":
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        renamed = {chain.GENESIS: chain.GENESIS}
        tickets: dict[str, str] = {}
        last = chain.GENESIS
        runs = {run.id: run for run in queries.runs(connection)}

        def ticket(name: str) -> None:
            run = runs[name]
            prev = renamed.get(run.prev, last)
            owed = queries.owed(connection, name)
            columns = {
                **json.loads(run.ticket),
                "acceptance": run.acceptance_digest,
                "inventory": run.inventory_digest,
                "revision": run.revision,
            }
            columns |= {"prev": prev, "seq": run.seq, "started": run.started, "attempt": run.attempt, "run": run.id}
            text = chain.ticket(columns, owed)
            tickets[name] = digest(text)
            values = {"prev": prev, "ticket": text, "ticket_digest": digest(text)}
            connection.execute(update(Run).where(Run.id == name).values(values))

        for seq, old, content in connection.execute(
            select(DecisionEntry.seq, DecisionEntry.hash, DecisionEntry.content).order_by(DecisionEntry.seq)
        ).all():
            found = json.loads(content)
            if found["run"] not in tickets:
                ticket(found["run"])
            change(seq, found)
            rows = queries.raw_verdicts(connection, found["run"], found["judgement"])
            found |= {"verdicts": digest(canonical(rows)), "rows": len(rows), "last": rows[-1][0] if rows else 0}
            found |= {"prev": last, "ticket": tickets[found["run"]], "seq": seq}
            text = canonical(found)
            values = {
                "content": text, "hash": digest(text), "prev": last, "outcome": found["outcome"], "utc": found["utc"],
                "passed": found["passed"], "stopped": found["stopped"], "undecided": found["undecided"],
            }  # fmt: skip
            connection.execute(update(DecisionEntry).where(DecisionEntry.seq == seq).values(values))
            renamed[old] = last = digest(text)
        for name in runs.keys() - tickets.keys():
            ticket(name)
    store.engine.dispose()


def erase(url: str, run: str) -> None:
    """Delete a run with everything that hangs on it."""
    tables = ("measurement", "verdict", "owed", "seen", "decision", "envelope")
    tamper(
        url, *(f"DELETE FROM {table} WHERE run = '{run}'" for table in tables), f"DELETE FROM run WHERE id = '{run}'"
    )
