"""The hosts carry the state: what lies there is attached to, collected or named, and no second soak begins in silence."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kvgate.certificates.soak_book import SoakBook
from kvgate.errors import Damaged, NotAllowed
from kvgate.gate.soaks import gather
from kvgate.inventory import reader
from kvgate.ledger.repository import Ledger
from kvgate.soak.control import Control
from kvgate.soak.store import Copy, Store
from kvgate.soak.told import described
from kvgate.transport.local import LocalTransport
from tests.soak.conftest import SIGNER
from tests.soak.hosted import ask, kill, until

HOSTS = ("array-a", "node-01")
Begin = Callable[..., Store]


@pytest.fixture
def other(control: Control, tmp_path: Path) -> Control:
    """Another laptop, which knows of nothing."""
    return Control(control.inventory, LocalTransport(), tmp_path / "other-laptop", control.book)


def changed(control: Control, tmp_path: Path, old: str, new: str, root: Path | None = None) -> Control:
    """The same rack by an inventory in which a line reads otherwise."""
    file = tmp_path / "changed.yaml"
    assert old in control.inventory.text
    file.write_text(control.inventory.text.replace(old, new))
    return Control(reader.read(file), LocalTransport(), root or control.root, control.book)


def soaks(hosts: Path) -> list[str]:
    return sorted(path.name for path in hosts.iterdir() if path.is_dir())


def seqs(store: Store, host: str) -> list[int]:
    raw = b"".join(path.read_bytes() for _, path in Copy.listed(store.path / host))
    return [json.loads(line)["seq"] for line in raw.splitlines()]


@pytest.mark.parametrize("knows", [True, False])
def test_an_ended_soak_that_was_not_collected_is_named_and_nothing_begins(
    control: Control, other: Control, begin: Begin, hosts: Path, knows: bool
) -> None:
    store = begin()
    time.sleep(0.5)
    control.stop(store)
    here = control if knows else other
    with pytest.raises(
        NotAllowed, match=r"node-01 keeps soak-t, which ended \(stopped by a person, 20.*`kvgate soak collect`"
    ):
        here.attach(60)
    assert soaks(hosts) == ["soak-t"]
    found = here.found()
    assert found is not None
    assert found.soak == "soak-t"
    assert all(one.error is None for one in here.collect(found))
    assert all(seqs(found, host) == list(range(1, len(seqs(found, host)) + 1)) for host in HOSTS)
    another, new = here.attach(60)
    assert new, "all of it is safe: there is room for the next"
    assert another.soak != "soak-t"
    assert soaks(hosts) == ["soak-t"], "what was collected is removed by nobody but `stop --remove`"


def test_what_another_machine_collected_to_its_end_is_in_nobody_s_way(
    control: Control, other: Control, begin: Begin
) -> None:
    store = begin()
    control.stop(store)
    control.collect(store)
    assert other.attach(60)[1]


def test_begun_anew_on_purpose_what_lies_there_stays(control: Control, begin: Begin, hosts: Path) -> None:
    store = begin()
    control.stop(store)
    before = {path: path.read_bytes() for path in hosts.glob("soak-t/*/journal-*.jsonl")}
    another, new = control.attach(60, anew=True)
    assert new
    control.start(another)
    assert {path: path.read_bytes() for path in before} == before
    control.stop(another)


def test_soaks_that_were_lost_here_are_found_on_the_hosts_and_brought_in_again(
    control: Control, begin: Begin, hosts: Path
) -> None:
    store = begin()
    time.sleep(0.5)
    control.collect(store)
    shutil.rmtree(control.root)
    again, new = control.attach(60)
    assert (again.soak, new) == ("soak-t", False)
    assert [one.found["did"] for one in control.start(again)] == ["attached", "attached"]
    control.stop(again)
    assert all(one.error is None for one in control.collect(again))
    assert all(seqs(again, host)[0] == 1 for host in HOSTS)


def test_a_gate_on_another_machine_judges_the_soak_that_ended_and_starts_none(
    control: Control, other: Control, begin: Begin, hosts: Path
) -> None:
    store = begin()
    control.stop(store)
    control.collect(store)
    assert other.book is not None
    journals, trouble = gather(other.inventory, LocalTransport(), other.root, other.book, allow_load=True)
    assert trouble == []
    assert journals is not None
    assert b'"kind":"end"' in list(journals("node-01"))[-1]
    assert soaks(hosts) == ["soak-t"]


def test_the_soak_that_runs_counts_and_not_an_older_one_that_is_known_here(
    control: Control, other: Control, begin: Begin
) -> None:
    store = begin()
    control.stop(store)
    control.collect(store)
    newer, _ = other.attach(60)
    other.start(newer)
    found = control.found()
    assert found is not None
    assert found.soak == newer.soak
    other.stop(newer)


def test_a_host_that_lost_its_soak_is_named_and_gets_no_second_journal_under_that_name(
    control: Control, begin: Begin, hosts: Path
) -> None:
    store = begin()
    time.sleep(0.5)
    control.collect(store)
    for host in HOSTS:
        ask(hosts / "soak-t" / host, "stop")
    shutil.rmtree(hosts / "soak-t")
    with pytest.raises(NotAllowed, match="array-a, node-01 no longer has soak-t"):
        control.attach(60)


@pytest.mark.parametrize(
    ("scale", "said"), [(1, "scale: 60 there, 1 asked for"), (120, "scale: 60 there, 120 asked for")]
)
def test_another_speed_is_refused_with_both(control: Control, begin: Begin, scale: float, said: str) -> None:
    begin()
    with pytest.raises(NotAllowed, match=said):
        control.attach(scale)
    assert control.attach()[0].soak == "soak-t", "who asks for no speed takes what runs"


def test_another_plan_is_refused_with_both_and_the_soak_can_still_be_looked_at(
    control: Control, begin: Begin, tmp_path: Path
) -> None:
    begin()
    longer = changed(control, tmp_path, "duration: 1 h", "duration: 2 h")
    with pytest.raises(NotAllowed, match="seconds: 3600 there, 7200 asked for; wanted: 3600 there, 7200 asked for"):
        longer.attach(60)
    found = longer.found()
    assert found is not None
    assert {one.state for one in longer.status(found)} == {"running"}
    [said, _] = longer.differs(found)
    assert "array-a: soak-t was planned otherwise" in str(said)


def test_another_agreement_is_refused_with_both(control: Control, tmp_path: Path, hosts: Path) -> None:
    store, new = control.attach(60)
    assert new
    control.start(store)
    (tmp_path / "overlay.yaml").write_text(
        "overlay:\n  G4.1.1:\n    limits:\n      hours: {value: 1, unit: h, origin: contract}\n"
    )
    other = changed(control, tmp_path, "campaign: soak-test\n", "campaign: soak-test\nacceptance: overlay.yaml\n")
    with pytest.raises(NotAllowed, match=r"acceptance: [0-9a-f]{60}… there, [0-9a-f]{60}… asked for"):
        other.attach(60)
    assert soaks(hosts) == [store.soak]


def test_a_remark_that_was_added_to_the_inventory_is_no_other_plan(
    control: Control, begin: Begin, tmp_path: Path
) -> None:
    begin()
    assert changed(control, tmp_path, "soak:\n", "# as agreed\nsoak:\n").attach(60)[1] is False


def test_a_worker_that_was_killed_can_be_given_up_and_its_end_is_told(
    control: Control, begin: Begin, hosts: Path
) -> None:
    store = begin()
    kill(hosts / "soak-t" / "node-01")
    told = {one.host: one for one in control.stop(store)}
    assert {one.state for one in told.values()} == {"ended"}
    done = told["node-01"].found["exit"]
    assert (done["why"], done["status"]) == ("vanished", 1)
    control.collect(store)
    assert done["seq"] == seqs(store, "node-01")[-1]
    assert control.attach(60)[1]


def test_what_grew_after_it_was_collected_is_not_removed(control: Control, begin: Begin, hosts: Path) -> None:
    store = begin()
    control.stop(store)
    told = control.collect(store)
    with (hosts / "soak-t" / "node-01" / "journal-000001.jsonl").open("ab") as file:
        file.write(b"more\n")
    assert [one.found["did"] for one in control.remove(store, told)] == ["removed", "kept"]
    assert soaks(hosts) == ["soak-t"]


def test_what_was_not_collected_without_an_error_is_never_removed(control: Control, begin: Begin, hosts: Path) -> None:
    store = begin()
    time.sleep(0.3)
    control.stop(store)
    place = hosts / "soak-t" / "node-01" / "journal-000001.jsonl"
    place.write_bytes(place.read_bytes().replace(b'"utc":"20', b'"utc":"21'))
    told = {one.host: one for one in control.collect(store)}
    assert isinstance(told["node-01"].error, Damaged)
    assert [one.host for one in control.remove(store, list(told.values()))] == ["array-a"]
    assert place.exists()


def test_of_two_soaks_that_run_each_can_be_ended_by_its_name(control: Control, begin: Begin, hosts: Path) -> None:
    begin()
    for host in HOSTS:  # a worker of before today did not look who else runs there
        shutil.copytree(
            hosts / "soak-t" / host, hosts / "soak-old" / host, ignore=shutil.ignore_patterns("*.json*", "*reserve")
        )
        text = (hosts / "soak-t" / host / "plan.json").read_text().replace('"soak-t"', '"soak-old"')
        (hosts / "soak-old" / host / "plan.json").write_text(text)
        subprocess.Popen(
            [sys.executable, str(hosts / "soak-old" / host / "worker.pyz"), "run", str(hosts / "soak-old" / host)]
        )
    until(lambda: all(ask(hosts / "soak-old" / host, "status")["state"] == "running" for host in HOSTS))
    with pytest.raises(NotAllowed, match=r"soak-old, soak-t.*`kvgate soak stop --soak NAME`"):
        control.found()
    with pytest.raises(NotAllowed, match="no host has the soak soak-x; there are: soak-old, soak-t"):
        control.named("soak-x")
    assert [one.state for one in control.stop(control.named("soak-old"))] == ["ended", "ended"]
    found = control.found()
    assert found is not None
    assert found.soak == "soak-t"
    assert [one.state for one in control.status(found)] == ["running", "running"]


def test_of_two_that_start_at_once_by_two_ledgers_one_runs_and_the_other_is_told(
    control: Control, hosts: Path, tmp_path: Path
) -> None:
    with contextlib.closing(Ledger.open(f"sqlite:///{tmp_path / 'other.db'}")) as ledger:
        book = SoakBook(ledger, control.inventory, "somebody else", "0", signer=SIGNER)
        _race(control, Control(control.inventory, LocalTransport(), tmp_path / "other-laptop", book), hosts)


def _race(control: Control, other: Control, hosts: Path) -> None:
    mine, yours = control.attach(60), other.attach(60)  # neither sees the other's: nothing runs yet
    assert mine[1]
    assert yours[1]
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(control.start, mine[0]), pool.submit(other.start, yours[0])]
        told = [job.result() for job in jobs]
    for host in HOSTS:
        did = sorted(str(one.found["did"]) for answers in told for one in answers if one.host == host)
        assert did == ["refused", "started"], host
    refused = next(one for answers in told for one in answers if one.found["did"] == "refused")
    assert "`kvgate soak stop --soak NAME`" in str(described(refused))
    running = [
        path.parent.parent.name
        for path in hosts.glob("*/*/plan.json")
        if ask(path.parent, "status")["state"] == "running"
    ]
    assert len(running) == len(HOSTS)


@pytest.mark.parametrize("content", [b"", b'{"soak":', b"\xff\xfe", None])
def test_a_damaged_state_hides_no_soak_that_runs(
    control: Control, begin: Begin, hosts: Path, content: bytes | None
) -> None:
    store = begin()
    place = hosts / "soak-t" / "node-01" / "state.json"
    place.unlink() if content is None else place.write_bytes(content)
    again, new = control.attach(60)
    assert (again.soak, new) == ("soak-t", False)
    assert {one.host: one.state for one in control.status(store)} == {"array-a": "running", "node-01": "running"}
    assert [one.state for one in control.stop(store)] == ["ended", "ended"]


def test_a_killed_worker_whose_state_is_damaged_is_resumed(control: Control, begin: Begin, hosts: Path) -> None:
    store = begin()
    kill(hosts / "soak-t" / "node-01")
    (hosts / "soak-t" / "node-01" / "state.json").write_bytes(b"")
    assert control.attach(60)[0].soak == "soak-t"
    assert [one.found["did"] for one in control.start(store)] == ["attached", "resumed"]
    control.stop(store)


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("killed", [False, True])
def test_a_damaged_plan_is_named_nothing_begins_beside_it_and_it_can_be_given_up(
    control: Control, begin: Begin, hosts: Path, killed: bool, gone: bool
) -> None:
    store = begin()
    folder = hosts / "soak-t" / "node-01"
    if killed:
        kill(folder)
    (folder / "plan.json").unlink() if gone else (folder / "plan.json").write_bytes(b"{")
    said = "does not run" if killed else "runs"
    with pytest.raises(
        NotAllowed, match=rf"node-01: plan.json of soak-t cannot be read, it {said}.*soak stop --soak soak-t"
    ):
        control.attach(60, anew=True)
    told = {one.host: one for one in control.status(store)}
    assert told["node-01"].state == ("damaged" if killed else "running")
    assert not killed or "plan.json cannot be read there" in str(described(told["node-01"]))
    found = control.named("soak-t")
    assert [one.state for one in control.stop(found)] == ["ended", "ended"]
    assert all(one.error is None for one in control.collect(found))
    assert control.attach(60)[1], "it is over, and all of it is here"
