"""A cell on the lab's engine through the machinery that makes load: populate, evict, warm, measure, as steps of a trial."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from checks.parsers import prometheus
from checks.phrase import say
from checks.probe import Probe
from checks.serving import sources
from checks.serving.client import client
from checks.serving.readings import from_client
from checks.serving.records import Run
from checks.serving.sources import Sources
from checks.serving.validity import Planned, faults
from checks.serving.work import Mode
from checks.trial import Step, Trial
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.collect import replay
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from kvgate.transport.local import LocalTransport
from lab.engine.server import Server
from tests.engine.serving import TOKENS, serving, work


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """One load at a time on this machine, as tests/gates/test_trials.py has it."""
    with (Path(tempfile.gettempdir()) / "kvgate-tests-load.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def page(name: str, url: str) -> Step:
    return Step(name, "here", Probe("metrics", ("curl", "-sS", "-f", "--url", url), prometheus.parse))


def read(facts: Mapping[str, Any]) -> tuple[Run, Sources]:
    return from_client(facts["measure"]), sources.vllm(facts["before"], facts["after"])


def cell(server: Server) -> Trial[tuple[Run, Sources]]:
    reset = Probe("reset", ("curl", "-sS", "-f", "-X", "POST", "--url", f"{server.url}/reset_prefix_cache"), str)
    steps = (
        Step("populate", "here", client(work(server, Mode.POPULATE))),
        Step("evict", "here", reset),
        Step("warm", "here", client(work(server, Mode.WARM, prompt_set="warm"))),
        page("before", server.metrics[0]),
        Step("measure", "here", client(work(server, count=40))),
        page("after", server.metrics[0]),
    )
    return Trial("g3.cell", say("a cell"), tuple((step,) for step in steps), read, rounds=1)


def test_a_cell_is_measured_kept_and_read_again_without_the_engine(tmp_path: Path) -> None:
    with Evidence.create(tmp_path / "evidence", "run-1", {"gate": "G3"}) as evidence:
        with serving(tmp_path / "kv") as server:
            trial = cell(server)
            found = Trials([trial], LocalTransport(), Answers(evidence), "kvgate:test-serving").run().measured(trial)
        ((run, told),) = found.facts
        assert faults(run, Planned(4, TOKENS, 8, least_requests=40, waves=10, occupied_percent=25.0)) == ()
        assert (told.device, told.store) == (0, 12 * 192)  # 12 of the 40 prompts had been stored
        assert Tried(replay(evidence)).measured(trial).facts == found.facts
