"""Worker, collector and judge of one soak killed at random points: no sample is lost, and none counts twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kvgate.evidence.store import Evidence, StoredAnswer
from kvgate.gate.answers import Answers
from kvgate.gate.soaked import Soaked
from kvgate.gate.soaks import Journals
from kvgate.soak.control import Control
from kvgate.soak.store import Copy, Store
from tests.soak.hosted import ask, kill, until
from tests.soak.test_collect import JUDGE, LAPTOP

HOSTS = ("array-a", "node-01")
#: A stream whose subjects are always there: each tick of it is one sample.
CHEAP = ("memory", "load", "space")


def test_whoever_is_killed_and_whenever_each_sample_is_counted_once(
    control: Control, begin: Callable[..., Store], hosts: Path, tmp_path: Path
) -> None:
    store = begin(bounds={"segment_bytes": 10_000})
    chance = random.Random(2026)
    victims = ["worker", "collector", "judge"] * 2
    chance.shuffle(victims)
    for turn, victim in enumerate(victims):
        if victim == "worker":
            time.sleep(chance.uniform(0.1, 0.8))
            place = hosts / "soak-t" / chance.choice(HOSTS)
            kill(place)
            ask(place, "start")
            continue
        argv = (
            [LAPTOP, str(tmp_path / "rack.yaml"), str(control.root)]
            if victim == "collector"
            else [JUDGE, str(store.path), str(tmp_path / "evidence"), str(turn)]
        )
        if victim == "judge":
            until(lambda: all(one.error is None for one in control.collect(store)))
        with subprocess.Popen([sys.executable, "-c", *argv], stdout=subprocess.PIPE) as killed:
            assert killed.stdout is not None
            assert killed.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.8))
            killed.send_signal(signal.SIGKILL)
    control.stop(store)
    assert all(one.error is None for one in control.collect(store))
    evidence = Evidence.create(tmp_path / "evidence", "run", {"gate": "G4"})
    soaked, journals = Soaked(Answers(evidence)), Journals(store)
    for host in HOSTS:
        soaked.keep(host, journals(host), journals.state(host))
        kept = [one for one in evidence.answers() if isinstance(one, StoredAnswer) and one.host == host]
        lines = [
            json.loads(raw) for one in kept[:-1] for raw in one.stdout.splitlines()
        ]  # the last is the worker's state
        assert [one["seq"] for one in lines] == list(range(1, len(lines) + 1))
        there = [path.read_bytes() for path in sorted((hosts / "soak-t" / host).glob("journal-*.jsonl"))]
        assert b"".join(there).count(b"\n") == len(lines), "nothing lies on the host that is not here"
        assert [path.name for _, path in Copy.listed(store.path / host)] == [
            path.name for path in sorted((hosts / "soak-t" / host).glob("journal-*.jsonl"))
        ]
        found = {one.stream: one for one in soaked.host(host).sampled}
        for stream in CHEAP:
            ticks = Counter(one["tick"] for one in lines if one["stream"] == stream)
            assert max(ticks.values()) == 1
            assert found[stream].twice == 0
            assert found[stream].got <= len(ticks)
