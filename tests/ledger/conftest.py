"""Every ledger test runs on both databases: a SQLite file, and a database of its own on a real PostgreSQL."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from kvgate.ledger.repository import Ledger
from tests.ledger.server import server

_names = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@contextmanager
def _database(base: str, template: str = "template0") -> Iterator[str]:
    name = f"kvgate_{next(_names)}"
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY = FILE_COPY")
        yield f"{base}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def made_on_postgresql(postgresql: str) -> Iterator[str]:
    """Name of a database that holds an empty ledger, to be copied."""
    with _database(postgresql) as url:
        Ledger.open(url).close()
        yield url.rpartition("/")[2]


@pytest.fixture(scope="session")
def made_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that holds an empty ledger, to be copied."""
    path = tmp_path_factory.mktemp("ledger") / "kvgate.db"
    Ledger.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a database without a table; on SQLite not even the folder is there."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ledger/kvgate.db"
        return
    with _database(request.getfixturevalue("postgresql")) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of an empty ledger."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("made_on_sqlite"), tmp_path / "kvgate.db")
        yield f"sqlite:///{tmp_path}/kvgate.db"
        return
    with _database(request.getfixturevalue("postgresql"), request.getfixturevalue("made_on_postgresql")) as made:
        yield made


@pytest.fixture
def bare_postgresql(postgresql: str) -> Iterator[str]:
    """URL of a PostgreSQL database without a table."""
    with _database(postgresql) as made:
        yield made


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """An open, empty ledger."""
    opened = Ledger.open(url)
    yield opened
    opened.close()
