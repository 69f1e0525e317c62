"""A ledger as one file: JSON Lines, every row with the number it had, so that tickets, digests and the decision log stay true.

::

    {"kvgate ledger": 1, "schema": "0003", "head": [12, "9f..."], "code": "0.1.0", "utc": "..."}
    {"table": "campaign", "columns": ["id", "name", "created"]}
    [1, "fx100", "2026-..."]
    ...
    {"lines": 4711, "sha256": "..."}          of all lines before, newlines included

The last line notices accidents; who changes rows on purpose is found by the audit of the ledger that is made from it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from sqlalchemy import Connection, Table, select

from checks.phrase import say
from kvgate.codec import canonical, parse_object
from kvgate.errors import Damaged, NotAllowed
from kvgate.ledger import chain, queries
from kvgate.ledger.models import Base
from kvgate.ledger.schema import REVISIONS

FORMAT = 1

#: Bytes of one line: a text of an agreement takes 300 kB, an envelope at most 64 MiB before base64.
_LONGEST = 100 * 2**20

#: What one cell may hold.
Cell = str | int | float | bool | bytes | None

Progress = Callable[[str, int], None]


def tables() -> list[Table]:
    """Every table, referred-to ones first."""
    return list(Base.metadata.sorted_tables)


def write(connection: Connection, file: IO[bytes], code: str, utc: str, progress: Progress | None = None) -> int:
    """Write all rows and return how many. Raises OSError."""
    hashed, lines, count = hashlib.sha256(), 0, 0

    def put(value: object) -> None:
        nonlocal lines
        raw = canonical(value).encode() + b"\n"
        hashed.update(raw)
        file.write(raw)
        lines += 1

    head = queries.head(connection) or (0, chain.GENESIS)
    put({"kvgate ledger": FORMAT, "schema": REVISIONS[-1], "head": list(head), "code": code, "utc": utc})
    for table in tables():
        put({"table": table.name, "columns": [column.name for column in table.columns]})
        rows = connection.execute(select(table).order_by(*table.primary_key.columns).execution_options(yield_per=500))
        for number, row in enumerate(rows, start=1):
            put([_out(cell) for cell in row])
            count += 1
            if progress is not None and number % 500 == 0:
                progress(table.name, number)
    file.write(canonical({"lines": lines, "sha256": hashed.hexdigest()}).encode() + b"\n")
    return count


class Incoming:
    """One file, read strictly from its beginning to its end. Raises Damaged naming the line, NotAllowed."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._number = 0
        self._hashed = hashlib.sha256()
        head = self._object(self._next())
        if head.get("kvgate ledger") != FORMAT:
            raise NotAllowed(
                say("{name} is no ledger that `kvgate ledger export` wrote: its first line does not say so", name=name)
            )
        self.schema = str(head.get("schema"))
        if self.schema not in REVISIONS:
            raise NotAllowed(
                say(
                    "{name} was written by a newer kvgate (schema {schema}, this one knows {known}): update kvgate",
                    name=name,
                    schema=self.schema,
                    known=REVISIONS[-1],
                )
            )
        self.head = self._head(head.get("head"))

    def rows(self) -> Iterator[tuple[str, tuple[str, ...], list[Cell]]]:
        """Yield table, its columns, and one row, in the file's order; the end is verified last."""
        table = ""
        columns: tuple[str, ...] = ()
        while True:
            raw = self._next(last=True)
            found = self._read(raw)
            if isinstance(found, list):
                if not table or len(found) != len(columns):
                    raise self._damaged(f"has {len(found)} cells, wanted {len(columns)}")
                self._hashed.update(raw)
                yield table, columns, [self._in(cell) for cell in found]
            elif set(found) == {"table", "columns"}:
                self._hashed.update(raw)
                table, columns = str(found["table"]), self._columns(found["columns"])
            elif set(found) == {"lines", "sha256"}:
                self._end(found)
                return
            else:
                raise self._damaged("is neither a table, nor a row, nor the end")

    def _next(self, last: bool = False) -> bytes:
        raw = self._file.readline(_LONGEST + 1)
        self._number += 1
        if len(raw) > _LONGEST:
            raise self._damaged(f"has more than {_LONGEST} bytes")
        if not raw.endswith(b"\n"):
            raise self._damaged("is where it was cut off: export it again, or copy it again")
        if not last:
            self._hashed.update(raw)
        return raw

    def _read(self, raw: bytes) -> dict[str, object] | list[object]:
        if raw.startswith(b"["):
            try:
                found = json.loads(raw)
            except (ValueError, RecursionError) as error:
                raise self._damaged(f"is no JSON ({error})") from None
            if isinstance(found, list):
                return found
        return self._object(raw)

    def _object(self, raw: bytes) -> dict[str, object]:
        try:
            return parse_object(raw)
        except ValueError as error:
            raise self._damaged(f"is no JSON object ({error})") from None

    def _head(self, found: object) -> tuple[int, str]:
        if isinstance(found, list) and len(found) == 2 and type(found[0]) is int and isinstance(found[1], str):
            return found[0], found[1]
        raise self._damaged("does not name the head of the decision log")

    def _columns(self, found: object) -> tuple[str, ...]:
        if isinstance(found, list) and all(isinstance(name, str) for name in found):
            return tuple(found)
        raise self._damaged("does not name the columns")

    def _in(self, cell: object) -> Cell:
        if isinstance(cell, dict) and set(cell) == {"base64"} and isinstance(cell["base64"], str):
            try:
                return base64.b64decode(cell["base64"], validate=True)
            except binascii.Error:
                raise self._damaged("holds base64 that cannot be read") from None
        if cell is None or isinstance(cell, (str, int, float, bool)):
            return cell
        raise self._damaged(f"holds {cell!r:.60}, which is no cell")

    def _end(self, found: dict[str, object]) -> None:
        if found != {"lines": self._number - 1, "sha256": self._hashed.hexdigest()}:
            raise self._damaged("does not seal the lines before it: some were changed, removed or added")
        if self._file.read(1):
            raise self._damaged("is the end, but more follows")

    def _damaged(self, what: str) -> Damaged:
        return Damaged(say("{name}: line {number} {what}", name=self._name, number=self._number, what=what))


def _out(cell: object) -> object:
    return {"base64": base64.b64encode(cell).decode()} if isinstance(cell, (bytes, memoryview)) else cell


def same_columns(table: Table, columns: Sequence[str]) -> bool:
    """Whether a file's columns are exactly those of a table."""
    return sorted(columns) == sorted(column.name for column in table.columns)
