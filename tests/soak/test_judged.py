"""What G4 takes of a soak: started once if load is permitted, collected each time, read from the evidence alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from checks.soak import covered
from checks.soak.accounting import State
from checks.soak.facts import HostSoak
from checks.verdict import Outcome
from kvgate.errors import Unreadable
from kvgate.evidence.store import Evidence
from kvgate.gate import soaks
from kvgate.gate.answers import Answers
from kvgate.gate.soaked import Soaked
from kvgate.soak.control import Control
from kvgate.soak.starts import Book
from kvgate.soak.store import Copy, Store
from kvgate.soak.told import described
from kvgate.transport.local import LocalTransport
from tests.soak.hosted import kill, until

HOSTS = ("array-a", "node-01")


def book_of(control: Control) -> Book:
    assert control.book is not None
    return control.book


def kept(tmp_path: Path, journals: soaks.Journals, run: str) -> Soaked:
    soaked = Soaked(Answers(Evidence.create(tmp_path / "evidence", run, {"gate": "G4"})))
    for host in HOSTS:
        soaked.keep(host, journals(host), journals.state(host))
    return soaked


def test_without_leave_for_load_nothing_is_started(control: Control, tmp_path: Path) -> None:
    journals, trouble = soaks.gather(
        control.inventory, LocalTransport(), control.root, book_of(control), allow_load=False
    )
    assert journals is None
    assert "no soak runs" in str(trouble[0])
    assert control.known() is None


def test_it_starts_one_and_attaches_to_it_the_next_time(control: Control) -> None:
    for _ in range(2):
        journals, trouble = soaks.gather(
            control.inventory, LocalTransport(), control.root, book_of(control), allow_load=True
        )
        assert journals is not None
        assert not trouble
    assert len(Store.all(control.root)) == 1
    assert [one.state for one in control.status(Store.all(control.root)[0])] == ["running", "running"]


def test_before_the_end_it_is_undecided_with_the_time_left(
    control: Control, begin: Callable[..., Store], tmp_path: Path
) -> None:
    begin(scale=60)
    until(lambda: _lines(control) > 200)
    journals, _ = soaks.gather(control.inventory, LocalTransport(), control.root, book_of(control), allow_load=False)
    assert journals is not None
    soak = kept(tmp_path, journals, "run-1").host("node-01")
    assert soak.running
    verdict = covered.qualified(soak, 1, True)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "h" in str(verdict.note)


def test_a_soak_that_came_to_its_end_is_read_whole_and_not_begun_anew(
    control: Control, begin: Callable[..., Store], tmp_path: Path
) -> None:
    store = begin(scale=600, seconds=1800)
    until(lambda: {one.state for one in control.status(store)} == {"ended"}, 60)
    for number in range(2):
        journals, trouble = soaks.gather(
            control.inventory, LocalTransport(), control.root, book_of(control), allow_load=True
        )
        assert journals is not None
        assert [str(one).partition(":")[0] for one in trouble] == list(HOSTS), "half an hour is not what was agreed"
        assert "seconds: 1800 there, 3600 asked for" in str(trouble[0])
        soak = kept(tmp_path, journals, f"run-{number}").host("node-01")
        assert not soak.running
        assert soak.plan.scale == 600
    assert len(Store.all(control.root)) == 1


def test_a_worker_that_is_gone_is_said_and_resumed_where_load_is_permitted(
    control: Control, begin: Callable[..., Store], hosts: Path
) -> None:
    store = begin()
    kill(hosts / "soak-t" / "node-01")
    _, trouble = soaks.gather(control.inventory, LocalTransport(), control.root, book_of(control), allow_load=False)
    assert "node-01: the soak's worker is gone" in str(trouble[0])
    _, trouble = soaks.gather(control.inventory, LocalTransport(), control.root, book_of(control), allow_load=True)
    assert not trouble
    assert [one.state for one in control.status(store)] == ["running", "running"]


def test_a_journal_that_had_no_room_to_the_end_is_interrupted_from_that_minute_on(
    control: Control, begin: Callable[..., Store], hosts: Path, tmp_path: Path
) -> None:
    store = begin(bounds={"journal_bytes": 60_000, "segment_bytes": 30_000}, seconds=900)
    until(lambda: {one.state for one in control.status(store)} == {"ended"}, 60)
    told = {one.host: one for one in control.collect(store)}["node-01"]
    assert (told.found["exit"]["why"], told.found["exit"]["status"]) == ("full", 1)
    assert "no room for its journal" in str(described(told))
    journals, _ = soaks.gather(control.inventory, LocalTransport(), control.root, book_of(control), allow_load=False)
    assert journals is not None
    ended_without_room(kept(tmp_path, journals, "whole").host("node-01"))
    # The same where not even its end found room: exit.json alone tells of it.
    place = store.path / "node-01"
    [*_, (_, path)] = Copy.listed(place)
    told_lines = path.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in told_lines]
    assert kinds[-1] == "end"
    since = max(n for n, line in enumerate(told_lines) if b'"event":"full"' in line)
    path.write_bytes(b"".join(told_lines[:since]))
    polls = place / "polls.jsonl"
    last = json.loads(polls.read_bytes().splitlines()[-1])
    last["exit"]["seq"] = json.loads(told_lines[since - 1])["seq"]
    polls.write_text(json.dumps(last) + "\n")
    ended_without_room(kept(tmp_path, journals, "cut").host("node-01"))
    last["exit"]["seq"] += 1
    polls.write_text(json.dumps(last) + "\n")
    with pytest.raises(Unreadable, match="collect the rest"):
        kept(tmp_path, journals, "lacking").host("node-01")


def ended_without_room(soak: HostSoak) -> None:
    """It ended, and no minute after the room was gone counts."""
    assert not soak.running
    assert soak.account.ended == "full"
    *_, last = soak.account.spans
    assert (last.state, last.cause, last.end) == (State.INTERRUPTED, "full", soak.plan.minutes)
    assert 1 <= last.begin < soak.plan.minutes - 1
    verdict = covered.qualified(soak, soak.plan.minutes / 60, True)
    assert verdict.outcome is Outcome.STOP
    assert "full" in str(verdict.note)


def test_a_worker_that_is_gone_is_not_said_to_run_and_one_given_up_has_ended(
    control: Control, begin: Callable[..., Store], hosts: Path, tmp_path: Path
) -> None:
    store = begin()
    kill(hosts / "soak-t" / "node-01")
    journals, _ = soaks.gather(control.inventory, LocalTransport(), control.root, book_of(control), allow_load=False)
    assert journals is not None
    gone = kept(tmp_path, journals, "gone").host("node-01")
    assert (gone.running, gone.gone) == (True, True)
    verdict = covered.qualified(gone, 1, True)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "the worker was killed" in str(verdict.note)
    control.stop(store)
    control.collect(store)
    over = kept(tmp_path, journals, "over").host("node-01")
    assert over.account.ended == "vanished"
    assert over.account.spans[-1].cause == "worker"
    assert covered.qualified(over, 1, True).outcome is Outcome.STOP


def _lines(control: Control) -> int:
    store = control.known()
    assert store is not None
    control.collect(store)
    return sum(path.read_bytes().count(b"\n") for path in (store.path / "node-01").glob("journal-*.jsonl"))
