"""Collecting: byte for byte, again and again, from wherever it was interrupted; what does not follow is refused."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.errors import Damaged, NotAllowed
from kvgate.evidence.store import Evidence, StoredAnswer
from kvgate.gate.answers import Answers
from kvgate.gate.soaked import Soaked
from kvgate.soak.control import Control
from kvgate.soak.store import Copy, Store
from kvgate.transport.base import Command
from kvgate.transport.local import LocalTransport
from tests.soak.hosted import ask, kill, until

HOSTS = ("array-a", "node-01")

#: Collects without end, as an operator's laptop that is switched off at any moment.
LAPTOP = """
import sys
from pathlib import Path
from kvgate.inventory import reader
from kvgate.soak.control import Control
from kvgate.soak.store import Store
from kvgate.transport.local import LocalTransport
control = Control(reader.read(Path(sys.argv[1])), LocalTransport(), Path(sys.argv[2]))
print("ready", flush=True)
while True:
    control.collect(Store(control.root, "soak-t"))
"""


def same(store: Store, hosts: Path) -> None:
    """Every segment here is the one of the host, to the last byte."""
    for host in HOSTS:
        there = {path.name: path.read_bytes() for path in (hosts / "soak-t" / host).glob("journal-*.jsonl")}
        here = {path.name: path.read_bytes() for path in (store.path / host).glob("journal-*.jsonl")}
        assert there
        assert here.keys() >= there.keys()
        assert {name: here[name] for name in there} == there


def test_what_is_here_in_the_end_is_what_the_hosts_wrote(
    control: Control, begin: Callable[..., Store], hosts: Path
) -> None:
    store = begin(bounds={"segment_bytes": 20_000})
    for _ in range(3):
        time.sleep(0.7)
        assert all(one.error is None for one in control.collect(store))
    control.stop(store)
    assert [one.state for one in control.collect(store)] == ["ended", "ended"]
    same(store, hosts)


def test_a_laptop_that_is_killed_again_and_again_loses_nothing_and_takes_nothing_twice(
    control: Control, begin: Callable[..., Store], hosts: Path, tmp_path: Path
) -> None:
    store = begin(bounds={"segment_bytes": 6_000})
    chance = random.Random(61)
    for turn in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", LAPTOP, str(tmp_path / "rack.yaml"), str(control.root)], stdout=subprocess.PIPE
        ) as laptop:
            assert laptop.stdout is not None
            assert laptop.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.9))
            if turn % 3 == 1:
                kill(hosts / "soak-t" / "node-01")
                ask(hosts / "soak-t" / "node-01", "start")
            laptop.send_signal(signal.SIGKILL)
    control.stop(store)
    assert all(one.error is None for one in control.collect(store))
    same(store, hosts)
    for host in HOSTS:
        found = b"".join(path.read_bytes() for _, path in Copy.listed(store.path / host)).splitlines()
        assert [json.loads(line)["seq"] for line in found] == list(range(1, len(found) + 1))


def test_half_a_line_that_was_written_when_the_laptop_died_is_fetched_again(
    control: Control, begin: Callable[..., Store], hosts: Path
) -> None:
    store = begin()
    time.sleep(0.5)
    control.collect(store)
    copy = store.path / "node-01" / "journal-000001.jsonl"
    raw = copy.read_bytes()
    copy.write_bytes(raw[:-30])
    control.stop(store)
    assert all(one.error is None for one in control.collect(store))
    same(store, hosts)


def test_a_journal_that_was_changed_on_the_host_is_refused_and_what_was_collected_stays(
    control: Control, begin: Callable[..., Store], hosts: Path
) -> None:
    store = begin()
    time.sleep(0.5)
    control.collect(store)
    copy = store.path / "node-01" / "journal-000001.jsonl"
    before = copy.read_bytes()
    control.stop(store)
    there = hosts / "soak-t" / "node-01" / "journal-000001.jsonl"
    rest = there.read_bytes()[len(before) :].replace(b'"utc":"20', b'"utc":"21')
    there.write_bytes(before + rest)
    told = {one.host: one for one in control.collect(store)}
    assert isinstance(told["node-01"].error, Damaged)
    assert told["array-a"].error is None
    assert copy.read_bytes() == before


def test_segments_that_are_safe_here_may_go_there_and_collecting_goes_on(
    control: Control, begin: Callable[..., Store], hosts: Path
) -> None:
    store = begin(bounds={"segment_bytes": 8_000, "journal_bytes": 40_000})
    first = hosts / "soak-t" / "node-01" / "journal-000001.jsonl"

    def gone() -> bool:
        assert all(one.error is None for one in control.collect(store))
        return not first.exists()

    until(gone)
    control.stop(store)
    assert all(one.error is None for one in control.collect(store))
    found = b"".join(path.read_bytes() for _, path in Copy.listed(store.path / "node-01")).splitlines()
    assert [json.loads(line)["seq"] for line in found] == list(range(1, len(found) + 1))


def test_two_do_not_collect_at_the_same_time(control: Control, begin: Callable[..., Store]) -> None:
    store = begin()
    with store.locked(), pytest.raises(NotAllowed, match="another process collects"):
        control.collect(store)


def test_starting_twice_attaches_and_another_laptop_attaches_too(
    control: Control, begin: Callable[..., Store], tmp_path: Path
) -> None:
    store = begin()
    before = {one.host: one.found["started"] for one in control.status(store)}
    again, new = control.attach(60)
    assert (again.soak, new) == ("soak-t", False)
    assert {one.host: one.found["started"] for one in control.start(again)} == before
    other = Control(control.inventory, LocalTransport(), tmp_path / "other-laptop", control.book)
    there, new = other.attach(60)
    assert (there.soak, new) == ("soak-t", False)
    assert {one.host: one.found["started"] for one in other.start(there)} == before


def test_a_worker_that_was_killed_is_told_and_resumed(
    control: Control, begin: Callable[..., Store], hosts: Path
) -> None:
    store = begin()
    kill(hosts / "soak-t" / "node-01")
    assert {one.host: one.state for one in control.status(store)} == {"array-a": "running", "node-01": "vanished"}
    assert {one.host: one.found["did"] for one in control.start(store)} == {"array-a": "attached", "node-01": "resumed"}


def test_a_soak_that_is_over_makes_room_for_the_next(control: Control, begin: Callable[..., Store]) -> None:
    store = begin()
    control.stop(store)
    control.collect(store)
    other, new = control.attach(60)
    assert new
    assert other.soak != store.soak


def test_what_arrives_changed_is_not_laid_out(control: Control, hosts: Path) -> None:
    from kvgate.soak import remote

    command = remote.install(remote.Place(str(hosts)), "soak-t/node-01", '{"form":1}')
    digest = next(word for word in command.line.split() if len(word) == 64)
    line = command.line.replace(digest, "0" * 64, 1)
    answer = LocalTransport().run({"here": [Command("install", line)]})["here"].answers["install"]
    with pytest.raises(Exception, match="others than those that were sent"):
        remote.installed("here", answer)
    assert not (hosts / "soak-t" / "node-01" / "worker.pyz").exists()


def test_the_line_that_lays_out_the_worker_fits_any_host(control: Control) -> None:
    from kvgate.soak import remote
    from kvgate.soak.plan import plans

    for text in plans(control.inventory.rack, "soak-t", 1).values():
        line = remote.install(remote.Place(None), "soak-t/node-01", text).line
        assert len(line) < 100_000  # Linux takes no longer word than 131072 bytes
        assert "\n" not in line
    assert os.sysconf("SC_PAGE_SIZE") * 32 >= 131072


#: Takes what was collected into the evidence of a run and reads it, again and again, as a gate that is killed at any moment.
JUDGE = """
import sys
from pathlib import Path
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.soaked import Soaked
from kvgate.soak.store import Copy
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    with Evidence.create(Path(sys.argv[2]), f"run-{sys.argv[3]}-{turn}", {"gate": "G4"}) as evidence:
        soaked = Soaked(Answers(evidence))
        for host in ("array-a", "node-01"):
            soaked.keep(host, (path.read_bytes() for _, path in Copy.listed(Path(sys.argv[1]) / host)))
            soaked.host(host)
"""


def test_a_judge_that_is_killed_again_and_again_changes_nothing_and_the_next_one_counts_every_line_once(
    control: Control, begin: Callable[..., Store], tmp_path: Path
) -> None:
    store = begin(bounds={"segment_bytes": 6_000}, seconds=240)
    until(lambda: {one.state for one in control.collect(store)} == {"ended"}, 60)
    before = {path: path.read_bytes() for path in store.path.rglob("journal-*.jsonl")}
    chance = random.Random(9)
    for turn in range(6):
        argv = [sys.executable, "-c", JUDGE, str(store.path), str(tmp_path / "evidence"), str(turn)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as judge:
            assert judge.stdout is not None
            assert judge.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.6))
            judge.send_signal(signal.SIGKILL)
            assert judge.wait() == -signal.SIGKILL, "it ended by itself"
    assert list((tmp_path / "evidence").glob("run-*")), "none of them came to anything"
    assert {path: path.read_bytes() for path in store.path.rglob("journal-*.jsonl")} == before
    evidence = Evidence.create(tmp_path / "evidence", "run", {"gate": "G4"})
    soaked = Soaked(Answers(evidence))
    for host in HOSTS:
        soaked.keep(host, (path.read_bytes() for _, path in Copy.listed(store.path / host)))
        whole = b"".join(path.read_bytes() for _, path in Copy.listed(store.path / host)).splitlines()
        kept = b"".join(
            answer.stdout for answer in evidence.answers() if isinstance(answer, StoredAnswer) and answer.host == host
        ).splitlines()
        assert kept == whole
        assert [json.loads(line)["seq"] for line in kept] == list(range(1, len(whole) + 1))
        assert not soaked.host(host).running
