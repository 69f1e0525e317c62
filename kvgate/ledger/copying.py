"""Rows from one ledger into another: into an empty one, or into one that is the beginning of the same history. Never a mixture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Integer, Table, func, insert, select, text, update

from checks.phrase import say
from kvgate.codec import canonical, digest
from kvgate.errors import NotAllowed
from kvgate.ledger.models import RUN_END
from kvgate.ledger.portable import Progress, tables

_BATCH = 500

Row = dict[str, object]
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy came to: rows that were there before, rows that were added, runs that got their end."""

    before: int
    added: int
    ended: int


def copy(source: Connection, target: Connection, place: str, progress: Progress | None = None) -> Copied:
    """Bring ``target`` to exactly the rows of ``source``. Raises NotAllowed naming the first row in which they grew apart."""
    before = added = ended = 0
    for table in tables():
        there = _there(target, table)
        before += len(there)
        if there:
            fresh = _compare(source, table, there, place)
            ended += _ends(source, target, table) if table.name == "run" else 0
        else:
            fresh = None
        waiting: list[Row] = []
        for number, row in enumerate(_rows(source, table), start=1):
            if fresh is None or _key(table, row) in fresh:
                waiting.append(row)
                added += 1
            if len(waiting) >= _BATCH:
                target.execute(insert(table), waiting)
                waiting = []
            if progress is not None and number % _BATCH == 0:
                progress(table.name, number)
        if waiting:
            target.execute(insert(table), waiting)
        _count_on(target, table)
    return Copied(before, added, ended)


def _compare(source: Connection, table: Table, there: dict[Key, str], place: str) -> set[Key]:
    """Return the keys of the rows that are not there yet; every row that is there must be the same."""
    fresh = set()
    for row in _rows(source, table):
        known = there.pop(_key(table, row), None)
        if known is None:
            fresh.add(_key(table, row))
        elif known != _digest(table, row):
            raise _apart(table, _key(table, row), place, "the first difference")
    if there:
        raise _apart(table, next(iter(there)), place, "it has rows that the imported one has not, the first")
    return fresh


def _rows(connection: Connection, table: Table) -> Iterator[Row]:
    query = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=_BATCH)
    for row in connection.execute(query).mappings():
        yield {name: bytes(value) if isinstance(value, memoryview) else value for name, value in row.items()}


def _there(connection: Connection, table: Table) -> dict[Key, str]:
    return {_key(table, row): _digest(table, row) for row in _rows(connection, table)}


def _key(table: Table, row: Row) -> Key:
    return tuple(row[column.name] for column in table.primary_key.columns)


def _digest(table: Table, row: Row) -> str:
    """Digest of what may never differ: all of a row, of a run all but its end."""
    fixed = {name: value for name, value in row.items() if not (table.name == "run" and name in RUN_END)}
    return digest(
        canonical({name: value.hex() if isinstance(value, bytes) else value for name, value in fixed.items()})
    )


def _ends(source: Connection, target: Connection, table: Table) -> int:
    """Give runs their end where they have another one yet. Returns how many rows that changed."""
    query = select(table.c.id, *(table.c[name] for name in RUN_END))
    now = {row["id"]: dict(row) for row in target.execute(query).mappings()}
    changed = 0
    for row in source.execute(query).mappings():
        if row["id"] not in now or now[row["id"]] == dict(row):
            continue
        if now[row["id"]]["state"] == "decided":
            raise NotAllowed(
                say(
                    "run {run} is decided in the ledger there, and {state} in the imported one",
                    run=str(row["id"]),
                    state=str(row["state"]),
                )
            )
        end = {name: row[name] for name in RUN_END}
        changed += target.execute(update(table).where(table.c.id == row["id"]).values(end)).rowcount
    return changed


def _apart(table: Table, key: Key, place: str, what: str) -> NotAllowed:
    name = " ".join(str(part) for part in key)
    return NotAllowed(
        say(
            "ledger {place} and the imported one grew apart: {what} in table {table}: {name}; two such ledgers are never mixed: "
            "name an empty database (createdb NAME, or another SQLite file)",
            place=place,
            what=what,
            table=table.name,
            name=name,
        )
    )


def _count_on(target: Connection, table: Table) -> None:
    """PostgreSQL counts in a sequence of its own, which rows that bring their numbers do not move."""
    (first, *rest) = table.primary_key.columns
    if rest or target.dialect.name != "postgresql" or not isinstance(first.type, Integer) or table.name == "decision":
        return
    highest = target.execute(select(func.max(first))).scalar()
    if highest is not None:
        named = text("SELECT setval(pg_get_serial_sequence(:table, :column), :highest)")
        target.execute(named, {"table": table.name, "column": first.name, "highest": highest})
