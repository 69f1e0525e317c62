"""What a load tool wrote is read to the records of the one definition, or refused with the reason."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.probe import UnreadableOutput
from checks.serving import driven
from checks.serving.driven import Driven, Reading, as_ordered, drive, run_of
from checks.serving.figures import figures
from checks.serving.records import Status
from checks.serving.tools import TOOLS, Driver, is_known
from checks.serving.validity import Planned, faults
from checks.serving.work import Mode, Work
from lab.serving import tools
from lab.serving.client import Served, digest, timed

WORK = Work(Mode.MEASURE, ("http://127.0.0.1:8000",), "tiny", 7, "tp8/c8/r1", 80, 512, 16, 8, (4096, 24576))
PLANNED = Planned(8, 512, 16)
DRIVERS = {
    "vllm-bench": Driver("vllm-bench", "0.20.1", "/opt/bench"),
    "sglang-bench": Driver("sglang-bench", "0.5.23", "/opt/bench", "/models/tokenizer"),
    "aiperf": Driver("aiperf", "0.13.0", "/opt/bench", "/models/tokenizer"),
}


def served(index: int) -> Served:
    return Served(2.0 + index % 5 / 100, 1.5, 512, 16, 256, f"answer {index}")


def document(tool: str, wrong: tools.Wrong | None = None, serve: Any = served, **changes: Any) -> str:
    probe = drive(DRIVERS[tool], WORK)
    options = json.loads(shlex.split(probe.command())[-1])
    wanted = tools.asked(options)
    run, seconds = timed(wanted["count"], wanted["concurrency"], serve)
    began = (1.79e9, 500.0)
    results = tools.results(tool, run, began, wanted, wrong or tools.Wrong())
    told = tools.document(options, began, (seconds, 0.0), digest(wanted), tools.VERSIONS[tool], 0.003, results)
    return json.dumps(json.loads(told) | changes) + "\n"


def read(tool: str, text: str) -> Driven:
    return Reading(DRIVERS[tool], WORK)(text)


@pytest.mark.parametrize("tool", DRIVERS)
def test_every_tool_is_read_to_the_same_records(tool: str) -> None:
    run = run_of(read(tool, document(tool)))
    assert faults(run, PLANNED) == ()
    found = figures(run, 8)
    assert found.ttft_p50 == pytest.approx(2.02, abs=1e-5)
    assert found.tokens_out == 80 * 16
    assert found.throughput == pytest.approx(found.tokens_out / found.window)
    assert {one.tokens_in for one in run.requests} == {512}


def test_what_a_tool_cannot_tell_is_not_there() -> None:
    outputs = {tool: {one.output for one in run_of(read(tool, document(tool))).requests} for tool in DRIVERS}
    assert outputs["aiperf"] == {None}
    assert outputs["vllm-bench"] == outputs["sglang-bench"]
    assert len(outputs["vllm-bench"]) == 80
    assert {one.cached for one in run_of(read("vllm-bench", document("vllm-bench"))).requests} == {None}
    assert all(tool.untold for tool in TOOLS.values())


@pytest.mark.parametrize("tool", DRIVERS)
def test_a_failed_request_is_no_zero_whatever_the_tool_prints(tool: str) -> None:
    def broken(index: int) -> Served:
        good = served(index)
        return replace(good, status="failed", error="HTTP 500", ttft=0.1, decode=0.0) if index == 11 else good

    for wrong in (tools.Wrong(), tools.Wrong(zero=True)):
        run = run_of(read(tool, document(tool, wrong, broken)))
        assert run.requests[11].status in (Status.FAILED, Status.EMPTY)
        assert run.requests[11].ttft is None
        assert any("1 of 80 requests" in str(reason) for reason in faults(run, PLANNED))


@pytest.mark.parametrize("tool", DRIVERS)
def test_a_summary_that_does_not_agree_is_a_fault(tool: str) -> None:
    run = run_of(read(tool, document(tool, tools.Wrong(summary=0.03))))
    assert ["throughput" in str(reason) for reason in faults(run, PLANNED)] == [True]


@pytest.mark.parametrize("tool", DRIVERS)
@pytest.mark.parametrize(
    "change, said",
    [
        ({"version": "9.9"}, "is known of"),
        ({"version": ""}, "?: how it counts is known of"),
        ({"status": None, "said": "No such file"}, "could not be started: No such file"),
        ({"status": 3, "said": "out of memory"}, "ended with status 3: out of memory"),
        ({"cut": True}, "ended before it had done"),
        ({"results": {}}, "the tool wrote no"),
    ],
)
def test_a_run_that_is_none_is_refused(tool: str, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UnreadableOutput, match=said.replace("?", r"\?")):
        read(tool, document(tool, **change))


@pytest.mark.parametrize("tool", DRIVERS)
def test_a_file_that_is_cut_is_refused(tool: str) -> None:
    with pytest.raises(UnreadableOutput):
        read(tool, document(tool, tools.Wrong(cut=True)))


def test_another_known_version_than_the_ordered_one_is_refused() -> None:
    with pytest.raises(UnreadableOutput, match=r"the inventory orders 0\.20\.1"):
        read("vllm-bench", document("vllm-bench", version="0.32.0"))
    must = as_ordered(DRIVERS["vllm-bench"])
    assert must("0.20.1") is None
    assert must("0.20.1+rocm") is None
    assert "orders 0.20.1" in str(must("0.20.2"))


def test_the_document_of_another_run_is_refused() -> None:
    with pytest.raises(UnreadableOutput, match="another run"):
        Reading(DRIVERS["aiperf"], replace(WORK, prompt_set="tp8/c8/r2"))(document("aiperf"))
    with pytest.raises(UnreadableOutput, match="another run"):
        Reading(DRIVERS["aiperf"], replace(WORK, concurrency=16))(document("aiperf"))


@pytest.mark.parametrize("tool", DRIVERS)
def test_times_of_another_clock_are_an_objection(tool: str) -> None:
    table = json.loads(document(tool))
    table["ends"] = [[wall + 900.0, monotonic + 900.0] for wall, monotonic in table["ends"]]
    run = run_of(read(tool, json.dumps(table)))
    assert any("lie outside the run" in str(reason) for reason in faults(run, PLANNED))


def test_fewer_prompts_than_ordered_are_refused() -> None:
    table = json.loads(document("vllm-bench"))
    bench = json.loads(table["results"]["bench.json"])
    bench["num_prompts"] = 79
    for name in ("input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors"):
        bench[name] = bench[name][:79]
    table["results"]["bench.json"] = json.dumps(bench)
    with pytest.raises(UnreadableOutput, match="asked 79 prompts, wanted 80"):
        read("vllm-bench", json.dumps(table))


def test_send_times_that_sglang_did_not_keep_are_not_made_up() -> None:
    table = json.loads(document("sglang-bench"))
    table["results"]["sent.json"] = json.dumps([1.0, 2.0])
    with pytest.raises(UnreadableOutput, match="has 2 items, wanted 80"):
        read("sglang-bench", json.dumps(table))


@pytest.mark.parametrize(
    "version, known",
    [("0.20", True), ("0.20.1", True), ("0.20.1+rocm", True), ("0.2", False), ("0.200.1", False), ("0.21.0", False), ("", False)],
)  # fmt: skip
def test_a_version_is_known_by_its_first_parts(version: str, known: bool) -> None:
    assert is_known(TOOLS["vllm-bench"].known, version) is known


@pytest.mark.parametrize("tool", DRIVERS)
def test_the_command_is_one_line_that_a_shell_takes_apart_again(tool: str) -> None:
    probe = drive(DRIVERS[tool], replace(WORK, model="a model's name"))
    line = probe.command()
    assert "\n" not in line
    assert len(line.encode()) < 2**15
    *start, told = shlex.split(line)
    assert tuple(start) == driven.COMMAND
    options = json.loads(told)
    assert options["count"] == 80
    assert any("a model's name" in str(word) for word in [*options["argv"], options["row"]])


SAMPLES = Path(__file__).parent.parent / "parsers/kvgate-launcher"
ASKED = Work(Mode.MEASURE, ("http://127.0.0.1:8219",), "tiny", 7, "c2/r1", 3, 32, 4, 2, (512, 3072), limit=120.0)


@pytest.mark.parametrize(
    "tool, name, work",
    [
        ("aiperf", "1--aiperf-three-requests", ASKED),
        ("sglang-bench", "1--sglang-eight-requests", replace(ASKED, count=8)),
    ],
)
def test_what_a_real_tool_wrote_is_read_as_a_cell(tool: str, name: str, work: Work) -> None:
    run = run_of(Reading(DRIVERS[tool], work)((SAMPLES / f"{name}.txt").read_text()))
    assert [one.status for one in run.requests] == [Status.COMPLETED] * work.count
    assert faults(run, Planned(2, 32, 4, work.count, 1, occupied_percent=100.0)) == ()
