"""A suggested command works when it is pasted: quoted, with the options in force, without a password."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from kvgate.gate.options import Options
from kvgate.reports import hints


def options(ledger: str = "sqlite:///var/kvgate.db", evidence: str = "var/evidence") -> Options:
    return Options("G1", Path("inventories/rack a.yaml"), ledger, Path(evidence))


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KVGATE_LEDGER", "KVGATE_EVIDENCE"):
        monkeypatch.delenv(name, raising=False)


def test_what_a_command_takes_by_itself_is_left_out() -> None:
    assert hints.show("r1", options()) == "kvgate show r1"
    assert hints.judge("r1", options()) == "kvgate judge r1"
    assert hints.show("r1", options(f"sqlite:///{Path.cwd()}/var/kvgate.db")) == "kvgate show r1"


def test_what_was_given_is_carried_and_quoted() -> None:
    given = options("sqlite:////srv/all racks.db", "/srv/ev; rm x")
    assert shlex.split(hints.show("r1", given)) == ["kvgate", "show", "r1", "--ledger", "sqlite:////srv/all racks.db"]
    assert shlex.split(hints.judge("r1", given))[3:] == [
        "--ledger", "sqlite:////srv/all racks.db", "--evidence", "/srv/ev; rm x",
    ]  # fmt: skip
    assert shlex.split(hints.again(given))[:5] == ["pytest", "-m", "G1", "--inventory", "inventories/rack a.yaml"]


def test_what_the_environment_says_need_not_be_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_LEDGER", "postgresql://ops@db/kvgate")
    assert hints.show("r1", options("postgresql://ops@db/kvgate")) == "kvgate show r1"
    assert hints.show("r1", options()) == "kvgate show r1 --ledger sqlite:///var/kvgate.db"


@pytest.mark.parametrize(
    "given, said",
    [
        ("postgresql://ops:secret@db/kvgate", "postgresql://ops@db/kvgate"),
        ("postgresql://db/kvgate?user=ops&password=secret", "'postgresql://db/kvgate?user=ops'"),
        (
            "postgresql://ops@db/kvgate?sslpassword=secret&sslmode=require",
            "'postgresql://ops@db/kvgate?sslmode=require'",
        ),
        ("postgresql://ops:secret@db/kvgate?password=secret", "postgresql://ops@db/kvgate"),
    ],
)
def test_a_password_is_never_shown(given: str, said: str) -> None:
    assert hints.show("r1", options(given)) == f"kvgate show r1 --ledger {said}"
    assert "secret" not in hints.judge("r1", options(given)) + hints.again(options(given))
