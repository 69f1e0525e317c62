"""What a database's complaint means to a person: what could not be done, where, and what to do about it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from checks.phrase import joined, say
from kvgate.errors import Damaged, KvgateError, NotAllowed, Unwritable

_SPACE = say("free space there, then give the same command again")
_RIGHTS = say("take write permission on the file and its folder, or name another ledger with --ledger")
_WAIT = say("another process is writing it: wait until it ends, or find out why it does not")

_DAMAGED = say(
    "keep a copy of it, restore the last good one, and judge the runs again from their evidence (`kvgate judge RUN`)"
)

#: SQLite's own names of its errors (their beginning) -> what to do.
_SQLITE = {
    "SQLITE_READONLY": _RIGHTS,
    "SQLITE_PERM": _RIGHTS,
    "SQLITE_AUTH": _RIGHTS,
    "SQLITE_CANTOPEN": say("see that the file and its folder are there and may be written to"),
    "SQLITE_FULL": _SPACE,
    "SQLITE_IOERR": say("look at that disk: it is full, failing, or not a local one"),
    "SQLITE_NOLFS": _SPACE,
}

#: SQLSTATE of PostgreSQL -> what to do.
_POSTGRESQL = {
    "25006": say("that server takes no writes (a standby?): name its primary with --ledger"),
    "42501": say("let the database's owner grant this role rights on the ledger"),
    "53100": say("the server's disk is full: free space there, then give the same command again"),
    "53300": say("the server has no free connection: wait, or raise its max_connections"),
    "28P01": say("give the right password (PGPASSFILE or PGPASSWORD), never on the command line"),
    "28000": say("let the server accept this role from this machine (pg_hba.conf)"),
    "3D000": say("create that database first: createdb NAME"),
}

#: A refused connection carries no SQLSTATE, only words.
_UNNAMED = {
    "does not exist": "3D000",
    "password authentication failed": "28P01",
    "pg_hba.conf": "28000",
    "too many": "53300",
}


@contextlib.contextmanager
def explained(doing: str, place: str, *, before: bool = False) -> Iterator[None]:
    """Turn database errors into ours. ``before``: no host was asked yet, so a busy or absent ledger is a refusal."""
    try:
        yield
    except SQLAlchemyError as error:
        raise _explain(error, doing, place, before) from error
    except UnicodeEncodeError as error:  # a name from the command line that is no text
        raise NotAllowed(say("found {name}, wanted a text in UTF-8", name=ascii(error.object))) from error


def _explain(error: SQLAlchemyError, doing: str, place: str, before: bool) -> KvgateError:
    cause = error.orig if isinstance(error, DBAPIError) else None
    first = (str(cause or error).strip().splitlines() or ["no reason given"])[0]
    name = cause.sqlite_errorname if isinstance(cause, sqlite3.Error) and hasattr(cause, "sqlite_errorname") else ""
    state = getattr(cause, "sqlstate", None) or ""
    said = say("ledger {place}: {doing}: {said}", place=place, doing=doing, said=first)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or state in ("55P03", "40001", "40P01"):
        return (NotAllowed if before else Unwritable)(joined([said, _WAIT]))
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")):
        return Damaged(joined([said, _DAMAGED]))
    for begin, remedy in _SQLITE.items():
        if name.startswith(begin):
            return Unwritable(joined([said, remedy]))
    if not name and not state:
        state = next((code for words, code in _UNNAMED.items() if words in first), "")
    if state in _POSTGRESQL:
        kind = NotAllowed if before and state.startswith(("28", "3D")) else Unwritable
        return kind(joined([said, _POSTGRESQL[state]]))
    if (
        getattr(error, "connection_invalidated", False)
        or state.startswith(("08", "57P"))
        or (cause and not (state or name))
    ):
        kind = NotAllowed if before else Unwritable
        return kind(joined([said, say("see that the server runs and can be reached from here")]))
    return Unwritable(joined([said, say("nothing was decided")]))
