"""A ledger is opened, brought up to date, or refused with what to do."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import kvgate.ledger.engine
from checks.verdict import Outcome
from kvgate.errors import Damaged, NotAllowed, Unwritable
from kvgate.ledger import schema
from kvgate.ledger.engine import Store
from kvgate.ledger.models import APPEND_ONLY, Base
from kvgate.ledger.repository import Ledger
from tests.ledger.sample import BAD, GOOD, OWED, begin, complete, decision, put, rows

MIGRATIONS = Path(schema.__file__).parent / "migrations"


def test_an_absent_ledger_is_made_and_opened_again(empty: str) -> None:
    complete(first := Ledger.open(empty), GOOD, GOOD, GOOD, GOOD)
    first.close()
    again = Ledger.open(empty)
    assert [again.outcome(run).outcome for run in again.runs()] == [Outcome.PASS]
    again.close()


def test_the_tables_are_those_of_the_models(ledger: Ledger, url: str) -> None:
    store = Store.connect(url)
    with store.reading("comparing") as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    assert set(Base.metadata.tables) == {*APPEND_ONLY, "run"}
    store.engine.dispose()


def test_the_known_revisions_are_the_steps_there_are() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    steps = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(steps)) == schema.REVISIONS


def test_every_step_up_keeps_the_rows(empty: str, tmp_path: Path) -> None:
    store = Store.connect(empty)
    assert schema.upgrade(store, "0001") == ""
    old = Ledger.open(f"sqlite:///{tmp_path / 'old.db'}")
    run, _ = complete(old, GOOD, BAD, GOOD, GOOD)
    put(store, old)
    before = (old.runs(), old.verdicts(run), old.decisions())
    for step, revision in enumerate(schema.REVISIONS[1:]):
        assert schema.upgrade(store, revision) == schema.REVISIONS[step]
        assert schema.upgrade(store, revision) == revision
    new = Ledger.open(empty)
    assert (new.runs(), new.verdicts(run), new.decisions()) == before
    assert new.check() == []
    complete(new, GOOD, GOOD, GOOD, GOOD)
    new.close()
    store.engine.dispose()


def test_a_ledger_of_a_newer_version_is_refused_and_left_alone(ledger: Ledger, url: str) -> None:
    store = Store.connect(url)
    with store.writing("ageing") as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0999'")
    with pytest.raises(NotAllowed, match=r"newer kvgate .*0999.*update kvgate"):
        Ledger.open(url)
    store.engine.dispose()


def test_a_database_of_something_else_is_refused(empty: str) -> None:
    store = Store.connect(empty)
    with store.writing("squatting") as connection:
        connection.exec_driver_sql("CREATE TABLE run (id INTEGER)")
    with pytest.raises(NotAllowed, match="something else"):
        Ledger.open(empty)
    store.engine.dispose()


@pytest.mark.parametrize(
    "wrong, why",
    [
        ("sqlite://", "in memory"), ("sqlite:///:memory:", "in memory"), ("sqlite:///file:x?mode=memory", "file alone"),
        ("mysql://host/name", "wanted sqlite"), ("nonsense", "no URL"), ("", "no URL"),
        ("postgresql://kvgate:hunter2@127.0.0.1:1/x", "server runs and can be reached"),
    ],
)  # fmt: skip
def test_what_is_no_ledger_is_refused_without_its_password(wrong: str, why: str) -> None:
    with pytest.raises(NotAllowed, match=why) as caught:
        Ledger.open(wrong)
    assert "hunter2" not in str(caught.value)


def test_a_database_that_is_not_there_is_refused_with_the_command_that_makes_it(postgresql: str) -> None:
    with pytest.raises(NotAllowed, match=r"does not exist.*createdb"):
        Ledger.open(f"{postgresql}/nothing")


def test_a_role_without_rights_is_told_so(postgresql: str, made_on_postgresql: str) -> None:
    with psycopg.connect(f"{postgresql}/{made_on_postgresql}", autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    url = f"{postgresql}/{made_on_postgresql}".replace("kvgate@", "reader@")
    with pytest.raises(Unwritable, match=r"permission denied.*owner grant"):
        Ledger.open(url)
    opened = Ledger.open(url, write=False)
    assert opened.runs() == []
    with pytest.raises(Unwritable, match="permission denied"):
        begin(opened)
    opened.close()


def unmount(place: Path) -> None:
    """Let go of a small disk; an error that is still remembered holds the connection that it came from."""
    gc.collect()
    subprocess.run(["umount", str(place)], check=True)


def test_a_ledger_on_a_medium_that_takes_no_writes_can_be_read(tmp_path: Path, made_on_sqlite: Path) -> None:
    place = tmp_path / "medium"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount")
    try:
        url = f"sqlite:///{place}/kvgate.db"
        shutil.copy(made_on_sqlite, place / "kvgate.db")
        complete(Ledger.open(url), GOOD, BAD, GOOD, GOOD)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        with pytest.raises(Unwritable, match=r"readonly|unable to open"):
            Ledger.open(url)
        assert [found.outcome(run).outcome for found in [Ledger.open(url, write=False)] for run in found.runs()] == [
            Outcome.STOP
        ]
    finally:
        unmount(place)


def test_reading_makes_and_changes_nothing(empty: str, tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match=r"no ledger at|no tables yet"):
        Ledger.open(empty, write=False)
    assert not (tmp_path / "ledger").exists()
    store = Store.connect(empty)
    schema.upgrade(store, "0001")
    with pytest.raises(NotAllowed, match="has schema 0001"):
        Ledger.open(empty, write=False)
    schema.upgrade(store)
    assert Ledger.open(empty, write=False).runs() == []
    store.engine.dispose()


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "kvgate.db").write_bytes(b"this is a letter, not a database\n" * 100)
    with pytest.raises(Damaged, match="not a database"):
        Ledger.open(f"sqlite:///{tmp_path}/kvgate.db")


def test_an_overwritten_page_is_damaged_not_a_verdict(tmp_path: Path, made_on_sqlite: Path) -> None:
    path = tmp_path / "kvgate.db"
    shutil.copy(made_on_sqlite, path)
    ledger = Ledger.open(f"sqlite:///{path}")
    run, _ = complete(ledger, GOOD, GOOD, GOOD, GOOD)
    raw = bytearray(path.read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    path.write_bytes(raw)
    with pytest.raises(Damaged):
        ledger.outcome(run)


def test_a_ledger_deleted_during_the_run_never_passes(tmp_path: Path, made_on_sqlite: Path) -> None:
    path = tmp_path / "kvgate.db"
    shutil.copy(made_on_sqlite, path)
    ledger = Ledger.open(f"sqlite:///{path}")
    run = begin(ledger)
    ledger.record(run, rows(GOOD, GOOD, GOOD, GOOD))
    path.unlink()
    with pytest.raises(Unwritable, match="unable to open"):
        ledger.finish(run, decision(GOOD, GOOD, GOOD, GOOD))
    assert not path.exists()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_server_that_goes_away_never_passes(ledger: Ledger, url: str) -> None:
    run = begin(ledger)
    ledger.record(run, rows(GOOD, GOOD, GOOD, GOOD))
    base, _, name = url.rpartition("/")
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
    with pytest.raises(Unwritable):
        ledger.finish(run, decision(GOOD, GOOD, GOOD, GOOD))


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_sqlite_keeps_what_it_confirmed(ledger: Ledger, url: str) -> None:
    store = Store.connect(url)
    with store.reading("looking") as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_postgresql_keeps_what_it_confirmed(postgresql: str, made_on_postgresql: str) -> None:
    with psycopg.connect(f"{postgresql}/{made_on_postgresql}", autocommit=True) as connection:
        connection.execute("ALTER ROLE kvgate SET synchronous_commit = off")
    store = Store.connect(f"{postgresql}/{made_on_postgresql}")
    with store.reading("looking") as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    store.engine.dispose()


def test_a_busy_ledger_refuses_to_begin_and_cannot_decide(
    ledger: Ledger, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(ledger)
    monkeypatch.setattr(kvgate.ledger.engine, "PATIENCE", 0.2)
    impatient, other = Ledger.open(url), Store.connect(url)
    with other.writing("holding on") as connection:
        connection.exec_driver_sql("SELECT 1")
        with pytest.raises(NotAllowed, match="another process is writing"):
            begin(impatient)
        with pytest.raises(Unwritable, match="another process is writing"):
            impatient.record(run, rows(GOOD))
        assert impatient.outcome(run).outcome is Outcome.UNDECIDED  # reading is not kept waiting
    begin(impatient)
    for opened in (impatient._store, other):
        opened.engine.dispose()


BEGIN_MANY = """
import sys
from kvgate.ledger.repository import Ledger
from tests.ledger.sample import GOOD, complete
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    complete(ledger, GOOD, GOOD, GOOD, GOOD)
"""


def python(code: str, *arguments: str, **more: object) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def test_two_gate_runs_at_once_lose_nothing(empty: str) -> None:
    """From nothing: both make the tables, both get attempts of their own, both decide."""
    pair = [python(BEGIN_MANY, empty) for _ in range(2)]
    for process in pair:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in pair:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    ledger = Ledger.open(empty)
    found = ledger.runs("fx100", "G1")
    assert [run.attempt for run in found] == list(range(1, 7))
    assert all(len(ledger.verdicts(run)) == len(OWED) for run in found)
    assert [entry.seq for entry in ledger.decisions()] == list(range(1, 7))
    assert ledger.check() == []
    ledger.close()


DIE = """
import os, sys
from kvgate.ledger.repository import Ledger
from tests.ledger.sample import GOOD, begin, rows
ledger = Ledger.open(sys.argv[1])
print(begin(ledger).id, flush=True)
run = ledger.runs()[-1]
while True:
    ledger.record(run, rows(GOOD, GOOD, GOOD, GOOD))
    print("recorded", flush=True)
"""


def test_a_killed_run_is_undecided_and_what_it_confirmed_is_there(url: str) -> None:
    process = python(DIE, url)
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    confirmed = sum(process.stdout.readline() == "recorded\n" for _ in range(5))
    time.sleep(0.02)
    process.kill()
    rest, _ = process.communicate()
    confirmed += rest.count("recorded\n")
    ledger = Ledger.open(url)
    run = ledger.unfinished("fx100", "G1")
    assert run is not None
    assert (run.id, run.state) == (name, "started")
    kept = len(ledger.verdicts(run))
    assert kept % len(OWED) == 0
    assert kept // len(OWED) in (confirmed, confirmed + 1)
    assert ledger.outcome(run).outcome is Outcome.UNDECIDED
    assert ledger.finish(run, decision(GOOD, GOOD, GOOD, GOOD)) is Outcome.PASS
    assert ledger.check() == []
    ledger.close()


AS_NOBODY = """
import os, sys
os.setgid(65534); os.setuid(65534)
from kvgate.errors import Unwritable
from kvgate.ledger.repository import Ledger
try:
    Ledger.open(sys.argv[1])
except Unwritable as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
@pytest.mark.parametrize("case", ["file", "folder", "absent"])
def test_a_ledger_that_may_not_be_written_says_what_to_do(case: str, made_on_sqlite: Path) -> None:
    folder = Path(f"/tmp/kvgate-test-{os.getpid()}-{case}")
    folder.mkdir(mode=0o755)
    try:
        path = folder / "kvgate.db"
        if case != "absent":
            shutil.copy(made_on_sqlite, path)
            path.chmod(0o666 if case == "folder" else 0o644)
        if case == "file":
            folder.chmod(0o777)
        code = "import sys; sys.path[:] = [p for p in sys.path if p]\n" + AS_NOBODY
        said, trouble = python(
            "import kvgate.ledger.repository, alembic.command\n" + code, f"sqlite:///{path}"
        ).communicate()
        assert "write permission" in said or "written to" in said, trouble
        assert str(path) in said
    finally:
        shutil.rmtree(folder)


def test_a_full_disk_decides_nothing(tmp_path: Path, made_on_sqlite: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)], check=False, capture_output=True
    ).returncode:
        pytest.skip("no right to mount")
    try:
        shutil.copy(made_on_sqlite, place / "kvgate.db")
        ledger = Ledger.open(f"sqlite:///{place}/kvgate.db")
        run = begin(ledger)
        ledger.record(run, rows(GOOD, GOOD, GOOD, GOOD))
        (place / "ballast").write_bytes(b"x" * (shutil.disk_usage(place).free - 4096))
        with pytest.raises(Unwritable, match=r"free space|disk"):
            ledger.record(run, rows(GOOD, GOOD, GOOD, GOOD) * 2000)
        with pytest.raises(Unwritable):
            ledger.finish(run, decision(GOOD, GOOD, GOOD, GOOD))
        (place / "ballast").unlink()
        assert ledger.outcome(run).outcome is Outcome.UNDECIDED
        assert ledger.check() == []
        assert ledger.finish(run, decision(GOOD, GOOD, GOOD, GOOD)) is Outcome.PASS
    finally:
        unmount(place)


def test_a_ledger_can_be_read_by_plain_tools(ledger: Ledger, url: str) -> None:
    complete(ledger, GOOD, BAD, GOOD, GOOD)
    query = "SELECT clause, subject, measured FROM verdict WHERE outcome = 'STOP'"
    if url.startswith("sqlite"):
        found = sqlite3.connect(url.removeprefix("sqlite:///")).execute(query).fetchall()
    else:
        with psycopg.connect(url) as connection:
            found = connection.execute(query).fetchall()
    assert found == [("G1.2.3", "fx100-a:S1", "x2")]
