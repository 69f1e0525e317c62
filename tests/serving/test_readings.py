"""Real results of the tools through the one definition: what they print is what their requests give, or it is said why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.parsers import (
    aiperf_records,
    aiperf_summary,
    guidellm,
    kvgate_client,
    sglang_bench_serving,
    vllm_bench_serve,
)
from checks.serving import readings
from checks.serving.figures import figures
from checks.serving.records import Instant, Run, Status
from checks.serving.validity import Planned, faults

DATA = Path(__file__).parent.parent / "parsers"
SMALL = Planned(concurrency=1, tokens_in=4000, tokens_out=16, least_requests=2, waves=1)
ENDS = (Instant(1.79e9, 0.0), Instant(1.79e9 + 60.0, 60.0))


def told(command: str, name: str) -> str:
    return (DATA / command / f"{name}.txt").read_text("utf-8")


def vllm(name: str) -> Run:
    return readings.from_vllm(vllm_bench_serve.parse(told("vllm-bench-serve", name)))


def aiperf(records: str = "0.13--completions", summary: str = "0.13--completions") -> Run:
    return readings.from_aiperf(
        aiperf_records.parse(told("aiperf-records", records)),
        aiperf_summary.parse(told("aiperf-summary", summary)),
        ENDS,
    )


def guide(name: str) -> Run:
    return readings.from_guidellm(guidellm.parse(told("guidellm", name)).benchmarks[0], ENDS)


def reasons(run: Run, planned: Planned = SMALL) -> str:
    return "; ".join(str(reason) for reason in faults(run, planned))


def test_vllms_own_summary_is_what_its_requests_give() -> None:
    run = vllm("0.32--completions-detailed")
    assert faults(run, SMALL) == ()
    found = figures(run, 1)
    assert found.ttft_p50 == pytest.approx(1.084790144499948)
    assert found.throughput == pytest.approx(4.439632864687974, rel=1e-3)
    assert found.throughput == pytest.approx(64 / 14.414994186)


def test_latencies_that_an_older_vllm_does_not_write_are_rebuilt_from_the_gaps() -> None:
    old, new = vllm("0.20--completions-no-latencies"), vllm("0.32--completions-detailed")
    for before, after in zip(old.requests, new.requests, strict=True):
        assert before.latency == pytest.approx(after.latency)
        assert before.output == after.output
    assert faults(old, SMALL) == ()


def test_a_failed_request_of_vllm_is_no_ttft_of_zero() -> None:
    run = vllm("0.20--one-failed")
    assert [one.status for one in run.requests] == [Status.COMPLETED, Status.COMPLETED, Status.FAILED, Status.COMPLETED]
    assert run.requests[2].ttft is None
    assert "1 of 4 requests failed: Never received a valid chunk" in reasons(run)


def test_a_chat_answer_without_a_token_is_empty_though_the_tool_calls_it_a_success() -> None:
    bench = vllm_bench_serve.parse(told("vllm-bench-serve", "0.32--completions-detailed"))
    silent = replace(bench.requests[0], ttft_s=0.0, tokens_out=0, gaps_s=())
    run = readings.from_vllm(replace(bench, backend="openai-chat", requests=(silent, *bench.requests[1:])))
    assert run.requests[0].status is Status.EMPTY
    assert "1 of 4 requests empty" in reasons(run)


@pytest.mark.parametrize(
    "backend, name, said",
    [
        ("openai", "0.20--completions-no-latencies", ""),
        ("vllm", "0.20--completions-no-latencies", ""),
        ("openai-chat", "0.20--completions-no-latencies", "counts the role"),
        ("openai-chat", "0.32--completions-detailed", ""),
        ("tgi", "0.32--completions-detailed", "does not know what backend tgi"),
    ],
)
def test_a_client_that_counts_another_first_token_is_refused(backend: str, name: str, said: str) -> None:
    bench = vllm_bench_serve.parse(told("vllm-bench-serve", name))
    run = readings.from_vllm(replace(bench, backend=backend))
    assert "; ".join(str(one) for one in run.objections) == said or said in reasons(run)
    assert bool(run.objections) is bool(said)


def test_no_limit_and_no_summary_are_said() -> None:
    said = reasons(vllm("0.20--chat-no-limit-no-tokenizer"))
    assert "kept no limit of concurrency" in said
    assert "printed no TTFT p50" in said


def test_aiperfs_own_summary_is_what_its_records_give() -> None:
    run = aiperf()
    assert faults(run, SMALL) == ()
    found = figures(run, 1)
    assert found.ttft_p50 == pytest.approx(0.565629582)
    # Its throughput counts 0.09 s of its own around the requests; its benchmark_duration does not.
    assert found.window == pytest.approx(5.740829184, abs=1e-5)
    assert found.throughput == pytest.approx(48 / 5.740829184)


def test_aiperf_without_both_clocks_cannot_be_believed() -> None:
    assert "nothing shows that it was not stepped" in reasons(replace(aiperf(), ends=None))


def test_a_warm_up_request_is_left_out_and_a_failed_one_kept() -> None:
    run = aiperf("0.13--warmup-and-failure", "0.13--incomplete")
    assert [one.status for one in run.requests] == [Status.FAILED, Status.COMPLETED]
    assert run.requests[1].cached == 3968
    assert run.begun == 3
    said = reasons(run)
    assert "1 of 2 requests failed: 500 Internal Server Error: engine died" in said
    assert "3 requests were begun, 2 are in the file" in said
    assert "cut short" in said


def test_guidellm_lost_a_request_that_it_had_begun() -> None:
    said = reasons(guide("0.8.1--completions-one-vanished"))
    assert "3 requests were begun, 2 are in the file" in said


def test_guidellms_median_of_two_is_the_lower_one() -> None:
    run = guide("0.8.1--concurrent-short")
    found = figures(run, 1)
    assert found.ttft_p50 == pytest.approx(0.9381, abs=1e-4)
    assert run.summary is not None
    assert run.summary.ttft_p50 == pytest.approx(min(found.ttfts), abs=1e-6)
    planned = replace(SMALL, concurrency=2)
    assert "TTFT" not in reasons(run, planned)
    assert "throughput" not in reasons(run, planned)


def test_guidellms_errored_request_spoils_the_run() -> None:
    assert "1 of 2 requests failed: HTTP 500" in reasons(guide("0.8.1--one-errored"))


def test_sglang_tells_no_send_times_so_its_throughput_is_not_taken() -> None:
    run = readings.from_sglang(sglang_bench_serving.parse(told("sglang-bench-serving", "0.5.23--details")))
    assert "writes no send times" in reasons(run, replace(SMALL, concurrency=2))
    cached = readings.from_sglang(
        sglang_bench_serving.parse(told("sglang-bench-serving", "0.5.23--cache-report-one-failed"))
    )
    assert [one.status for one in cached.requests].count(Status.FAILED) == 1
    assert cached.requests[0].cached == 3968


def test_records_of_kvgates_client_are_taken_as_they_are() -> None:
    run = readings.from_client(kvgate_client.parse(told("kvgate-client", "1--six-completed")))
    assert faults(run, Planned(3, 16, 2, 6, 2, occupied_percent=60)) == ()
    found = figures(run, 3)
    assert found.tokens_out == 12
    assert found.throughput == pytest.approx(12 / found.window)


def test_failures_of_kvgates_client_are_failures() -> None:
    run = readings.from_client(kvgate_client.parse(told("kvgate-client", "1--failed-empty-unfinished")))
    assert sorted(one.status for one in run.requests) == [
        Status.COMPLETED, Status.EMPTY, Status.FAILED, Status.UNFINISHED,
    ]  # fmt: skip
    said = reasons(run)
    assert "1 of 4 requests failed: HTTP 429" in said
    assert "1 of 4 requests empty" in said
    assert "1 of 4 requests unfinished" in said
