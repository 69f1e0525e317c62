"""``sglang.bench_serving --output-details``: what every request took, and the tool's own summary beside it.

Seen: 0.5.23 (also called ``sglang.benchmark.serving``), one JSON object a line and run, appended. Times of requests are
seconds, the summary milliseconds. It writes no send times and no count of failures; where the server told no token count,
``output_lens`` is the length asked for. ``cached_tokens`` comes only with ``--cache-report``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import array, entry, json_documents
from checks.probe import UnreadableOutput

COMMAND = "sglang-bench-serving"

_NUMBER = (int, float)
_DETAILS = ("input_lens", "output_lens", "ttfts", "itls", "errors")


@dataclass(frozen=True, slots=True)
class SglangRequest:
    """One request; times in seconds; ``cached_tokens`` is None without a cache report."""

    ttft_s: float
    gaps_s: tuple[float, ...]
    tokens_in: int
    tokens_out: int
    cached_tokens: int | None
    text: str | None
    error: str


@dataclass(frozen=True, slots=True)
class CacheReport:
    """Prompt tokens and where they came from; None where the server did not tell."""

    prompt_tokens: int
    cached_tokens: int
    device_tokens: int | None
    host_tokens: int | None
    storage_tokens: int | None


@dataclass(frozen=True, slots=True)
class SglangBench:
    """One run. ``duration_s`` holds a last question to the server after the last answer, for its native backends."""

    backend: str
    concurrency: int | None
    duration_s: float
    completed: int
    total_output: int
    output_throughput: float
    median_ttft_ms: float
    mean_latency_ms: float
    cache: CacheReport | None
    requests: tuple[SglangRequest, ...]


def parse(text: str) -> SglangBench:
    """Read the one result of the file, or raise UnreadableOutput."""
    documents = json_documents(text)
    if len(documents) != 1:
        raise UnreadableOutput(
            f"{len(documents)} results in one file: which run is meant cannot be told; write each to a file of its own"
        )
    table = documents[0]
    if missing := [key for key in _DETAILS if not isinstance(table, dict) or key not in table]:
        raise UnreadableOutput(f"no {missing[0]!r}: run it with --output-details, which keeps every request")
    return SglangBench(
        backend=entry(table, "backend", str),
        concurrency=entry(table, "max_concurrency", (int, type(None))),
        duration_s=float(entry(table, "duration", _NUMBER)),
        completed=entry(table, "completed", int),
        total_output=entry(table, "total_output_tokens", int),
        output_throughput=float(entry(table, "output_throughput", _NUMBER)),
        median_ttft_ms=float(entry(table, "median_ttft_ms", _NUMBER)),
        mean_latency_ms=float(entry(table, "mean_e2e_latency_ms", _NUMBER)),
        cache=_cache(entry(table, "cache_report", dict)) if "cache_report" in table else None,
        requests=_requests(table),
    )


def _cache(table: dict[str, Any]) -> CacheReport:
    def told(key: str) -> int | None:
        found: int | None = entry(table, key, (int, type(None)), "cache_report")
        return found

    return CacheReport(
        prompt_tokens=entry(table, "total_prompt_tokens", int, "cache_report"),
        cached_tokens=entry(table, "total_cached_tokens", int, "cache_report"),
        device_tokens=told("device_cached_tokens"),
        host_tokens=told("host_cached_tokens"),
        storage_tokens=told("storage_cached_tokens"),
    )


def _requests(table: Any) -> tuple[SglangRequest, ...]:
    count = len(array(table, "errors", str))

    def column(key: str, kind: type | tuple[type, ...], optional: bool = False) -> list[Any]:
        return [None] * count if optional and key not in table else array(table, key, kind, count)

    rows = zip(
        column("ttfts", _NUMBER),
        column("itls", list),
        column("input_lens", int),
        column("output_lens", int),
        column("cached_tokens", (int, type(None)), optional=True),
        column("generated_texts", str, optional=True),
        column("errors", str),
        strict=True,
    )
    return tuple(
        SglangRequest(ttft, tuple(array({"itls": gaps}, "itls", _NUMBER)), tokens_in, tokens_out, cached, output, error)
        for ttft, gaps, tokens_in, tokens_out, cached, output, error in rows
    )
