"""Runs, verdicts and decisions to write, and a way around the code into the tables."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from sqlalchemy import inspect, select

from checks.decision import Decision, Owed, decide
from checks.phrase import say
from checks.verdict import Outcome, Quantity, Verdict
from kvgate.codec import digest
from kvgate.ledger.engine import Store
from kvgate.ledger.models import Base
from kvgate.ledger.repository import Ledger, RunHandle, VerdictRow

OWED = (
    Owed("G1.1.1", "node-01", True), Owed("G1.2.3", "fx100-a:S1", True), Owed("G1.2.3", "fx100-a:S2", True),
    Owed("G1.9.1", "rack", False),
)  # fmt: skip

GOOD = Verdict.of(
    True, say("x{n} of {card}", n=4, card=say("a card")), "x4", "lanes", quantities=(Quantity("lanes", 4, "lanes"),)
)
BAD = Verdict.of(False, say("x{n}", n=2), "x4", "lanes", note=say("trained to half"))
OPEN = Verdict.undecided(say("nvme is not installed"))

ACCEPTANCE = json.dumps({"clauses": {}}, sort_keys=True, separators=(",", ":"))


def begin(ledger: Ledger, **changes: object) -> RunHandle:
    arguments = {
        "campaign": "fx100", "gate": "G1", "inventory": "rack: a\n", "fingerprint": "f" * 64, "acceptance": ACCEPTANCE,
        "acceptance_digest": digest(ACCEPTANCE), "owed": OWED, "evidence_root": Path("var/evidence"), "code": "0.1.0",
        "operator": "op", "simulated": True, **changes,
    }  # fmt: skip
    return ledger.begin(**arguments)


def rows(*verdicts: Verdict) -> list[VerdictRow]:
    return [
        VerdictRow(owed.clause, owed.subject, verdict, (3, 4)) for owed, verdict in zip(OWED, verdicts, strict=False)
    ]


def decision(*verdicts: Verdict) -> Decision:
    return decide(OWED, dict(zip(OWED, verdicts, strict=False)))


def complete(ledger: Ledger, *verdicts: Verdict) -> tuple[RunHandle, Outcome]:
    run = begin(ledger)
    ledger.record(run, rows(*verdicts))
    return run, ledger.finish(run, decision(*verdicts))


def tamper(url: str, *statements: str, guarded: bool = False) -> None:
    """Change tables as someone with the database in hand would: triggers and foreign keys out of the way first."""
    store = Store.connect(url)
    if store.dialect == "sqlite" and not guarded:
        with contextlib.closing(sqlite3.connect(store.place)) as raw, raw:
            names = raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for statement in (*(f"DROP TRIGGER {name}" for (name,) in names), *statements):
                raw.execute(statement)
        return
    with store.writing("tampering") as connection:
        if not guarded:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        for statement in statements:
            connection.exec_driver_sql(statement)
    store.engine.dispose()


def put(store: Store, source: Ledger) -> None:
    """Write a ledger's rows into the tables of another version; what that version has no table for is left out."""
    with source._store.reading("copying") as found, store.writing("copying") as connection:
        there = set(inspect(connection).get_table_names())
        for table in Base.metadata.sorted_tables:
            if table.name in there and (rows := [dict(row) for row in found.execute(select(table)).mappings()]):
                connection.execute(table.insert(), rows)
                if store.dialect == "postgresql" and "id" in table.c and table.name != "run":
                    counter = f"pg_get_serial_sequence('{table.name}', 'id')"
                    connection.exec_driver_sql(f"SELECT setval({counter}, (SELECT max(id) FROM {table.name}))")
