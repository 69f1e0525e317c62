"""Soaks at set times: units that systemd accepts, a crontab line that cron accepts, and nothing missed that is not shown."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate.errors import NotAllowed
from kvgate.soak import schedule
from kvgate.soak.host import launch
from kvgate.soak.schedule import EVERY, Book, Entry
from tests.certificates.conftest import Keys
from tests.invoking import invoked_any
from tests.soak.rack import inventory

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
ODD = ["/usr/bin/python3", "-m", "kvgate", "soak", "run", "--inventory", '/srv/50 % of it/a "rack" $HOME/x.yaml']

verified = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")


def entry(
    every: schedule.Every = "weekly", at: datetime = NOW + timedelta(days=5), argv: list[str] | None = None
) -> Entry:
    return schedule.entry("nightly", at, every, argv or ODD, Path("/srv"), NOW, "systemd")


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


@verified
@pytest.mark.parametrize("every", EVERY)
def test_systemd_accepts_the_units(tmp_path: Path, every: schedule.Every) -> None:
    one = entry(every, at=datetime(2027, 2, 28, 18, 30, tzinfo=UTC))
    for ending, text in (("service", schedule.service(one)), ("timer", schedule.timer(one))):
        (tmp_path / f"{schedule.unit(one)}.{ending}").write_text(text)
    done = analyze("verify", "--man=no", *(str(path) for path in sorted(tmp_path.iterdir())))
    assert done.returncode == 0, done.stderr
    assert "nightly" not in done.stderr, done.stderr  # a line that is ignored is only warned of


@verified
@pytest.mark.parametrize("every", EVERY)
def test_the_timer_is_due_when_the_book_says(every: schedule.Every) -> None:
    one = entry(every, at=datetime(2027, 2, 28, 18, 30, tzinfo=UTC))
    when = next(line.partition("=")[2] for line in schedule.timer(one).splitlines() if line.startswith("OnCalendar="))
    shown = analyze("calendar", "--base-time=2026-11-29 20:00:00 UTC", "--iterations=1", when).stdout
    due = next(line.split(": ", 1)[1] for line in shown.splitlines() if "(in UTC)" in line or "Next elapse" in line)
    first = one.first if every in ("once",) else None
    stamp = datetime.strptime(due.split(" ", 1)[1].removesuffix(" UTC"), "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    assert (stamp.hour, stamp.minute) == (18, 30)
    assert first is None or stamp == first
    assert every != "weekly" or stamp.weekday() == one.first.weekday()
    assert every != "monthly" or stamp.day == 28


@verified
def test_what_systemd_reads_of_the_words_is_what_was_meant(tmp_path: Path) -> None:
    text = schedule.service(entry())
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    assert "50 %% of it" in line
    assert "$$HOME" in line
    assert '\\"rack\\"' in line
    assert tmp_path.exists()


def test_a_crontab_line_has_its_five_fields_and_no_bare_percent() -> None:
    for every, fields in (("daily", 3), ("weekly", 2), ("monthly", 2)):
        line = schedule.crontab(entry(every))  # type: ignore[arg-type]
        minute, hour, *days = line.split()[:5]
        assert minute.isdigit()
        assert hour.isdigit()
        assert days.count("*") == fields
        assert line.count("%") == line.count("\\%")
        assert line.endswith("# kvgate-soak-nightly")


def test_times_that_passed_without_a_beginning_are_missed(tmp_path: Path) -> None:
    book, one = Book(tmp_path), entry("daily", at=NOW + timedelta(hours=1))
    book.write([one])
    first = one.first
    assert book.missed(one, first + timedelta(minutes=5)) == []  # there is still time
    assert book.missed(one, first + timedelta(days=2, minutes=30)) == [first + timedelta(days=n) for n in range(3)]
    (tmp_path / "schedule-runs.jsonl").write_text(
        json.dumps({"name": "nightly", "event": "begun", "at": (first + timedelta(days=1, minutes=2)).isoformat()})
        + '\n{"na'
    )
    assert book.missed(one, first + timedelta(days=2, minutes=30)) == [first, first + timedelta(days=2)]


@pytest.mark.parametrize("at", [NOW - timedelta(seconds=1), NOW])
def test_a_time_that_is_over_is_refused(at: datetime) -> None:
    with pytest.raises(NotAllowed, match="is over"):
        entry(at=at)


def test_a_day_that_not_every_month_has_is_refused() -> None:
    with pytest.raises(NotAllowed, match="not every month"):
        entry("monthly", at=datetime(2026, 12, 31, tzinfo=UTC))


Kvgate = Callable[..., Result]


@pytest.fixture
def kvgate(tmp_path: Path) -> Kvgate:
    (tmp_path / "rack.yaml").write_text(inventory(tmp_path / "hosts"))
    more = ["--soaks", str(tmp_path / "soaks"), "--units", str(tmp_path / "units")]
    environment = {
        "KVGATE_TRUST": str(tmp_path / "allowed_signers"),
        "KVGATE_LEDGER": "postgresql+psycopg://ops@db/kvgate",
        "KVGATE_EVIDENCE": str(tmp_path / "evidence"),
    }
    return lambda *words: invoked_any("soak", "schedule", *words, *more, env=environment)


def keys(folder: Path, party: str, passphrase: bytes | None = None) -> tuple[str, ...]:
    """Lay a party's key and a trust file of it; the options that sign with it."""
    pair = Keys(Ed25519PrivateKey.generate())
    path = pair.write(folder / party, passphrase)
    for other in {"vendor", "customer"} - {party}:
        (folder / f"{other}.pub").write_text(Keys(Ed25519PrivateKey.generate()).signer.public.openssh() + "\n")
    (folder / "allowed_signers").write_text(pair.line(party))
    return "--key", str(path), "--party", party


@pytest.mark.parametrize("command", ["schedule", "run"])
def test_a_soak_that_could_not_sign_its_start_ticket_is_refused_before_it_makes_load(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "rack.yaml").write_text(inventory(tmp_path / "hosts"))
    place = ("--inventory", str(tmp_path / "rack.yaml"), "--soaks", str(tmp_path / "soaks"), "--allow-load")
    more = (
        ("--units", str(tmp_path / "units"), "--at", "2099-01-01 10:00") if command == "schedule" else ("--every", "1")
    )
    trust = ("--trust", str(tmp_path / "allowed_signers"))

    def refused(*words: str) -> str:
        done = invoked_any("soak", command, *place, *more, *words)
        assert done.exit_code == 4, done.output
        return done.stderr

    assert "without a signed start ticket: give --key FILE and --party NAME" in refused()
    locked = keys(tmp_path, "vendor", b"secret")
    assert "has a passphrase, and what a timer starts can ask nobody" in refused(*locked, *trust)
    public = ("--key", str(tmp_path / "vendor.pub"), "--party", "vendor")
    assert "what a timer starts has no ssh-agent" in refused(*public, *trust)
    good = keys(tmp_path, "customer")
    assert "is customer's in" in refused(*good[:3], "vendor", *trust)
    assert not (tmp_path / "soaks").exists()
    assert not (tmp_path / "hosts").exists()


def test_planned_listed_and_removed_again(kvgate: Kvgate, tmp_path: Path) -> None:
    words = ("--inventory", str(tmp_path / "rack.yaml"), "--at", "2099-01-01 10:00", "--every", "weekly")
    key = keys(tmp_path, "customer")
    assert kvgate(*words, *key).exit_code == 4  # load for hours is never made without leave
    assert kvgate(*words, *key, "--allow-load").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "units").iterdir()) == [
        "kvgate-soak-soak.service",
        "kvgate-soak-soak.timer",
    ]
    assert kvgate(*words, *key, "--allow-load").exit_code == 4  # a second one of that name
    [row] = json.loads(kvgate("--json").stdout)
    assert (row["name"], row["every"], row["missed"], row["status"]) == ("soak", "weekly", [], None)
    assert row["command"][:3] == [sys.executable, "-m", "kvgate"]
    kept = ["--ledger", "postgresql+psycopg://ops@db/kvgate", "--evidence", str(tmp_path / "evidence")]
    assert row["command"][-10:] == [*key, "--trust", str(tmp_path / "allowed_signers"), *kept]
    assert kvgate("--remove", "soak").exit_code == 0
    assert list((tmp_path / "units").iterdir()) == []
    assert json.loads(kvgate("--json").stdout) == []
    assert kvgate("--remove", "soak").exit_code == 4


def test_soaks_that_would_overlap_are_refused_with_the_sum(kvgate: Kvgate, tmp_path: Path) -> None:
    text = inventory(tmp_path / "hosts", duration="72 h").replace("spare: 0 s", "spare: 4 h")
    (tmp_path / "rack.yaml").write_text(text)
    words = ("--inventory", str(tmp_path / "rack.yaml"), "--at", "2099-01-01 10:00", "--allow-load")
    refused = kvgate(*words, *keys(tmp_path, "customer"), "--every", "daily")
    assert refused.exit_code == 4
    assert "a soak of 72 h and 4 h to spare takes 76 h, and --every daily begins one each 24 h" in " ".join(
        refused.stderr.split()
    )
    assert not (tmp_path / "units").exists()
    assert kvgate(*words, *keys(tmp_path, "customer"), "--every", "weekly").exit_code == 0


@pytest.mark.parametrize(
    ("every", "hours", "fits"),
    [
        ("daily", 23, True),
        ("daily", 24, False),
        ("weekly", 167, True),
        ("weekly", 168, False),
        ("monthly", 672, False),
        ("once", 9999, True),
    ],
)
def test_the_next_is_due_after_the_last_is_over(every: schedule.Every, hours: float, fits: bool) -> None:
    if fits:
        schedule.apart(every, hours * 3600, 0)
    else:
        with pytest.raises(NotAllowed, match="would be due while it runs"):
            schedule.apart(every, hours * 3600, 0)


def test_what_is_no_pass_leaves_the_unit_failed_and_is_not_begun_again() -> None:
    lines = schedule.service(entry()).splitlines()
    assert not [line for line in lines if line.startswith("SuccessExitStatus")], "a STOP is no success"
    [prevent] = [line for line in lines if line.startswith("RestartPreventExitStatus=")]
    assert {*prevent.partition("=")[2].split()} >= {str(status) for status in schedule.RESULTS if status}


@pytest.mark.parametrize(
    ("status", "result"),
    [(0, "PASS"), (1, "STOP"), (6, "UNDECIDED"), (4, "refused"), (2, "interrupted"), (3, "failed")],
)
def test_the_list_says_what_the_last_run_came_to(kvgate: Kvgate, tmp_path: Path, status: int, result: str) -> None:
    words = ("--inventory", str(tmp_path / "rack.yaml"), "--at", "2099-01-01 10:00", "--allow-load")
    assert kvgate(*words, *keys(tmp_path, "customer")).exit_code == 0
    book = Book(tmp_path / "soaks")
    book.note("soak", "begun", **schedule.begun())
    [row] = json.loads(kvgate("--json").stdout)
    assert (row["result"], row["status"]) == ("under way", None)
    book.note("soak", "begun", pid=2**22 + 1)  # no kernel has such a process
    [row] = json.loads(kvgate("--json").stdout)
    assert (row["result"], row["status"]) == ("killed", None)
    book.note("soak", "ended", status=status)
    [row] = json.loads(kvgate("--json").stdout)
    assert (row["result"], row["status"]) == (result, status)
    assert f"{result} ({status})" in " ".join(kvgate().stdout.split())


def test_another_process_with_the_id_of_a_killed_run_is_not_taken_for_it(tmp_path: Path) -> None:
    book, mine = Book(tmp_path), schedule.begun()
    assert mine["start"], "needs /proc"
    for other in ({"start": "1"}, {"boot": "another"}, {"start": "1", "boot": "another"}):
        book.note("soak", "begun", **{**mine, **other})
        assert book.result("soak") == "killed", other
    book.note("soak", "begun", **mine)
    assert book.result("soak") == "under way"


def due(name: str, every: schedule.Every, at: datetime, hours: float, rack: str = "r") -> Entry:
    one = schedule.entry(name, at, every, ODD, Path("/srv"), NOW, "systemd")
    return replace(one, rack=rack, takes=hours * 3600, argv=("kvgate",))


@pytest.mark.parametrize(
    ("one", "other", "clear"),
    [
        (("once", 5.0), ("once", 6.0), False),  # 76 h begin a day apart
        (("once", 6.0), ("once", 5.0), False),
        (("once", 5.0), ("once", 9.0), True),
        (("weekly", 2.0), ("weekly", 5.5), True),
        (("weekly", 2.0), ("weekly", 11.0), False),  # in the week after
        (("weekly", 2.0), ("once", 18.0), False),  # in some later week
        (("monthly", 2.0), ("once", 300.0), True),
        (("weekly", 2.0), ("monthly", 20.0), False),  # some month
    ],
)
def test_two_soaks_of_one_rack_are_never_due_at_once(
    one: tuple[schedule.Every, float], other: tuple[schedule.Every, float], clear: bool
) -> None:
    first, second = (
        due(name, every, NOW + timedelta(days=days), 76) for name, (every, days) in zip("ab", (one, other), strict=True)
    )
    if clear:
        schedule.clear(second, [first], NOW)
    else:
        with pytest.raises(NotAllowed, match=r"b would be due .* while a, due .* takes up to 76 h"):
            schedule.clear(second, [first], NOW)
    schedule.clear(replace(second, rack="another"), [first], NOW)


def test_a_second_entry_that_overlaps_is_refused_and_nothing_of_it_is_written(kvgate: Kvgate, tmp_path: Path) -> None:
    words = ("--inventory", str(tmp_path / "rack.yaml"), "--allow-load", *keys(tmp_path, "customer"))
    assert kvgate(*words, "--at", "2099-01-01 10:00", "--every", "weekly").exit_code == 0
    done = kvgate(*words, "--at", "2099-01-15 10:30", "--name", "again")
    assert done.exit_code == 4
    assert "again would be due" in " ".join(done.output.split())
    assert [row["name"] for row in json.loads(kvgate("--json").stdout)] == ["soak"]
    assert kvgate(*words, "--at", "2099-01-15 13:00", "--name", "again").exit_code == 0


def test_a_run_that_was_killed_before_it_judged_knows_its_soak(tmp_path: Path) -> None:
    book = Book(tmp_path)
    assert book.unfinished("soak") is None
    book.note("soak", "begun")
    book.note("soak", "soak", soak="soak-1")
    book.note("other", "soak", soak="soak-2")
    assert book.unfinished("soak") == "soak-1"
    book.note("soak", "ended", status=6, judged=False)  # Ctrl-C
    assert book.unfinished("soak") == "soak-1"
    book.note("soak", "ended", status=1, judged=True)
    assert book.unfinished("soak") is None


@pytest.mark.parametrize("url", ["ops:hunter2@db/kvgate", "ops@db/kvgate?password=hunter2"])
def test_a_password_never_gets_into_a_unit(kvgate: Kvgate, tmp_path: Path, url: str) -> None:
    words = ("--inventory", str(tmp_path / "rack.yaml"), "--at", "2099-01-01 10:00", "--allow-load")
    refused = kvgate(*words, *keys(tmp_path, "customer"), "--ledger", f"postgresql+psycopg://{url}")
    assert refused.exit_code == 4
    assert "put it into ~/.pgpass" in refused.stderr
    assert "hunter2" not in refused.output
    assert not (tmp_path / "units").exists()


PLAN = {
    "soak": "soak-t", "host": "node-01", "scale": 1, "seconds": 262800,
    "bounds": {"segment_bytes": 1, "journal_bytes": 1, "free_bytes": 1, "memory_bytes": 536870912},
}  # fmt: skip


@verified
def test_systemd_accepts_every_property_of_the_worker_s_unit(tmp_path: Path) -> None:
    told = [one.removeprefix("--property=") for one in launch.properties(PLAN)]
    text = "\n".join(
        ["[Service]", "Type=simple", "ExecStart=/bin/true", *told, f"StandardError=append:{tmp_path}/worker.log", ""]
    )
    (tmp_path / "kvgate-t.service").write_text(text)
    done = analyze("verify", "--man=no", str(tmp_path / "kvgate-t.service"))
    assert done.returncode == 0, done.stderr
    assert "kvgate-t" not in done.stderr, done.stderr
    assert f"RuntimeMaxSec={262800 + 3600}" in told


@pytest.mark.parametrize("user", [False, True])
def test_the_unit_is_begun_with_words_that_systemd_run_knows(tmp_path: Path, user: bool) -> None:
    argv = launch.command(tmp_path, PLAN, user=user)
    if shutil.which("systemd-run") is None:
        pytest.skip("needs systemd-run")
    known = subprocess.run(["systemd-run", "--help"], capture_output=True, text=True, check=True).stdout
    options = [word.partition("=")[0] for word in argv[1 : argv.index("--")]]
    assert all(word in known for word in options), options
    assert ("--user" in options) is user
    assert argv[argv.index("--") + 1 :] == [sys.executable, str(tmp_path / "worker.pyz"), "run", str(tmp_path)]


@pytest.mark.parametrize(("active", "ways"), [(True, []), (False, ["system unit: Unit was already loaded"])])
def test_a_unit_that_somebody_else_began_is_this_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, active: bool, ways: list[str]
) -> None:
    """The second of two starts finds the name taken: it waits for that worker, and begins no other beside it."""
    tools = {"systemd-run": "echo Unit was already loaded; exit 1", "systemctl": f"exit {0 if active else 3}"}
    for name, body in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    trouble = launch._begin(launch.command(tmp_path, PLAN, user=False), "system unit", PLAN)
    assert ([] if trouble is None else [trouble]) == ways
