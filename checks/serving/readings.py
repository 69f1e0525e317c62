"""What each load tool wrote, as one run: kvgate's client, `vllm bench serve`, sglang.bench_serving, aiperf, guidellm.

Where a tool counts something else as the first token, or stops its watch elsewhere, the run carries an objection instead of a
number that only looks alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from checks.parsers.aiperf_records import AiperfRecord
from checks.parsers.aiperf_summary import AiperfSummary
from checks.parsers.guidellm import GuideBenchmark, GuideRequest
from checks.parsers.kvgate_client import ClientRequest, ClientRun
from checks.parsers.sglang_bench_serving import SglangBench, SglangRequest
from checks.parsers.vllm_bench_serve import BenchRequest, VllmBench
from checks.phrase import Phrase, say
from checks.serving.records import Clock, Instant, Request, Run, Status, Summary

Ends = tuple[Instant, Instant]

#: Backends of `vllm bench serve` that stream /v1/completions: the first event with choices is the first token.
_COMPLETIONS = frozenset({"openai", "vllm"})


def digest(text: str) -> str:
    """SHA-256 of an answer's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def from_client(run: ClientRun) -> Run:
    """kvgate's client: seconds of the load host's monotonic clock; it counts by the definition itself and sums up nothing."""
    return Run(
        tool="kvgate client",
        timeline=Clock.MONOTONIC,
        stopwatch=Clock.MONOTONIC,
        concurrency=run.concurrency,
        begun=run.count,
        requests=tuple(_client(one, run.mode == "canaries") for one in run.requests),
        summary=None,
        ends=(Instant(*run.ends[0]), Instant(*run.ends[1])),
    )


def _client(one: ClientRequest, text: bool) -> Request:
    status = Status(one.status)
    if status is not Status.COMPLETED or one.sent_s is None or one.first_s is None or one.last_s is None:
        return Request(one.index, status, tokens_in=one.tokens_in, waited=one.waited_s, error=one.error)
    return Request(
        index=one.index,
        status=status,
        sent=one.sent_s,
        first=one.first_s,
        last=one.last_s,
        ttft=one.first_s - one.sent_s,
        latency=one.last_s - one.sent_s,
        tokens_in=one.tokens_in,
        tokens_out=one.tokens_out,
        cached=one.cached,
        waited=one.waited_s,
        output=digest(one.output) if text and one.output is not None else one.output,
    )


def from_vllm(bench: VllmBench, ends: Ends | None = None) -> Run:
    """`vllm bench serve`: seconds of the client's monotonic clock."""
    return Run(
        tool="vllm bench serve",
        timeline=Clock.MONOTONIC,
        stopwatch=Clock.MONOTONIC,
        concurrency=bench.concurrency,
        begun=bench.prompts,
        requests=tuple(_vllm(index, one) for index, one in enumerate(bench.requests)),
        summary=Summary(
            ttft_p50=None if bench.median_ttft_ms is None else bench.median_ttft_ms / 1000,
            throughput=bench.output_throughput,
            duration=bench.duration_s,
            tokens_out=bench.total_output,
            completed=bench.completed,
            failed=bench.failed,
            latency_p50=None if bench.median_latency_ms is None else bench.median_latency_ms / 1000,
        ),
        ends=ends,
        objections=_vllm_objections(bench),
    )


def _vllm_objections(bench: VllmBench) -> tuple[Phrase, ...]:
    if bench.backend in _COMPLETIONS:
        return ()
    if bench.backend != "openai-chat":
        return (say("kvgate does not know what backend {backend} counts as the first token", backend=bench.backend),)
    # Clients that write no latencies are from before vLLM's PR 55508: for them a role alone is a first token.
    if any(one.latency_s is None for one in bench.requests):
        return (say("this client counts the role, sent before any token, as the first token: use --backend openai"),)
    return ()


def _vllm(index: int, one: BenchRequest) -> Request:
    if one.error:
        return Request(index, Status.FAILED, tokens_in=one.tokens_in, error=one.error)
    if one.tokens_out == 0 or one.ttft_s == 0:
        return Request(index, Status.EMPTY, tokens_in=one.tokens_in)
    latency = one.latency_s if one.latency_s is not None else one.ttft_s + sum(one.gaps_s)
    return Request(
        index=index,
        status=Status.COMPLETED,
        sent=one.start_s,
        first=None if one.start_s is None else one.start_s + one.ttft_s,
        last=None if one.start_s is None else one.start_s + latency,
        ttft=one.ttft_s,
        latency=latency,
        tokens_in=one.tokens_in,
        tokens_out=one.tokens_out,
        waited=one.queue_s,
        output=None if one.text is None else digest(one.text),
    )


def from_sglang(bench: SglangBench, ends: Ends | None = None, sent: Sequence[float] | None = None) -> Run:
    """sglang.bench_serving: durations only. Its window cannot be made again but with the send times that it keeps to itself."""
    moments = [None] * len(bench.requests) if sent is None else sent
    return Run(
        tool="sglang.bench_serving",
        timeline=Clock.MONOTONIC,
        stopwatch=Clock.MONOTONIC,
        concurrency=bench.concurrency,
        begun=len(bench.requests),
        requests=tuple(
            _sglang(index, one, moment) for index, (one, moment) in enumerate(zip(bench.requests, moments, strict=True))
        ),
        summary=Summary(
            ttft_p50=bench.median_ttft_ms / 1000,
            throughput=bench.output_throughput,
            duration=bench.duration_s,
            tokens_out=bench.total_output,
            completed=bench.completed,
            failed=None,
        ),
        ends=ends,
    )


def _sglang(index: int, one: SglangRequest, sent: float | None) -> Request:
    if one.error:
        return Request(index, Status.FAILED, tokens_in=one.tokens_in, error=one.error)
    if one.tokens_out == 0 or one.ttft_s == 0:
        return Request(index, Status.EMPTY, tokens_in=one.tokens_in)
    return Request(
        index=index,
        status=Status.COMPLETED,
        sent=sent,
        first=None if sent is None else sent + one.ttft_s,
        last=None if sent is None else sent + one.ttft_s + sum(one.gaps_s),
        ttft=one.ttft_s,
        latency=one.ttft_s + sum(one.gaps_s),
        tokens_in=one.tokens_in,
        tokens_out=one.tokens_out,
        cached=one.cached_tokens,
        output=None if one.text is None else digest(one.text),
    )


def from_aiperf(records: Sequence[AiperfRecord], summary: AiperfSummary, ends: Ends | None = None) -> Run:
    """aiperf: durations of a monotonic clock, laid on a timeline of the wall clock. Warm-up requests are left out."""
    measured = [one for one in records if one.phase == "profiling"]
    objections = []
    if not summary.streaming:
        objections.append(say("the answers were not streamed: there is no first token"))
    if summary.cancelled or not summary.complete:
        objections.append(say("the tool says that its run was cut short"))
    return Run(
        tool="aiperf",
        timeline=Clock.WALL,
        stopwatch=Clock.MONOTONIC,
        concurrency=summary.concurrency,
        begun=max(len(measured), summary.completed + (summary.failed or 0)),
        requests=tuple(_aiperf(index, one) for index, one in enumerate(measured)),
        summary=Summary(
            ttft_p50=summary.ttft_p50_ms / 1000,
            throughput=summary.output_throughput,
            duration=summary.duration_s,
            tokens_out=summary.total_output,
            completed=summary.completed,
            failed=summary.failed,
        ),
        ends=ends,
        objections=tuple(objections),
    )


def _aiperf(index: int, one: AiperfRecord) -> Request:
    if one.error is not None:
        return Request(index, Status.FAILED, tokens_in=one.tokens_in, error=one.error)
    if one.cancelled:
        return Request(index, Status.UNFINISHED, tokens_in=one.tokens_in)
    if one.ttft_ms is None or one.latency_ms is None or not one.tokens_out:
        return Request(index, Status.EMPTY, tokens_in=one.tokens_in)
    sent = one.start_ns / 1e9
    return Request(
        index=index,
        status=Status.COMPLETED,
        sent=sent,
        first=sent + one.ttft_ms / 1000,
        last=sent + one.latency_ms / 1000,
        ttft=one.ttft_ms / 1000,
        latency=one.latency_ms / 1000,
        tokens_in=one.tokens_in,
        tokens_out=one.tokens_out,
        cached=one.cached_tokens,
    )


def from_guidellm(bench: GuideBenchmark, ends: Ends | None = None) -> Run:
    """guidellm: everything by the wall clock; requests under way at the end are begun and stand in no list."""
    objections = []
    if bench.warmup_s or bench.cooldown_s:
        objections.append(say("the tool left out a warm-up or cool-down of its own: measure without"))
    return Run(
        tool="guidellm",
        timeline=Clock.WALL,
        stopwatch=Clock.WALL,
        concurrency=bench.concurrency,
        begun=max(bench.created, len(bench.requests)),
        requests=tuple(_guidellm(index, one) for index, one in enumerate(bench.requests)),
        summary=Summary(
            ttft_p50=bench.ttft_p50_ms / 1000,
            throughput=bench.output_throughput,
            duration=bench.duration_s,
            tokens_out=sum(one.tokens_out or 0 for one in bench.requests if one.group == "successful"),
            completed=bench.successful,
            failed=bench.errored,
            lower_median=True,
        ),
        ends=ends,
        objections=tuple(objections),
    )


def _guidellm(index: int, one: GuideRequest) -> Request:
    if one.group == "incomplete":
        return Request(index, Status.UNFINISHED, tokens_in=one.tokens_in)
    if one.group != "successful" or one.error:
        return Request(index, Status.FAILED, tokens_in=one.tokens_in, error=one.error or one.group)
    if one.start_s is None or one.first_s is None or one.last_s is None or not one.tokens_out or not one.ttft_ms:
        return Request(index, Status.EMPTY, tokens_in=one.tokens_in)
    return Request(
        index=index,
        status=Status.COMPLETED,
        sent=one.start_s,
        first=one.first_s,
        last=one.last_s,
        ttft=one.first_s - one.start_s,
        latency=one.last_s - one.start_s,
        tokens_in=one.tokens_in,
        tokens_out=one.tokens_out,
        cached=one.cached_tokens,
        output=None if one.text is None else digest(one.text),
    )
