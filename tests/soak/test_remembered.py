"""Hosts remember every soak that ever began on them: one of another ledger, removed, is named all the same."""

from __future__ import annotations

import contextlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from checks.soak.attempts import Remembered, Start, Starts
from checks.soak.starts import written_down
from checks.verdict import Outcome
from kvgate.certificates.soak_book import SoakBook
from kvgate.evidence.store import Evidence
from kvgate.gate import starts as kept
from kvgate.gate.soaks import gather
from kvgate.ledger.repository import Ledger
from kvgate.soak import lying, remote
from kvgate.soak.control import Control
from kvgate.soak.remote import Place
from kvgate.soak.told import Told, described
from kvgate.transport.base import Answer
from kvgate.transport.local import LocalTransport
from tests.gates.soaking import array, node, started
from tests.soak.conftest import SIGNER
from tests.soak.hosted import ask, lay_out, plan

LIST = started({"fx100-a": array(), "node-01": node()})
HIDDEN = Remembered("node-01", "soak-hidden", "2026-01-03T04:05:06.000000Z", "rack-a", "trial")


@pytest.fixture
def hidden(control: Control, tmp_path: Path) -> str:
    """A soak that somebody began with a ledger of their own, ended and removed."""
    with contextlib.closing(Ledger.open(f"sqlite:///{tmp_path / 'other.db'}")) as ledger:
        theirs = SoakBook(ledger, control.inventory, "somebody", "0", signer=SIGNER)
        other = Control(control.inventory, LocalTransport(), tmp_path / "elsewhere", theirs)
        store, _ = other.attach(60)
        other.start(store)
        other.stop(store)
        assert [one.found["did"] for one in other.remove(store, other.collect(store))] == ["removed", "removed"]
    return store.soak


def test_a_soak_of_another_ledger_that_was_removed_is_named_by_its_hosts(
    control: Control, book: SoakBook, hosts: Path, hidden: str
) -> None:
    assert list(hosts.glob("*/*/worker.pyz")) == []
    journals, trouble = gather(control.inventory, LocalTransport(), control.root, book, allow_load=True)
    assert trouble == []
    assert journals is not None
    # What ran when the hosts were asked is not there yet: it is asked for again whenever a gate takes the journals.
    assert {one.soak for one in journals.remembered} == {hidden}
    again, _ = gather(control.inventory, LocalTransport(), control.root, book, allow_load=True)
    assert again is not None
    assert {one.soak for one in again.remembered} == {hidden, journals.store.soak}
    found = replace(book.starts(), remembered=again.remembered)
    assert list(found.strange()) == [hidden]
    [first, *_] = found.strange()[hidden]
    assert (first.rack, first.campaign) == (control.inventory.rack.rack, control.inventory.rack.campaign)
    control.stop(journals.store)


def test_a_host_that_lost_the_end_of_its_list_goes_on_with_it(tmp_path: Path) -> None:
    """A crash may leave half a line; it must not swallow the one after it."""
    folder = lay_out(tmp_path / "soak-1" / "here", plan(soak="soak-1"))
    (tmp_path / "begun.jsonl").write_text('{"soak":"soak-0","host":"here"}\n{"soak":"soak-ha')
    ask(folder, "start")
    ask(folder, "stop")
    lines = (tmp_path / "begun.jsonl").read_text().splitlines()
    assert lines[1] == '{"soak":"soak-ha'
    told = json.loads(lines[2])
    assert (told["soak"], told["host"]) == ("soak-1", "here")
    assert told["utc"].endswith("Z")


def test_a_start_that_cannot_be_written_down_is_none_and_says_why(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "soak-1" / "here", plan(soak="soak-1"))
    (tmp_path / "begun.jsonl").mkdir()
    told = Told("here", ask(folder, "start"))
    assert (told.state, told.found["did"]) == ("absent", "failed")
    assert "did not begin: begun.jsonl: " in str(described(told))
    assert "Is a directory" in str(described(told))


def test_a_soak_that_goes_on_is_written_down_once(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "soak-1" / "here", plan(soak="soak-1"))
    for _ in range(2):
        ask(folder, "start")
    ask(folder, "stop")
    assert len((tmp_path / "begun.jsonl").read_text().splitlines()) == 1


def test_what_a_host_says_is_read_row_by_row() -> None:
    rows = [
        {"soak": "soak-1", "utc": "2026", "rack": "r", "campaign": "c"},
        {"host": "no name"},
        "words",
        None,
        {"soak": "soak-2"},
    ]
    assert lying.remembered("node-01", rows) == [
        Remembered("node-01", "soak-1", "2026", "r", "c"), Remembered("node-01", "soak-2", "", "", ""),
    ]  # fmt: skip
    assert lying.remembered("node-01", {"soak": "soak-1"}) == []


def judged(starts: Starts) -> tuple[Outcome, str]:
    verdict = written_down(starts, {"fx100-a": array(), "node-01": node()}, 300)
    return verdict.outcome, str(verdict.measured)


def test_it_is_named_in_the_verdict_and_does_not_decide_it() -> None:
    """The other party reads it before it signs; what a trial run before the campaign was, only people know."""
    outcome, said = judged(replace(LIST, remembered=(HIDDEN, replace(HIDDEN, host="fx100-a"))))
    assert outcome is Outcome.PASS
    assert "begun on these hosts and not among the soaks of this rack in the ledger: 1" in said
    assert (
        "soak-hidden: begun 2026-01-03 04:05:06 on fx100-a, node-01 in the name of rack rack-a, campaign trial" in said
    )


def test_what_the_ledger_has_is_not_named_twice_and_many_are_counted() -> None:
    mine = tuple(replace(HIDDEN, soak=one.soak) for one in LIST.soaks)
    assert "not among the soaks" not in judged(replace(LIST, remembered=mine))[1]
    removed = Start("soak-hidden", "2026-01-03T04:05:00.000000Z", removed="2026-01-03T05:00:00.000000Z")
    assert "not among the soaks" not in judged(replace(LIST, soaks=(removed, *LIST.soaks), remembered=(HIDDEN,)))[1]
    many = tuple(replace(HIDDEN, soak=f"soak-{at}", utc=f"2026-01-0{at}T00:00:00Z") for at in range(1, 8))
    said = judged(replace(LIST, remembered=many))[1]
    assert "not among the soaks of this rack in the ledger: 7" in said
    assert "soak-7" in said
    assert "soak-3:" not in said
    assert "and 3 more" in said


def test_the_evidence_gives_what_hosts_remember_back_and_older_evidence_has_none(tmp_path: Path) -> None:
    evidence = Evidence.create(tmp_path, "run", {"gate": "G4"})
    found = replace(LIST, remembered=(HIDDEN,))
    kept.keep(evidence, found)
    assert kept.kept(evidence) == found


def test_a_later_sitting_forgets_nothing_and_hosts_that_did_not_tell_are_named(tmp_path: Path) -> None:
    evidence = Evidence.create(tmp_path, "run", {"gate": "G4"})
    kept.keep(evidence, replace(LIST, remembered=(HIDDEN,), unasked=("fx100-a",)))
    kept.keep(evidence, replace(LIST, unasked=("node-01", "fx100-a")))
    found = kept.kept(evidence)
    assert found is not None
    assert (found.remembered, found.unasked) == ((HIDDEN,), ("fx100-a",)), "node-01 told in the first"
    outcome, said = judged(found)
    assert outcome is Outcome.PASS
    assert "not told what began on: fx100-a" in said


@pytest.mark.parametrize("base", ["plain", "with 'quotes' and $HOME"])
def test_odd_lines_of_the_list_are_passed_over_and_hide_nothing_else(tmp_path: Path, base: str) -> None:
    folder = tmp_path / base
    folder.mkdir()
    good = '{"soak":"soak-1","host":"here","rack":"r","campaign":"c","utc":"2026"}'
    odd = (
        '{"soak":"s","x":NaN}',
        '{"soak":1e999,"utc":"","rack":"","campaign":""}',
        "[" * 5000,
        '"words"',
        "null",
        '{"half',
    )
    (folder / "begun.jsonl").write_bytes("\n".join((*odd[:3], good, *odd[3:])).encode() + b"\xff\n")
    command = remote.listing(Place(str(folder)))
    done = subprocess.run(["sh", "-c", command.line], capture_output=True, check=True)
    told = remote.told("here", Answer("list", done.stdout, done.stderr, done.returncode, 0.1))
    assert told["soaks"] == []
    assert [one.soak for one in lying.remembered("here", told["begun"])] == ["inf", "soak-1"]
    (folder / "begun.jsonl").unlink()
    (folder / "begun.jsonl").mkdir()
    assert (
        subprocess.run(["sh", "-c", command.line], capture_output=True, check=True).stdout
        == b'{"soaks": [], "begun": []}\n'
    )
