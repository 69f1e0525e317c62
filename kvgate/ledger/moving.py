"""Export and import of a whole ledger between SQLite and PostgreSQL, its chain intact and verified before anything counts."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from sqlalchemy import Connection, MetaData, Table, insert
from sqlalchemy.exc import SQLAlchemyError

from checks.phrase import say
from kvgate.errors import Damaged, NotAllowed, Unwritable, because
from kvgate.ledger import audit, portable, schema
from kvgate.ledger.copying import Copied, copy
from kvgate.ledger.engine import Store
from kvgate.ledger.portable import Cell, Incoming, Progress
from kvgate.ledger.repository import now_utc

_BATCH = 500


def export(url: str, path: Path, code: str, progress: Progress | None = None) -> int:
    """Write the ledger to a file that is there whole or not at all; returns the rows.

    Raises NotAllowed when the file is there already, Damaged for a ledger that is not what was written, Unwritable.
    """
    if path.exists():
        raise NotAllowed(say("{path} is there already: name another file", path=str(path)))
    store = Store.connect(url, write=False)
    schema.current(store)
    try:
        with store.reading("exporting") as connection:
            _sound(audit.check(connection), f"ledger {store.place}", "nothing was exported")
            with NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
                try:
                    count = portable.write(connection, file, code, now_utc(), progress)
                    file.flush()
                    os.fsync(file.fileno())
                    os.link(file.name, path)
                finally:
                    Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        raise Unwritable(
            say("{path} could not be written: {why}; name another place", path=str(path), why=because(error))
        ) from error
    finally:
        store.engine.dispose()
    return count


def take_in(path: Path, url: str, progress: Progress | None = None) -> Copied:
    """Read a file into a ledger: all of it or nothing. Verified first in a ledger of its own, then in its place.

    Raises Damaged naming the line or row, NotAllowed when the ledger there grew apart from it, Unwritable, OSError.
    """
    with TemporaryDirectory(prefix="kvgate-import-") as folder:
        staged = Store.connect(f"sqlite:///{folder}/staged.db")
        try:
            if not path.is_file():  # a pipe can be read once only, and this is read twice
                raise NotAllowed(say("found {path}, wanted a file that `kvgate ledger export` wrote", path=str(path)))
            with path.open("rb") as file:
                head = _stage(Incoming(file, str(path)), staged)
            target = Store.connect(url)
            schema.upgrade(target)
            try:
                with staged.reading("reading what is imported") as source, target.writing("importing") as there:
                    _sound(audit.check(source, [head]), str(path), "nothing was imported")
                    found = copy(source, there, target.place, progress)
                    _sound(audit.check(there, [head]), f"ledger {target.place}", "nothing was imported")
            finally:
                target.engine.dispose()
        finally:
            staged.engine.dispose()
    return found


def _stage(incoming: Incoming, store: Store) -> tuple[int, str]:
    """Fill tables as they were when the file was written, then bring them up to date. Returns the head of the log."""
    schema.upgrade(store, incoming.schema)
    with store.writing("reading the file") as connection:
        known = MetaData()
        known.reflect(connection)
        waiting: list[dict[str, Cell]] = []
        table: Table | None = None
        try:
            for name, columns, cells in incoming.rows():
                if table is None or table.name != name or len(waiting) >= _BATCH:
                    _put(connection, table, waiting)
                    waiting = []
                    table = _table(known, name, columns)
                waiting.append(dict(zip(columns, cells, strict=True)))
            _put(connection, table, waiting)
        except (SQLAlchemyError, TypeError, ValueError, OverflowError) as error:
            said = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise Damaged(say("a row of the file fits no ledger: {said:.200}", said=said)) from error
    schema.upgrade(store)
    return incoming.head


def _table(known: MetaData, name: str, columns: tuple[str, ...]) -> Table:
    table = known.tables.get(name)
    if table is None or name == "alembic_version" or not portable.same_columns(table, columns):
        raise Damaged(
            say(
                "the file has a table {name!r:.40} with columns {words!r:.200}, which no ledger has",
                name=name,
                words=", ".join(columns),
            )
        )
    return table


def _put(connection: Connection, table: Table | None, rows: list[dict[str, Cell]]) -> None:
    if table is not None and rows:
        connection.execute(insert(table), rows)


def _sound(problems: list[str], what: str, so: str) -> None:
    if problems:
        raise Damaged(
            say(
                "{what} is not what was written, {so}: {first} ({count} such; `kvgate audit` names all)",
                what=what,
                so=so,
                first=problems[0],
                count=len(problems),
            )
        )
