"""What G4 takes of a soak: started once if load is permitted, collected each time, read from the evidence alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from checks.soak import covered
from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate import soaks
from kvgate.gate.answers import Answers
from kvgate.gate.soaked import Soaked
from kvgate.soak.control import Control
from kvgate.soak.store import Store
from kvgate.transport.local import LocalTransport
from tests.soak.hosted import kill, until

HOSTS = ("array-a", "node-01")


def kept(tmp_path: Path, journals: soaks.Journals, run: str) -> Soaked:
    soaked = Soaked(Answers(Evidence.create(tmp_path / "evidence", run, {"gate": "G4"})))
    for host in HOSTS:
        soaked.keep(host, journals(host))
    return soaked


def test_without_leave_for_load_nothing_is_started(control: Control, tmp_path: Path) -> None:
    journals, trouble = soaks.gather(control.inventory, LocalTransport(), control.root, allow_load=False)
    assert journals is None
    assert "no soak runs" in str(trouble[0])
    assert control.known() is None


def test_it_starts_one_and_attaches_to_it_the_next_time(control: Control) -> None:
    for _ in range(2):
        journals, trouble = soaks.gather(control.inventory, LocalTransport(), control.root, allow_load=True)
        assert journals is not None
        assert not trouble
    assert len(Store.all(control.root)) == 1
    assert [one.state for one in control.status(Store.all(control.root)[0])] == ["running", "running"]


def test_before_the_end_it_is_undecided_with_the_time_left(
    control: Control, begin: Callable[..., Store], tmp_path: Path
) -> None:
    begin(scale=60)
    until(lambda: _lines(control) > 200)
    journals, _ = soaks.gather(control.inventory, LocalTransport(), control.root, allow_load=False)
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
        journals, trouble = soaks.gather(control.inventory, LocalTransport(), control.root, allow_load=True)
        assert journals is not None
        assert not trouble
        soak = kept(tmp_path, journals, f"run-{number}").host("node-01")
        assert not soak.running
        assert soak.plan.scale == 600
    assert len(Store.all(control.root)) == 1


def test_a_worker_that_is_gone_is_said_and_resumed_where_load_is_permitted(
    control: Control, begin: Callable[..., Store], hosts: Path
) -> None:
    store = begin()
    kill(hosts / "soak-t" / "node-01")
    _, trouble = soaks.gather(control.inventory, LocalTransport(), control.root, allow_load=False)
    assert "node-01: the soak's worker is gone" in str(trouble[0])
    _, trouble = soaks.gather(control.inventory, LocalTransport(), control.root, allow_load=True)
    assert not trouble
    assert [one.state for one in control.status(store)] == ["running", "running"]


def _lines(control: Control) -> int:
    store = control.known()
    assert store is not None
    control.collect(store)
    return sum(path.read_bytes().count(b"\n") for path in (store.path / "node-01").glob("journal-*.jsonl"))
