"""``guidellm run --output kind=json``: what every request took in each benchmark, and the tool's own figures beside it.

Seen: 0.8.1. All times are seconds of the wall clock, which a clock service may step. Percentiles are order statistics without
interpolation. Requests still under way at the end stand in no list: ``created`` tells how many were begun. ``sample_size``
other than null keeps only some of the requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "guidellm"

_NUMBER = (int, float)
_MAYBE = (int, float, type(None))


@dataclass(frozen=True, slots=True)
class GuideRequest:
    """One request; times in seconds since the epoch; None where it never came so far."""

    group: str
    start_s: float | None
    first_s: float | None
    last_s: float | None
    ttft_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cached_tokens: int | None
    text: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class GuideBenchmark:
    """One benchmark: its load, the tool's figures over the successful requests, and the requests of all three lists."""

    strategy: str
    concurrency: int | None
    created: int
    successful: int
    errored: int
    incomplete: int
    warmup_s: float
    cooldown_s: float
    duration_s: float
    ttft_p50_ms: float
    output_throughput: float
    requests: tuple[GuideRequest, ...]


@dataclass(frozen=True, slots=True)
class GuideRun:
    """A file: one benchmark or, for a sweep, several."""

    version: str
    format: str
    benchmarks: tuple[GuideBenchmark, ...]


def parse(text: str) -> GuideRun:
    """Read the one document, or raise UnreadableOutput."""
    table = json_document(text)
    metadata, config = entry(table, "metadata", dict), entry(table, "config", dict)
    backend = entry(entry(config, "spec", dict, "config"), "backend", dict, "spec")
    benchmarks = entry(table, "benchmarks", list)
    if not benchmarks:
        raise UnreadableOutput("guidellm lists no benchmark")
    return GuideRun(
        version=entry(metadata, "guidellm_version", str, "metadata"),
        format=entry(backend, "request_format", str, "backend"),
        benchmarks=tuple(_benchmark(one) for one in benchmarks),
    )


def _benchmark(table: Any) -> GuideBenchmark:
    config = entry(table, "config", dict, "benchmark")
    if (kept := entry(config, "sample_size", (int, type(None)), "config")) is not None:
        raise UnreadableOutput(f"only a sample of {kept} requests was kept: run it without a sample size")
    strategy = entry(config, "strategy", dict, "config")
    totals = entry(entry(table, "metrics", dict, "benchmark"), "request_totals", dict, "metrics")
    state = entry(table, "scheduler_state", dict, "benchmark")
    lists = entry(table, "requests", dict, "benchmark")
    requests = [
        _request(group, one)
        for group in ("successful", "errored", "incomplete")
        for one in entry(lists, group, (list, type(None)), "requests") or ()
    ]
    return GuideBenchmark(
        strategy=entry(strategy, "type_", str, "strategy"),
        concurrency=entry(strategy, "max_concurrency", int, "strategy") if "max_concurrency" in strategy else None,
        created=entry(state, "created_requests", int, "scheduler_state"),
        successful=entry(totals, "successful", int, "request_totals"),
        errored=entry(totals, "errored", int, "request_totals"),
        incomplete=entry(totals, "incomplete", int, "request_totals"),
        warmup_s=float(entry(table, "warmup_duration", _NUMBER, "benchmark")),
        cooldown_s=float(entry(table, "cooldown_duration", _NUMBER, "benchmark")),
        duration_s=float(entry(table, "duration", _NUMBER, "benchmark")),
        ttft_p50_ms=_of_successful(table, "time_to_first_token_ms", "median"),
        output_throughput=_of_successful(table, "output_tokens_per_second", "mean"),
        requests=tuple(requests),
    )


def _of_successful(table: Any, name: str, key: str) -> float:
    metric = entry(entry(entry(table, "metrics", dict), name, dict, "metrics"), "successful", dict, name)
    return float(entry(metric, key, _NUMBER, name))


def _request(group: str, table: Any) -> GuideRequest:
    info = entry(table, "info", dict, "request")
    timings = entry(info, "timings", dict, "info")

    def time(key: str) -> float | None:
        found: float | None = entry(timings, key, _MAYBE, "timings")
        return found

    return GuideRequest(
        group=group,
        start_s=time("request_start"),
        first_s=time("first_token_iteration"),
        last_s=time("last_token_iteration"),
        ttft_ms=entry(table, "time_to_first_token_ms", _MAYBE, "request"),
        tokens_in=entry(table, "prompt_tokens", (int, type(None)), "request"),
        tokens_out=entry(table, "output_tokens", (int, type(None)), "request"),
        cached_tokens=entry(table, "cached_tokens", (int, type(None)), "request"),
        text=entry(table, "output", (str, type(None)), "request"),
        error=entry(info, "error", (str, type(None)), "info"),
    )
