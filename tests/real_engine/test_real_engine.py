"""A real vLLM with its tier of files on disk: populate, evict, restore, measure, each proven by the engine's own counters.

Opt-in (`make test-engine`): it installs 4.6 GB and takes some minutes. Times on processors prove procedures, never ratios.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from checks.parsers import vllm_bench_serve
from checks.parsers.kvgate_client import ClientRun
from checks.serving import sources
from checks.serving.answers import Canary, same_answers
from checks.serving.client import client
from checks.serving.driven import drive, run_of
from checks.serving.figures import Figures, figures
from checks.serving.readings import from_client, from_vllm
from checks.serving.records import Run
from checks.serving.tools import OWN_CLIENT, Driver
from checks.serving.validity import Planned, faults
from checks.serving.work import Mode, Work, ordinary
from checks.verdict import Outcome
from kvgate.drivers.prompts import prompt
from tests.real_engine.vllm import Vllm, read_bytes

FOLDER = os.environ.get("KVGATE_REAL_ENGINE", "")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="opt-in: make test-engine"),
    pytest.mark.timeout(3600),
]

TURNS = 3  # of each driver
LEAST_NOISE = 1.1  # what turns of one driver lie apart at least, though three may happen to lie closer
BLOCK = 128  # tokens that vLLM on CPU keeps together
TOKENS = 2000  # fifteen blocks and eighty tokens
WHOLE = TOKENS // BLOCK * BLOCK
TOKEN_BYTES = 2 * 4 * 4 * 64 * 4  # keys and values, layers, heads, head size, float32


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real-engine")


@dataclass(frozen=True)
class Story:
    """What an engine answered before it was ended, and the one that was started after it."""

    engine: Vllm
    computed: list[str | None]
    again: list[str | None]


@pytest.fixture(scope="module")
def story(place: Path) -> Iterator[Story]:
    """An engine that was populated, ended and started again: its KV lies in files only."""
    folder = Path(FOLDER).resolve()
    with Vllm(folder, folder / "kv", place / "log") as first:
        first.forget()
        computed = answers()
        first.forget()
        again = answers()
        assert {one.status for one in load(work(Mode.POPULATE)).requests} == {"completed"}
        assert len(first.settled()) >= 2 * 8 * (TOKENS // BLOCK)
    with Vllm(folder, folder / "kv", place / "log") as second:
        yield Story(second, computed, again)
        second.forget()


@pytest.fixture
def engine(story: Story) -> Vllm:
    return story.engine


def answers() -> list[str | None]:
    return [one.output for one in load(work(Mode.CANARIES, concurrency=1)).requests]


def work(mode: Mode = Mode.MEASURE, **more: object) -> Work:
    out = 1 if mode is Mode.POPULATE else 16
    name = "canaries" if mode is Mode.CANARIES else "c2/1"
    asked = Work(mode, (Vllm.url,), "tiny", 7, name, 8, TOKENS, out, 2, ordinary(4096), first=600.0, limit=1800.0)
    return replace(asked, **more)  # type: ignore[arg-type]


def load(asked: Work) -> ClientRun:
    words = [str(word) for word in client(asked).argv]
    told = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True).stdout
    return client(asked).parse(told)


def test_after_a_restart_every_whole_block_comes_from_the_files(engine: Vllm) -> None:
    load(work(Mode.WARM, prompt_set="warm", count=2))
    before, disk = engine.metrics(), read_bytes(engine.kv)
    run = load(work())
    after, moved = engine.metrics(), read_bytes(engine.kv)
    told = sources.vllm(before, after)
    assert (told.prompt, told.device, told.host, told.store) == (8 * TOKENS, 0, 0, 8 * WHOLE)
    assert told.computed == 8 * (TOKENS - WHOLE)
    assert {one.cached for one in run.requests} == {WHOLE}
    assert (
        sources.rise(before, after, "vllm:kv_offload_tiering_read_bytes_total", tier="1:fs") == 8 * WHOLE * TOKEN_BYTES
    )
    if disk is not None and moved is not None:  # this machine may read other things at the same time, never less
        assert moved - disk >= 8 * WHOLE * TOKEN_BYTES * 0.99
    planned = Planned(2, TOKENS, 16, least_requests=8, waves=4, occupied_percent=20.0)
    assert faults(from_client(run), planned) == ()


def test_a_second_time_hbm_answers_and_after_a_reset_the_files_do_again(engine: Vllm) -> None:
    for evict, store in ((False, 0), (True, 8 * WHOLE)):
        if evict:
            engine.reset()
        before = engine.metrics()
        load(work())
        assert sources.vllm(before, engine.metrics()).store == store


def test_restored_answers_are_those_that_were_computed(story: Story) -> None:
    story.engine.reset()
    restored = load(work(Mode.CANARIES, concurrency=1)).requests
    canaries = [
        Canary(
            str(one.index),
            story.computed[one.index],
            story.again[one.index],
            story.computed[one.index],
            one.output,
            one.cached,
        )
        for one in restored
    ]
    assert {one.cached for one in restored} == {WHOLE}
    assert same_answers(canaries, least=8).outcome is Outcome.PASS


def test_vllms_own_client_and_ours_see_the_same_run(engine: Vllm, place: Path) -> None:
    """The same prompts, each client after a reset. Both by one definition; vLLM's own summary must agree with it."""
    lines = []
    for index in range(8):
        ids = prompt(7, "c2/1", index, TOKENS, *ordinary(4096))
        lines.append(json.dumps({"prompt": " ".join(f"w{number}" for number in ids)}))
    (place / "prompts.jsonl").write_text("\n".join(lines) + "\n")
    engine.reset()
    before = engine.metrics()
    words = [
        str(engine.folder / "venv/bin/vllm"), "bench", "serve", "--backend", "openai", "--base-url", engine.url, "--endpoint",
        "/v1/completions", "--model", "tiny", "--tokenizer", str(engine.folder / "model"), "--dataset-name", "custom",
        "--dataset-path", str(place / "prompts.jsonl"), "--skip-chat-template", "--custom-output-len", "16", "--num-prompts", "8",
        "--disable-shuffle", "--max-concurrency", "2", "--num-warmups", "0", "--ignore-eos", "--temperature", "0", "--disable-tqdm",
        "--save-result", "--save-detailed", "--result-dir", str(place), "--result-filename", "bench.json",
    ]  # fmt: skip
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "PATH": os.environ["PATH"], "HOME": str(place)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = from_vllm(vllm_bench_serve.parse((place / "bench.json").read_text()))
    assert sources.vllm(before, engine.metrics()).store == 8 * WHOLE
    planned = Planned(2, TOKENS, 16, least_requests=8, waves=4, occupied_percent=25.0, agree_percent=20.0)
    assert faults(theirs, planned) == ()
    engine.reset()
    ours = from_client(load(work()))
    both = [figures(run, 2) for run in (theirs, ours)]
    print([(f"TTFT p50 {one.ttft_p50:.3f} s", f"{one.throughput:.1f} tokens/s") for one in both])
    assert {one.output for one in ours.requests} == {one.output for one in theirs.requests}


def driven(driver: Driver) -> Run:
    """One run of the same prompts by this driver."""
    probe = drive(driver, work())
    done = subprocess.run([sys.executable, *map(str, probe.argv[1:])], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return run_of(probe.parse(done.stdout))


def test_every_driver_sees_the_same_engine(engine: Vllm) -> None:
    """The same prompts from the files, one driver after another, in turns: p50 TTFT and throughput agree within noise.

    Noise is how far a driver's own turns lie apart; on two busy cores that is much.
    """
    drivers = (
        OWN_CLIENT,
        Driver("vllm-bench", "0.32.0", str(engine.folder / "venv")),
        Driver("aiperf", "0.13.0", str(engine.folder / "tools"), str(engine.folder / "model")),
    )
    planned = Planned(
        2, TOKENS, 16, least_requests=8, waves=4, occupied_percent=30.0, agree_percent=20.0, clock_step=0.1
    )
    told: dict[str, list[Figures]] = {one.tool: [] for one in drivers}
    outputs: dict[str, set[str | None]] = {}
    for turn in range(TURNS):
        for driver in drivers[turn % 3 :] + drivers[: turn % 3]:
            engine.reset()
            before = engine.metrics()
            run = driven(driver)
            assert faults(run, planned) == (), driver.tool
            assert sources.vllm(before, engine.metrics()).store == 8 * WHOLE, driver.tool
            told[driver.tool].append(figures(run, 2))
            outputs[driver.tool] = {one.output for one in run.requests}
    assert outputs["own"] == outputs["vllm-bench"]
    assert outputs["aiperf"] == {None}  # it keeps no text
    for what, of in (("TTFT p50, s", lambda one: one.ttft_p50), ("tokens/s", lambda one: one.throughput)):
        values = {tool: sorted(of(one) for one in turns) for tool, turns in told.items()}
        print(what, {tool: [round(one, 3) for one in turns] for tool, turns in values.items()})
        noise = max(turns[-1] / turns[0] for turns in values.values())
        middle = [turns[len(turns) // 2] for turns in values.values()]
        assert max(middle) / min(middle) <= max(noise, LEAST_NOISE), what
