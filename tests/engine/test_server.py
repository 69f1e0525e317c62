"""The lab's engine over HTTP with kvgate's own client: files, tiers, restarts, and every way to be wrong that a client can see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.serving import sources
from checks.serving.figures import figures
from checks.serving.readings import from_client
from checks.serving.work import Mode
from lab.engine.faults import named
from lab.engine.knobs import Knobs
from lab.engine.server import Server
from tests.engine.serving import SMALL, load, page, post, serving, work


def restart(server: Server) -> None:
    server.engine.stop()
    server.engine.tiers.dropped()
    server.engine.start(server.now)


def test_kv_is_written_as_whole_chunks_and_read_back_from_the_files_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        load(work(server, Mode.POPULATE))
        files = list(tmp_path.iterdir())
        assert len(files) == 12 * 3 * 2
        assert {path.stat().st_size for path in files} == {64 * 8}
        assert server.engine.devices.blocks["nvme0n1"] == [0, 12 * 3 * 2 * 512]
        restart(server)
        before, workers = page(server.metrics[0]), [page(url) for url in server.metrics[1:]]
        run = load(work(server))
        after = page(server.metrics[0])
        told = sources.vllm(before, after)
        assert (told.prompt, told.computed, told.device, told.store) == (2400, 96, 0, 2304)
        pairs = [(first, page(url)) for first, url in zip(workers, server.metrics[1:], strict=True)]
        assert sources.lmcache_hits(pairs, 2) == 2304
        assert sources.lmcache_failures(pairs, 2) == 0
        assert {one.cached for one in run.requests} == {192}
        assert server.engine.devices.blocks["nvme0n1"][0] == 12 * 3 * 2 * 512


def test_without_a_restart_hbm_answers_and_nothing_is_read(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        load(work(server, Mode.POPULATE))
        before = page(server.metrics[0])
        load(work(server))
        told = sources.vllm(before, page(server.metrics[0]))
        assert (told.device, told.store) == (2304, 0)
        assert server.engine.devices.blocks["nvme0n1"][0] == 0


def test_a_reset_evicts_as_a_restart_does_and_one_that_lies_does_not(tmp_path: Path) -> None:
    for folder, knobs, hits in ((tmp_path / "a", Knobs(), 2304), (tmp_path / "b", Knobs(reset_lies=True), 0)):
        with serving(folder, knobs) as server:
            load(work(server, Mode.POPULATE))
            assert post(f"{server.url}/reset_prefix_cache") == 200
            assert {post(url, "DELETE") for url in server.cache} == {200}
            before = page(server.metrics[0])
            load(work(server))
            assert sources.vllm(before, page(server.metrics[0])).store == hits


def test_answers_are_the_same_from_computed_stored_and_restored_kv_and_others_from_spoilt_files(tmp_path: Path) -> None:
    def answers(server: Server) -> list[str | None]:
        return [one.output for one in load(work(server, Mode.CANARIES, concurrency=1)).requests]

    with serving(None) as server:
        computed = answers(server)
        assert computed == answers(server)
    with serving(tmp_path) as server:
        assert answers(server) == computed
        restart(server)
        assert answers(server) == computed
        restart(server)
        for path in tmp_path.glob("*@0@*"):
            content = path.read_bytes()
            path.write_bytes(content[:100] + b"\xff" + content[101:])
        assert all(one != two for one, two in zip(answers(server), computed, strict=True))


def test_a_missing_file_of_one_rank_is_a_miss(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        load(work(server, Mode.POPULATE))
        restart(server)
        for path in tmp_path.glob("*@1@*"):
            path.unlink()
        load(work(server))
        assert server.engine.counts.store == 0


def test_a_store_on_a_faster_device_has_the_earlier_first_token(tmp_path: Path) -> None:
    found = []
    for name, read in (("slow", 2e8), ("fast", 50e9)):
        with serving(tmp_path / name, shape=replace(SMALL, read=read, noise=0.0), pace=0.5) as server:
            load(work(server, Mode.POPULATE))
            restart(server)
            found.append(figures(from_client(load(work(server))), 4).ttft_p50)
    assert found[1] < found[0]


@pytest.mark.parametrize(
    ("fault", "status", "error"),
    [
        ("stream-empty", "empty", ""), ("stream-dropped", "failed", "middle of the answer"), ("stream-429", "failed", "HTTP 429"),
        ("stream-500", "failed", "HTTP 500"), ("stream-error", "failed", "engine error"),
        ("stream-stalled", "failed", "no further token"),
    ],
)  # fmt: skip
def test_each_broken_stream_is_told_as_what_it_is(fault: str, status: str, error: str) -> None:
    knobs = named(fault).knobs
    field = next(
        name for name in ("empty", "dropped", "too_many", "broken", "error", "stalled") if getattr(knobs, name)
    )
    with serving(None, replace(knobs, **{field: 0.5})) as server:
        run = load(work(server))
    wrong = [one for one in run.requests if one.status != "completed"]
    assert 0 < len(wrong) < 12
    assert {one.status for one in wrong} == {status}
    assert all(error in one.error for one in wrong)


@pytest.mark.parametrize("fault", ["stream-role-first", "stream-usage-first"])
def test_what_comes_before_the_first_token_is_no_token(fault: str) -> None:
    """The first token cannot come before the engine computed the prompt: 20 ms each of its time, half as long here."""
    with serving(None, named(fault).knobs, pace=0.5) as server:
        run = load(work(server, count=4))
    assert min(one.first_s - one.sent_s for one in run.requests if one.first_s and one.sent_s) >= 0.009


def test_lengths_are_those_that_the_server_counts() -> None:
    with serving(None, Knobs(extra_tokens=1)) as server:
        assert {one.tokens_in for one in load(work(server)).requests} == {201}
    with serving(None, Knobs(no_usage=True)) as server:
        assert {one.tokens_in for one in load(work(server)).requests} == {None}
    with serving(None, Knobs(short=1.0)) as server:
        assert {one.tokens_out for one in load(work(server)).requests} == {4}


def test_an_engine_that_dies_refuses_the_rest() -> None:
    with serving(None, Knobs(dies_after=5)) as server:
        statuses = [one.status for one in load(work(server, concurrency=1)).requests]
    assert statuses == ["completed"] * 5 + ["failed"] * 7
