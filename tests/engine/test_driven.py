"""A load tool in place of kvgate's own client: it really asks the lab's engine, through the launcher, and its file is read to figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checks.probe import UnreadableOutput
from checks.serving import sources
from checks.serving.driven import Driven, as_ordered, drive, version
from checks.serving.figures import figures
from checks.serving.readings import from_client
from checks.serving.records import Status
from checks.serving.tools import Driver
from checks.serving.validity import Planned, faults
from checks.serving.work import Mode, Work
from lab.engine.knobs import Knobs
from lab.engine.server import Server
from lab.engine.vllm_bench import install
from tests.engine.serving import load, page, serving, work

PLANNED = Planned(
    concurrency=4, tokens_in=200, tokens_out=8, least_requests=12, waves=3, occupied_percent=60, clock_step=1.0
)


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver("vllm-bench", "0.20.1", str(install(tmp_path / "opt")))


def driven(driver: Driver, asked: Work) -> Driven:
    probe = drive(driver, asked)
    words = [str(word) for word in probe.argv]
    told = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True)
    found = probe.parse(told.stdout)
    assert isinstance(found, Driven)
    return found


def evict(server: Server) -> None:
    server.engine.stop()
    server.engine.tiers.dropped()
    server.engine.start(server.now)


def test_a_tool_restores_the_same_prompts_from_the_files_as_kvgates_own_client(tmp_path: Path, driver: Driver) -> None:
    with serving(tmp_path / "kv") as server:
        load(work(server, Mode.POPULATE))
        evict(server)
        own = load(work(server))
        evict(server)
        before = page(server.metrics[0])
        found = driven(driver, work(server))
        told = sources.vllm(before, page(server.metrics[0]))
        assert (told.prompt, told.computed, told.device, told.store) == (2400, 96, 0, 2304)
        assert server.engine.devices.blocks["nvme0n1"][0] == 2 * 12 * 3 * 2 * 512
    assert found.prompts == own.prompts
    assert {(one.status, one.tokens_in, one.tokens_out) for one in found.run.requests} == {(Status.COMPLETED, 200, 8)}
    mine, theirs = from_client(own), found.run
    assert [one.output for one in theirs.requests] == [one.output for one in mine.requests]
    assert figures(theirs, 4).tokens_out == figures(mine, 4).tokens_out == 12 * 8
    assert theirs.concurrency == 4


def test_a_request_that_failed_is_no_zero(tmp_path: Path, driver: Driver) -> None:
    with serving(tmp_path / "kv", Knobs(broken=0.4)) as server:
        found = driven(driver, work(server))
    wrong = [one for one in found.run.requests if one.status is not Status.COMPLETED]
    assert wrong
    assert all(one.ttft is None for one in wrong)
    assert faults(found.run, PLANNED)
    with pytest.raises(ValueError, match=r"\w"):
        figures(found.run, 4)


def test_a_tool_of_another_version_is_refused_before_and_after_its_run(tmp_path: Path) -> None:
    other = Driver("vllm-bench", "0.20.1", str(install(tmp_path / "opt", "0.33.0")))
    asked = version(other)
    told = subprocess.run([str(word) for word in asked.argv], capture_output=True, text=True, check=True)
    assert asked.parse(told.stdout) == "0.33.0"
    assert "the inventory orders 0.20.1" in str(as_ordered(other)("0.33.0"))
    with serving(tmp_path / "kv") as server, pytest.raises(UnreadableOutput, match="the inventory orders"):
        driven(other, work(server))
