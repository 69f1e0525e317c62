"""``profile_export_aiperf.json`` of ``aiperf profile``: the tool's own figures, and whether the run came to its end.

Seen: 0.13.0 (schema 1.4). Percentiles are linear; a metric without values is absent. The figures do not say which requests
made them: they are only compared with those recomputed from ``profile_export.jsonl``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "aiperf-summary"

_NUMBER = (int, float)


@dataclass(frozen=True, slots=True)
class AiperfSummary:
    """What the tool printed. ``failed`` is None when it counted no failures; ``concurrency`` when the load had no such limit."""

    version: str
    schema: str
    endpoint: str
    streaming: bool
    concurrency: int | None
    complete: bool
    cancelled: bool
    completed: int
    failed: int | None
    errors: int
    ttft_p50_ms: float
    output_throughput: float
    duration_s: float
    total_output: int


def parse(text: str) -> AiperfSummary:
    """Read the one document, or raise UnreadableOutput."""
    table = json_document(text)
    config = entry(table, "input_config", dict)
    endpoint = entry(config, "endpoint", dict, "input_config")
    return AiperfSummary(
        version=entry(table, "aiperf_version", str),
        schema=entry(table, "schema_version", str),
        endpoint=entry(endpoint, "type", str, "endpoint"),
        streaming=entry(endpoint, "streaming", bool, "endpoint"),
        concurrency=_concurrency(config),
        complete=entry(table, "is_complete", bool),
        cancelled=entry(table, "was_cancelled", bool),
        completed=_whole(table, "request_count", "requests"),
        failed=_whole(table, "error_request_count", "requests") if "error_request_count" in table else None,
        errors=len(entry(table, "error_summary", list)),
        ttft_p50_ms=_figure(table, "time_to_first_token", "ms", "p50"),
        output_throughput=_figure(table, "output_token_throughput", "tokens/sec", "avg"),
        duration_s=_figure(table, "benchmark_duration", "sec", "avg"),
        total_output=_whole(table, "total_output_tokens", "tokens"),
    )


def _concurrency(config: dict[str, Any]) -> int | None:
    """Concurrency of the one profiling phase; several phases have no one concurrency and are refused."""
    phases = [
        phase
        for phase in entry(config, "phases", list, "input_config")
        if entry(phase, "kind", str, "phase") == "profiling"
    ]
    if len(phases) != 1:
        raise UnreadableOutput(f"{len(phases)} profiling phases, wanted one")
    return entry(phases[0], "concurrency", int, "phase") if "concurrency" in phases[0] else None


def _figure(table: Any, name: str, unit: str, key: str) -> float:
    metric = entry(table, name, dict)
    if (told := entry(metric, "unit", str, name)) != unit:
        raise UnreadableOutput(f"{name} is in {told!r}, wanted {unit!r}")
    return float(entry(metric, key, _NUMBER, name))


def _whole(table: Any, name: str, unit: str) -> int:
    value = _figure(table, name, unit, "avg")
    if value != int(value):
        raise UnreadableOutput(f"{name} is {value!r}, wanted a whole number")
    return int(value)
