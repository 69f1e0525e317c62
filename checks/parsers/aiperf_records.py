"""``profile_export.jsonl`` of ``aiperf profile``: one line a request, with its times and token counts.

Seen: 0.13.0. Start and end are nanoseconds of the wall clock; the durations beside them were taken on a monotonic clock, in
milliseconds. A failed request carries ``error`` and lacks the metrics it never reached. Warm-up requests stand in the file too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_documents
from checks.probe import UnreadableOutput

COMMAND = "aiperf-records"

_NUMBER = (int, float)


@dataclass(frozen=True, slots=True)
class AiperfRecord:
    """One request. What it never reached (a first token) or the server never told (cached tokens) is None."""

    session: int
    phase: str
    start_ns: int
    end_ns: int
    cancelled: bool
    ttft_ms: float | None
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cached_tokens: int | None
    error: str | None


def parse(text: str) -> tuple[AiperfRecord, ...]:
    """Read every line; a cut last line is refused."""
    if not text.endswith("\n"):
        raise UnreadableOutput("the last line has no newline, the file may be cut")
    rows = json_documents(text)
    if len(rows) != sum(bool(line.strip()) for line in text.splitlines()):
        raise UnreadableOutput("a line holds no record: the file is damaged")
    found = tuple(_record(row) for row in rows)
    if len({(one.session, one.start_ns) for one in found}) != len(found):
        raise UnreadableOutput("a request stands in the file twice")
    return found


def _record(row: Any) -> AiperfRecord:
    metadata, metrics = entry(row, "metadata", dict), entry(row, "metrics", dict)
    return AiperfRecord(
        session=entry(metadata, "session_num", int, "metadata"),
        phase=entry(metadata, "benchmark_phase", str, "metadata"),
        start_ns=entry(metadata, "request_start_ns", int, "metadata"),
        end_ns=entry(metadata, "request_end_ns", int, "metadata"),
        cancelled=entry(metadata, "was_cancelled", bool, "metadata"),
        ttft_ms=_value(metrics, "time_to_first_token", "ms"),
        latency_ms=_value(metrics, "request_latency", "ms"),
        tokens_in=_tokens(metrics, "usage_prompt_tokens", "input_sequence_length"),
        tokens_out=_tokens(metrics, "usage_completion_tokens", "output_sequence_length"),
        cached_tokens=_tokens(metrics, "usage_prompt_cache_read_tokens"),
        error=_error(row),
    )


def _error(row: Any) -> str | None:
    error = entry(row, "error", (dict, type(None))) if "error" in row else None
    if error is None:
        return None
    message = entry(error, "message", str, "error")
    code = entry(error, "code", (int, type(None)), "error") if "code" in error else None
    return (message if code is None else f"{code} {message}")[:200]


def _value(metrics: dict[str, Any], name: str, unit: str) -> float | None:
    if name not in metrics:
        return None
    if (told := entry(metrics[name], "unit", str, name)) != unit:
        raise UnreadableOutput(f"{name} is in {told!r}, wanted {unit!r}")
    return float(entry(metrics[name], "value", _NUMBER, name))


def _tokens(metrics: dict[str, Any], *names: str) -> int | None:
    """The first of these counts that is told: the server's own before the client tokenizer's."""
    for name in names:
        value = _value(metrics, name, "tokens")
        if value is not None:
            if value != int(value):
                raise UnreadableOutput(f"{name} is {value!r}, wanted a whole number")
            return int(value)
    return None
