"""What answered in a run, row by row; a decision carries the digest of all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, insert, select

from checks.phrase import say
from kvgate.codec import canonical, digest
from kvgate.errors import Damaged
from kvgate.ledger.models import SeenEntry
from kvgate.ledger.rows import SeenRow


def keep(connection: Connection, run: str, rows: Sequence[SeenRow], utc: str) -> None:
    """Add what answered; of one host and scope the newest row counts."""
    found = [
        {
            "run": run, "host": row.host, "scope": row.scope, "content": canonical(list(row.values)), "untold": row.untold,
            "utc": utc,
        }
        for row in rows
    ]  # fmt: skip
    if found:
        connection.execute(insert(SeenEntry), found)


def select_seen(connection: Connection, run: str) -> list[SeenRow]:
    """Every row of a run, oldest first. Raises Damaged."""
    entry = SeenEntry
    query = select(entry.id, entry.host, entry.scope, entry.content, entry.untold).where(entry.run == run)
    found = []
    for number, host, scope, content, untold in connection.execute(query.order_by(entry.id)):
        try:
            values = json.loads(content)
        except ValueError as error:
            raise Damaged(
                say("row {number} of what answered cannot be read: {why}", number=number, why=str(error))
            ) from error
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise Damaged(say("row {number} of what answered is no list of texts", number=number))
        found.append(SeenRow(host, scope, tuple(values), untold))
    return found


def seal(connection: Connection, run: str) -> dict[str, object]:
    """Return what a decision carries of the rows there are: how many, up to which, and their digest. Empty when none."""
    rows = raw(connection, run)
    return {"seen": {"rows": len(rows), "last": rows[-1][0], "digest": digest(canonical(rows))}} if rows else {}


def raw(connection: Connection, run: str, last: int | None = None) -> list[list[object]]:
    """Return every column of the rows, up to row ``last`` if given, as they are hashed."""
    entry = SeenEntry
    query = select(entry.id, entry.host, entry.scope, entry.content, entry.untold, entry.utc).where(entry.run == run)
    if last is not None:
        query = query.where(entry.id <= last)
    return [list(row) for row in connection.execute(query.order_by(entry.id))]


def differs(connection: Connection, run: str, content: object) -> bool:
    """Whether the rows are others than those that a decision was made on."""
    if not isinstance(content, dict) or not isinstance(last := content.get("last"), int):
        return True
    rows = raw(connection, run, last)
    return len(rows) != content.get("rows") or digest(canonical(rows)) != content.get("digest")
