"""The engine in its own time: what published rounds look like, and that each fault of an engine shows somewhere."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, replace
from typing import Any

import pytest

from checks.parsers import kvgate_client
from checks.parsers.kvgate_client import ClientRun
from checks.serving.figures import figures
from checks.serving.readings import from_client
from checks.serving.validity import Planned, faults
from checks.serving.work import Mode, Work
from lab.engine import pages, virtual
from lab.engine.core import Engine
from lab.engine.device import Path
from lab.engine.faults import FAULTS, named
from lab.engine.knobs import Knobs, joined
from lab.engine.shape import Shape
from tests.engine.serving import load, serving
from tests.engine.serving import work as real_work

ARRAY = Shape(read=11.95e9)
TOKENS = 2112


def work(mode: Mode, concurrency: int, name: str = "1") -> Work:
    count = max(64, 10 * concurrency) if mode is not Mode.CANARIES else 32
    out = 1 if mode is Mode.POPULATE else 16
    return Work(mode, ("http://127.0.0.1:1",), "m", 7, name, count, TOKENS, out, concurrency, (4096, 24576))


def ask(engine: Engine, asked: Work, at: float) -> tuple[ClientRun, float]:
    told, ended = virtual.run(json.loads(asked.options), [engine], at)
    return kvgate_client.parse(told), ended


@dataclass(frozen=True)
class Cell:
    run: ClientRun
    canaries: tuple[str | None, ...]
    page: str
    workers: str
    moved: Any


def cell(engine: Engine, concurrency: int = 8) -> Cell:
    """Populate, restart, reset, measure, ask canaries."""
    engine.start(0.0)
    _, at = ask(engine, work(Mode.POPULATE, concurrency), 0.0)
    engine.stop()
    engine.tiers.dropped()
    engine.start(at)
    if engine.knobs.reset_lies:  # what was stored is in HBM again, and only a reset takes it out
        _, at = ask(engine, work(Mode.POPULATE, concurrency), at)
        engine.tiers.reset()
    run, at = ask(engine, work(Mode.MEASURE, concurrency), at)
    answers: list[str | None] = []
    for _ in range(2):
        found, at = ask(engine, work(Mode.CANARIES, 1, "canary"), at)
        answers += [one.output for one in found.requests]
        engine.tiers.reset()
        engine.tiers.clear_host()
    workers = "".join(pages.worker(engine, rank) for rank in range(2))
    return Cell(
        run, tuple(answers), pages.engine(engine), workers, (dict(engine.devices.blocks), engine.devices.received)
    )


def engine(shape: Shape = ARRAY, knobs: Knobs | None = None) -> Engine:
    return Engine(shape, knobs or Knobs(), path=Path("nvme1n1", remote=shape is ARRAY))


@pytest.mark.parametrize("concurrency", [8, 16, 32])
def test_the_two_arms_are_as_far_apart_as_the_rule_wants(concurrency: int) -> None:
    planned = Planned(concurrency, TOKENS, 16)
    both = [from_client(cell(engine(shape), concurrency).run) for shape in (Shape(), ARRAY)]
    assert [faults(run, planned) for run in both] == [(), ()]
    local, array = (figures(run, concurrency) for run in both)
    assert 26 < (1 - array.ttft_p50 / local.ttft_p50) * 100 < 36
    assert 33 < (array.throughput / local.throughput - 1) * 100 < 38


def test_the_same_rounds_come_out_the_same() -> None:
    assert cell(engine()) == cell(engine())


def test_bytes_on_device_and_port_are_those_of_the_hits() -> None:
    one = engine()
    cell(one)
    assert one.counts.hits == (80 + 32) * 2048  # the measured prompts, and the canaries' second time
    assert one.devices.blocks["nvme1n1"][0] == one.counts.hits * 253_952
    assert one.devices.received == pytest.approx(one.counts.hits * 253_952 * 1.02)


def test_arms_can_be_made_as_far_apart_as_wanted() -> None:
    """What the sensitivity proof stands on: a true drop of a fifth, and one of three tenths."""

    def drop(knobs: Knobs) -> float:
        local, array = (figures(from_client(cell(one, 32).run), 32) for one in (engine(Shape()), engine(ARRAY, knobs)))
        return (1 - array.ttft_p50 / local.ttft_p50) * 100

    assert 18 < drop(named("arm-slow").knobs) < 21
    assert 29 < drop(Knobs(slow=0.87)) < 33


ENGINE = [
    one for one in FAULTS
    if one.name not in {
        "engine-will-not-start", "engine-will-not-stop", "engine-never-ready", "arms-version",
        "stream-role-first", "stream-usage-first", "metrics-worker-silent",
    }
]  # fmt: skip


@pytest.mark.parametrize("fault", ENGINE, ids=lambda fault: fault.name)
def test_each_fault_of_an_engine_shows(fault: Any) -> None:
    shape = Shape() if fault.on == "local" else ARRAY
    healthy, wrong = cell(engine(shape)), cell(engine(shape, fault.knobs))
    assert healthy != wrong


def test_there_are_at_least_thirty_and_each_has_a_name_and_a_sentence() -> None:
    assert len({one.name for one in FAULTS}) == len(FAULTS) >= 30
    assert all(len(one.text.split()) > 4 and one.on in {"local", "array", "recompute", "all"} for one in FAULTS)
    assert all(one.knobs != Knobs() for one in FAULTS)
    with pytest.raises(ValueError, match="wanted one of"):
        named("nothing")


def test_two_faults_are_both_there() -> None:
    both = joined(named("stream-429").knobs, named("usage-missing").knobs)
    assert both.too_many
    assert both.no_usage


def test_the_document_has_the_form_that_the_client_itself_writes() -> None:
    with serving(None) as server:
        asked = replace(real_work(server), count=4)
        theirs = load(asked)
    one = engine()
    one.start(5.0)
    ours = kvgate_client.parse(virtual.run(json.loads(asked.options), [one], 5.0)[0])
    assert ours.requests[0].status == theirs.requests[0].status == "completed"
    for name in ("mode", "endpoints", "seed", "prompt_set", "count", "tokens", "ids", "out", "concurrency", "shift"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert [type(value) for value in astuple(ours.requests[0])] == [
        type(value) for value in astuple(theirs.requests[0])
    ]
