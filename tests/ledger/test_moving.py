"""A ledger goes from SQLite to PostgreSQL and back with its chain intact; what was changed or cut on the way is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from checks.verdict import Outcome
from kvgate.codec import canonical
from kvgate.errors import Damaged, NotAllowed, Unwritable
from kvgate.ledger import moving
from kvgate.ledger.repository import Ledger
from kvgate.ledger.schema import REVISIONS
from tests.ledger.sample import BAD, GOOD, OPEN, begin, complete, rows, tamper

Other = Callable[[], str]


@pytest.fixture
def other(url: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database of the other kind, without a table."""
    if url.startswith("sqlite"):
        return str(request.getfixturevalue("bare_postgresql"))
    return f"sqlite:///{tmp_path}/other/kvgate.db"


def filled(ledger: Ledger) -> None:
    """Three campaigns with all that there can be: attempts, verdicts given again, an interruption, a second judgement."""
    complete(ledger, BAD)
    run = begin(ledger, campaign="other")
    ledger.record(run, rows(GOOD, OPEN))
    ledger.interrupt(run, "stopped by\tthe operator")
    ledger.record(run, rows(GOOD, GOOD, GOOD, GOOD))
    done, _ = complete(ledger, GOOD, GOOD, GOOD, GOOD)
    ledger.record(done, rows(BAD, GOOD, GOOD, GOOD), judgement=2)
    ledger.keep_envelope("certificate", "fx100", b"\x00\xff{}", "d" * 64, done.id)
    begin(ledger, campaign="晶圆")


def everything(ledger: Ledger) -> object:
    runs = ledger.runs()
    return (
        runs,
        ledger.decisions(),
        [ledger.verdicts(run, judgement=number) for run in runs for number in (1, 2)],
        [ledger.owed(run) for run in runs],
        ledger.envelopes(),
        [ledger.revisions(run.campaign) for run in runs],
    )


def test_there_and_back_again_is_the_same_ledger(ledger: Ledger, url: str, other: str, tmp_path: Path) -> None:
    filled(ledger)
    before, head = everything(ledger), ledger.head()
    moving.export(url, tmp_path / "one", "0.1.0")
    moving.take_in(tmp_path / "one", other)
    there = Ledger.open(other)
    assert everything(there) == before
    assert there.check([head]) == []
    complete(there, GOOD, GOOD, GOOD, GOOD)  # it counts on from where the other one was
    assert there.check([head]) == []
    moving.export(other, tmp_path / "two", "0.1.0")
    found = moving.take_in(tmp_path / "two", url)
    assert (found.ended, found.added) == (0, 1 + 4 + 4 + 4 + 1)  # run, owed, verdicts, measurements, decision
    assert everything(ledger) == everything(there)
    assert ledger.check([head]) == []
    again = moving.take_in(tmp_path / "two", url)
    assert (again.added, again.ended) == (0, 0)
    moving.export(url, tmp_path / "three", "0.1.0")
    two, three = ((tmp_path / name).read_bytes().splitlines() for name in ("two", "three"))
    assert three[1:-1] == two[1:-1]  # but for when it was written, and the digest that comes of that
    assert json.loads(three[0]) | {"utc": ""} == json.loads(two[0]) | {"utc": ""}
    there.close()


def test_a_run_that_ended_meanwhile_gets_its_end(ledger: Ledger, url: str, other: str, tmp_path: Path) -> None:
    run = begin(ledger)
    moving.export(url, tmp_path / "one", "0.1.0")
    moving.take_in(tmp_path / "one", other)
    ledger.record(run, rows(BAD))
    ledger.interrupt(run, "power cut")
    moving.export(url, tmp_path / "two", "0.1.0")
    assert moving.take_in(tmp_path / "two", other).ended == 1
    there = Ledger.open(other)
    assert everything(there) == everything(ledger)
    there.close()


def test_ledgers_that_grew_apart_are_never_mixed(ledger: Ledger, url: str, other: str, tmp_path: Path) -> None:
    complete(ledger, BAD)
    moving.export(url, tmp_path / "one", "0.1.0")
    moving.take_in(tmp_path / "one", other)
    there = Ledger.open(other)
    complete(there, GOOD, GOOD, GOOD, GOOD)
    complete(ledger, BAD)
    moving.export(url, tmp_path / "two", "0.1.0")
    before = everything(there)
    with pytest.raises(NotAllowed, match="grew apart"):
        moving.take_in(tmp_path / "two", other)
    with pytest.raises(NotAllowed, match="has rows that the imported one has not"):
        moving.take_in(tmp_path / "one", other)
    assert everything(there) == before
    there.close()


def test_a_damaged_ledger_is_not_exported(ledger: Ledger, url: str, tmp_path: Path) -> None:
    complete(ledger, BAD)
    tamper(url, "UPDATE verdict SET measured = 'x' WHERE id = 1")
    with pytest.raises(Damaged, match="nothing was exported"):
        moving.export(url, tmp_path / "one", "0.1.0")
    assert not list(tmp_path.glob("*one*"))


def sealed(lines: list[bytes]) -> bytes:
    """Lines with a good end: as who changes a file on purpose writes it."""
    body = b"".join(line + b"\n" for line in lines)
    return body + canonical({"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"


def changed(old: bytes, new: bytes, begin: bytes = b"[") -> Callable[[list[bytes]], bytes]:
    def change(lines: list[bytes]) -> bytes:
        place = next(place for place, line in enumerate(lines) if line.startswith(begin) and old in line)
        return sealed([*lines[:place], lines[place].replace(old, new, 1), *lines[place + 1 : -1]])

    return change


FILES: dict[str, tuple[Callable[[list[bytes]], bytes], str]] = {
    "cut": (lambda lines: b"\n".join(lines)[:-40], "is where it was cut off"),
    "cut at a line's end": (lambda lines: b"\n".join(lines[:-1]) + b"\n", "is where it was cut off"),
    "a line removed": (lambda lines: b"\n".join(lines[:-2] + lines[-1:]) + b"\n", "does not seal the lines"),
    "more after the end": (lambda lines: b"\n".join(lines) + b"\n[]\n", "more follows"),
    "empty": (lambda _: b"", "cut off"),
    "something else": (lambda _: b'{"a":1}\n', "is no ledger that"),
    "no text": (lambda _: bytes(range(256)) + b"\n", "is no JSON object"),
    "a key twice": (lambda lines: lines[0][:-1] + b',"head":[0,""]}\n', "a key stands twice"),
    "deeply nested": (lambda lines: lines[0] + b"\n" + b"[" * 100_000 + b"\n", "is no JSON"),
    "a newer schema": (changed(b'"schema":"', b'"schema":"9', b"{"), "newer kvgate"),
    "another table": (changed(b'"table":"campaign"', b'"table":"alembic_version"', b"{"), "no ledger has"),
    "another column": (changed(b'"created"', b'"crated"', b"{"), "no ledger has"),
    "too few cells": (changed(b'"STOP",', b""), "cells, wanted"),
    "a word that may not stand there": (changed(b',"STOP",', b',"GOOD",'), "fits no ledger"),
    "a row twice": (lambda lines: sealed([*lines[:3], lines[2], *lines[3:-1]]), "fits no ledger"),
    "a verdict turned": (changed(b'"measured",', b'"declared",'), "is not what was written"),
    "another head": (changed(b'"head":[1,', b'"head":[2,', b"{"), "anchored outside"),
    "a nested cell": (changed(b"[1,", b"[[],"), "which is no cell"),
}  # fmt: skip


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("what", FILES)
def test_a_file_that_is_not_what_was_written_is_refused_whole(
    ledger: Ledger, url: str, what: str, tmp_path: Path
) -> None:
    complete(ledger, BAD)
    moving.export(url, tmp_path / "good", "0.1.0")
    spoil, said = FILES[what]
    (tmp_path / "bad").write_bytes(spoil((tmp_path / "good").read_bytes().splitlines()))
    target = f"sqlite:///{tmp_path}/target.db"
    with pytest.raises((Damaged, NotAllowed), match=said):
        moving.take_in(tmp_path / "bad", target)
    if (tmp_path / "target.db").exists():
        assert Ledger.open(target).runs() == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_file_is_never_written_over_and_never_half(ledger: Ledger, url: str, tmp_path: Path) -> None:
    complete(ledger, BAD)
    (tmp_path / "one").write_text("mine")
    with pytest.raises(NotAllowed, match="there already"):
        moving.export(url, tmp_path / "one", "0.1.0")
    with pytest.raises(Unwritable, match="could not be written"):
        moving.export(url, Path("/proc/ledger"), "0.1.0")
    assert (tmp_path / "one").read_text() == "mine"


# ---- files that older versions wrote, with data in them

HISTORY = Path(__file__).parent / "history"


@pytest.mark.parametrize("file", sorted(HISTORY.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_an_older_version_wrote_becomes_a_ledger_of_this_one(file: Path, empty: str) -> None:
    moving.take_in(file, empty)
    ledger = Ledger.open(empty)
    assert [(run.campaign, run.gate, run.attempt, ledger.outcome(run).outcome) for run in ledger.runs()] == [
        ("fx100", "G1", 1, Outcome.STOP), ("other", "G1", 1, Outcome.UNDECIDED), ("fx100", "G1", 2, Outcome.PASS),
    ]  # fmt: skip
    assert ledger.check([tuple(json.loads(file.read_bytes().splitlines()[0])["head"])]) == []
    complete(ledger, GOOD, GOOD, GOOD, GOOD)
    assert ledger.check() == []
    ledger.close()


def test_there_is_such_a_file_of_every_schema_before_this_one() -> None:
    assert [path.stem for path in sorted(HISTORY.glob("*.jsonl"))] == list(REVISIONS[:-1])
