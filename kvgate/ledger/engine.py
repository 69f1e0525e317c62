"""Connections to a ledger: SQLite on a local disk, or PostgreSQL for a team; one writer at a time in both."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from checks.phrase import say
from kvgate.errors import NotAllowed, Unwritable, because
from kvgate.ledger.trouble import explained

#: Seconds to wait for another writer. Writes take milliseconds; who waits longer waits for something that hangs.
PATIENCE = 15.0

#: The ledger's own lock in PostgreSQL ("kvgate" in ASCII).
_LOCK = 0x6B7667617465

_WRITES = "kvgate_writes"

#: Why a ledger could not be created -> what to do.
_RIGHTS = say("take write permission there, or name another ledger with --ledger")
_ROOM = say("free space there, or name another ledger with --ledger")
_ELSEWHERE = say("no file can be made there: name another ledger, such as --ledger sqlite:///var/kvgate.db")
_REMEDY = {errno.EACCES: _RIGHTS, errno.EPERM: _RIGHTS, errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM}


class Store:
    """A place that holds a ledger. Every transaction on SQLite opens the file anew, so what it reads is what is stored."""

    def __init__(self, engine: Engine, place: str) -> None:
        self.engine = engine
        self.place = place

    @classmethod
    def connect(cls, url: str, *, write: bool = True) -> Store:
        """Prepare a place; to ``write``, an absent SQLite file is made. Raises NotAllowed, Unwritable."""
        try:
            parsed = make_url(url)
        except ArgumentError as error:
            raise NotAllowed(
                say("ledger {url!r} is no URL: write sqlite:///var/kvgate.db or postgresql://host/name", url=url)
            ) from error
        if parsed.get_backend_name() == "sqlite":
            return cls(_sqlite(parsed, write), str(parsed.database))
        if parsed.get_backend_name() in ("postgresql", "postgres"):
            return cls(_postgresql(parsed), shown(parsed))
        raise NotAllowed(
            say("found ledger kind {kind!r}, wanted sqlite:///FILE or postgresql://HOST/NAME", kind=parsed.drivername)
        )

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self.engine.dialect.name

    @contextlib.contextmanager
    def reading(self, doing: str) -> Iterator[Connection]:
        """One consistent look at the stored rows."""
        level: dict[str, object] = {}
        if self.dialect == "postgresql":
            level = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with (
            explained(doing, self.place),
            self.engine.connect() as bare,
            (connection := bare.execution_options(**level)).begin(),
        ):
            yield connection

    @contextlib.contextmanager
    def writing(self, doing: str, *, before: bool = False) -> Iterator[Connection]:
        """All or nothing, and alone: nobody else writes between first read and commit."""
        opened = explained(doing, self.place, before=before)
        with opened, self._connect({_WRITES: True}) as connection, connection.begin():
            if self.dialect == "postgresql":
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{int(PATIENCE * 1000)}ms'")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            yield connection

    @contextlib.contextmanager
    def _connect(self, options: Mapping[str, object]) -> Iterator[Connection]:
        with self.engine.connect() as bare:
            yield bare.execution_options(**options)


def _sqlite(url: URL, write: bool) -> Engine:
    if not url.database or url.database == ":memory:":
        raise NotAllowed(say("a ledger in memory keeps nothing: name a file, as sqlite:///var/kvgate.db"))
    if url.database.startswith("file:") or url.query:
        raise NotAllowed(say("a SQLite ledger is named by its file alone, as sqlite:///var/kvgate.db"))
    path = Path(url.database).absolute()
    if write:
        _make(path)
    elif not path.is_file():
        raise NotAllowed(
            say(
                "there is no ledger at {path} yet: the first gate run makes it, or name another with --ledger",
                path=str(path),
            )
        )
    address = f"file:{quote(str(path))}?{'mode=rw' if write else _only_reading(path)}"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, check_same_thread=False)
        connection.isolation_level = None  # transactions are begun by us, at once for writing
        try:
            for pragma in (
                "foreign_keys = ON",
                "synchronous = FULL",
                "recursive_triggers = ON",
                "trusted_schema = OFF",
            ):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        why = say(
            "ledger {path} could not be created: {why}; {remedy}",
            path=str(path),
            why=because(error),
            remedy=_REMEDY.get(error.errno or 0, _ELSEWHERE),
        )
        raise Unwritable(why) from error


def _only_reading(path: Path) -> str:
    """On a medium that takes no writes SQLite cannot keep its shared index; nobody else can write there either."""
    frozen = not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists()
    return "immutable=1" if frozen else "mode=ro"


def _postgresql(url: URL) -> Engine:
    try:
        engine = create_engine(url.set(drivername="postgresql+psycopg"), pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError) as error:
        raise NotAllowed(say("ledger {url}: {why}", url=shown(url), why=str(error))) from error

    @event.listens_for(engine, "do_connect")
    def timeouts(dialect: object, record: object, args: object, parameters: dict[str, object]) -> None:
        del dialect, record, args
        parameters.setdefault("connect_timeout", int(PATIENCE))
        wanted = "-c synchronous_commit=on -c statement_timeout=120s"
        parameters["options"] = f"{parameters.get('options', '')} {wanted}".strip()

    return engine


#: Parameters of a PostgreSQL URL that are secret as well as its password.
_SECRET = ("password", "sslpassword")


def secret(url: URL) -> bool:
    """Whether a URL holds a password, before the host or among its parameters."""
    return url.password is not None or any(name in url.query for name in _SECRET)


def bare(url: URL) -> URL:
    """Return a URL without any password: what another program may be told, which takes it from its own places."""
    query = url.difference_update_query(_SECRET).query
    return URL.create(url.drivername, url.username, None, url.host, url.port, url.database, query)


def shown(url: URL) -> str:
    """Return a URL as it may be shown: without any password, and with stars where one stood before the host."""
    return url.difference_update_query(_SECRET).render_as_string(hide_password=True)
