"""``vllm bench serve --save-result --save-detailed``: what every request took, and the tool's own summary beside it.

Seen: the shape of 0.20.1 (no ``latencies``) and 0.32 (``latencies``, ``queue_times``). Times of requests are seconds of the
client's monotonic clock; the summary is in milliseconds. A failed request stands in every array with 0.0 and 0 tokens: those
are no measurements. ``median_ttft_ms`` and its like are absent with ``--skip-tokenizer-init``, ``median_e2el_ms`` without
``--percentile-metrics``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import array, entry, json_documents
from checks.probe import UnreadableOutput

COMMAND = "vllm-bench-serve"

_NUMBER = (int, float)
#: What only --save-detailed writes and a recomputation cannot do without.
_DETAILS = ("input_lens", "output_lens", "ttfts", "itls", "errors")


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """One request; times in seconds. ``start_s``, ``latency_s`` and ``queue_s`` are None where this version wrote none."""

    start_s: float | None
    ttft_s: float
    latency_s: float | None
    queue_s: float | None
    gaps_s: tuple[float, ...]
    tokens_in: int
    tokens_out: int
    text: str | None
    error: str


@dataclass(frozen=True, slots=True)
class VllmBench:
    """One run. ``concurrency`` is None when the client set no limit; a median when it printed none."""

    backend: str
    model: str
    prompts: int
    concurrency: int | None
    duration_s: float
    completed: int
    failed: int | None
    total_output: int
    output_throughput: float
    median_ttft_ms: float | None
    median_latency_ms: float | None
    requests: tuple[BenchRequest, ...]


def parse(text: str) -> VllmBench:
    """Read the one result of the file, or raise UnreadableOutput."""
    documents = json_documents(text)
    if len(documents) != 1:
        raise UnreadableOutput(
            f"{len(documents)} results in one file: which run is meant cannot be told; write each to a file of its own"
        )
    table = documents[0]
    if missing := [key for key in _DETAILS if not isinstance(table, dict) or key not in table]:
        raise UnreadableOutput(
            f"no {missing[0]!r}: run it with --save-result --save-detailed, which keeps every request"
        )
    prompts = entry(table, "num_prompts", int)
    return VllmBench(
        backend=entry(table, "backend" if "backend" in table else "endpoint_type", str),
        model=entry(table, "model_id", str),
        prompts=prompts,
        concurrency=entry(table, "max_concurrency", (int, type(None))),
        duration_s=float(entry(table, "duration", _NUMBER)),
        completed=entry(table, "completed", int),
        failed=entry(table, "failed", int) if "failed" in table else None,
        total_output=entry(table, "total_output_tokens", int),
        output_throughput=float(entry(table, "output_throughput", _NUMBER)),
        median_ttft_ms=_maybe(table, "median_ttft_ms"),
        median_latency_ms=_maybe(table, "median_e2el_ms"),
        requests=_requests(table, prompts),
    )


def _maybe(table: Any, key: str) -> float | None:
    return float(entry(table, key, _NUMBER)) if key in table else None


def _requests(table: Any, prompts: int) -> tuple[BenchRequest, ...]:
    def column(key: str, kind: type | tuple[type, ...], optional: bool = False) -> list[Any]:
        if optional and key not in table:
            return [None] * prompts
        return array(table, key, kind, prompts)

    rows = zip(
        column("start_times", _NUMBER, optional=True),
        column("ttfts", _NUMBER),
        column("latencies", _NUMBER, optional=True),
        column("queue_times", _NUMBER, optional=True),
        column("itls", list),
        column("input_lens", int),
        column("output_lens", int),
        column("generated_texts", str, optional=True),
        column("errors", str),
        strict=True,
    )
    return tuple(
        BenchRequest(
            start_s=start,
            ttft_s=ttft,
            latency_s=latency,
            queue_s=queue,
            gaps_s=tuple(array({"itls": gaps}, "itls", _NUMBER)),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            text=output,
            error=error,
        )
        for start, ttft, latency, queue, gaps, tokens_in, tokens_out, output, error in rows
    )
