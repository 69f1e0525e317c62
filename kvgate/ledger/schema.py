"""Brings a ledger to the schema of this version when it is opened, under a lock; refuses one that is newer."""

from __future__ import annotations

import io
import time
from pathlib import Path

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import OperationalError

from checks.phrase import say
from kvgate.errors import NotAllowed
from kvgate.ledger.engine import PATIENCE, Store
from kvgate.ledger.trouble import explained

#: Every schema there was, oldest first; the last is the one this version reads and writes.
REVISIONS = ("0001", "0002", "0003", "0004")

#: Changes nothing, and fails where nothing can be written: BEGIN IMMEDIATE alone succeeds on a read-only file.
_TOUCH = "UPDATE alembic_version SET version_num = version_num"


def upgrade(store: Store, target: str = REVISIONS[-1]) -> str:
    """Bring the ledger to ``target`` and return what it was before ("" = empty). Two at once: one waits for the other.

    Raises NotAllowed for a ledger of a newer version or a database that holds something else, Unwritable.
    """
    if store.dialect == "sqlite":
        _write_ahead(store)
    with store.writing("bringing the tables up to date", before=True) as connection:
        before = _revision(connection, store.place)
        if before == target:
            connection.exec_driver_sql(_TOUCH)
        else:
            _run(connection, target)
    return before


def current(store: Store) -> None:
    """Raise NotAllowed unless the ledger has exactly this version's tables; writes nothing."""
    with store.reading("opening for reading") as connection:
        if (found := _revision(connection, store.place)) != REVISIONS[-1]:
            what = say("schema {number}", number=found) if found else say("no tables yet")
            raise NotAllowed(
                say(
                    "ledger {place} has {what}, this kvgate reads {known}: run a gate on it once",
                    place=store.place,
                    what=what,
                    known=REVISIONS[-1],
                )
            )


def _revision(connection: Connection, place: str) -> str:
    tables = set(inspect(connection).get_table_names())
    if "alembic_version" not in tables:
        if tables & {"run", "verdict", "decision", "campaign", "owed"}:
            raise NotAllowed(
                say("ledger {place} holds tables of something else: name another database with --ledger", place=place)
            )
        return ""
    found = [str(row[0]) for row in connection.exec_driver_sql("SELECT version_num FROM alembic_version")]
    if not found:
        return ""
    if len(found) != 1 or found[0] not in REVISIONS:
        raise NotAllowed(
            say(
                "ledger {place} was written by a newer kvgate (schema {found}, this one knows {known}): "
                "update kvgate, or name another ledger with --ledger",
                place=place,
                found=", ".join(found),
                known=REVISIONS[-1],
            )
        )
    return found[0]


def _run(connection: Connection, target: str) -> None:
    from alembic import command  # imported only when there is something to do: it costs a third of a second
    from alembic.config import Config

    config = Config(stdout=io.StringIO())
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def _write_ahead(store: Store) -> None:
    """Readers and one writer at once. The switch itself needs the file alone, so it is tried for a while."""
    limit = time.monotonic() + PATIENCE
    while True:
        with explained("opening", store.place, before=True), store.engine.connect() as connection:
            raw = connection.connection.driver_connection
            try:
                if raw is None or raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                    return
                raw.execute("PRAGMA journal_mode = WAL")
            except Exception as error:
                if "locked" in str(error) and time.monotonic() < limit:
                    time.sleep(0.02)
                    continue
                raise OperationalError("PRAGMA journal_mode = WAL", None, error) from error
            return
