"""What load tools write on a simulated host: result files in the form of their versions, and the launcher's document around them."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from typing import Any

from lab.serving.client import Timed

#: Versions that the load host has, unless a flaw says otherwise.
VERSIONS = {"vllm-bench": "0.20.1", "sglang-bench": "0.5.23", "aiperf": "0.13.0"}


#: Seconds after which a server sends the role of an answer that it has not begun.
_ROLE = 0.004


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a tool's results."""

    zero: bool = False  # a failed request stands as one that took no time and made no token, without an error
    role: bool = False  # the chat interface was asked, and a role counts as the first token
    summary: float = 0.0  # the printed throughput is larger than the requests give, by this share
    cut: bool = False  # the file ends in its middle


def tool_of(options: dict[str, Any]) -> str:
    """Which tool the launcher is told to run."""
    argv = options["argv"]
    if argv[1:3] == ["bench", "serve"]:
        return "vllm-bench"
    return "sglang-bench" if "sglang" in argv[2] else "aiperf"


def asked(options: dict[str, Any]) -> dict[str, Any]:
    """The launcher's options as those of kvgate's client: what the engines are asked is the same."""
    tool = tool_of(options)
    if tool == "aiperf":
        out = options["row"]["max_tokens"]
    else:
        out = (
            _word(options, "--sharegpt-output-len") or json.loads(_word(options, "--extra-body") or "{}")["max_tokens"]
        )
    return {
        "mode": "measure", "endpoints": [_word(options, "--base-url") or _word(options, "--url")],
        "model": "", "seed": options["seed"], "set": options["set"], "count": options["count"], "tokens": options["tokens"],
        "ids": options["ids"], "out": int(out),
        "concurrency": int(_word(options, "--max-concurrency") or _word(options, "--concurrency") or "1"), "shift": 0,
    }  # fmt: skip


def _word(options: dict[str, Any], name: str) -> str | None:
    argv: list[str] = options["argv"]
    return argv[argv.index(name) + 1] if name in argv else None


def document(
    options: dict[str, Any], clock: tuple[float, float], took: tuple[float, float], prompts: str, version: str, lag: float,
    results: dict[str, str],
) -> str:  # fmt: skip
    """The launcher's document of a tool that ended well. ``took`` are its seconds, and those by which the wall clock was set."""
    wall, monotonic = clock
    seconds, step = took
    return (
        json.dumps(
            {
                "kvgate_tool": 1,
                "python": "3.11.2",
                "options": options,
                "prompts": prompts,
                "version": version,
                "status": 0,
                "cut": False,
                "said": "",
                "ends": [[wall, monotonic], [wall + seconds + step, monotonic + seconds]],
                "cpu": {
                    "seconds": round(seconds * 0.05, 6),
                    "beats": int(seconds * 50),
                    "lag_p99": lag,
                    "lag_max": lag * 2,
                },
                "results": results,
                "complete": True,
            }
        )
        + "\n"
    )


def results(
    tool: str, run: list[Timed], began: tuple[float, float], wanted: dict[str, Any], wrong: Wrong
) -> dict[str, str]:
    """The files that the tool wrote. ``began`` are both clocks at the start of the run."""
    if tool == "vllm-bench":
        found = {"bench.json": json.dumps(_vllm(run, began[1], wanted, wrong))}
    elif tool == "aiperf":
        found = {
            "profile_export.jsonl": "".join(json.dumps(_record(n, one, began[0])) + "\n" for n, one in enumerate(run)),
            "profile_export_aiperf.json": json.dumps(_profile(run, wanted, wrong), indent=2),
        }
    else:
        found = {
            "bench.jsonl": json.dumps(_sglang(run, wanted, wrong)) + "\n",
            "sent.json": json.dumps([began[1] + one.sent for one in run]),
        }
    if wrong.cut:
        name = next(iter(found))
        found[name] = found[name][: len(found[name]) // 2]
    return found


def _gaps(one: Timed) -> list[float]:
    count = one.served.tokens_out - 1
    return [(one.last - one.first) / count] * count if count > 0 else []


@dataclass(frozen=True)
class _Columns:
    """One value a request: failed ones as the tools print them, with zeros and their error."""

    tokens_in: list[int]
    tokens_out: list[int]
    ttfts: list[float]
    itls: list[list[float]]
    texts: list[str]
    errors: list[str]


def _columns(run: list[Timed], wrong: Wrong) -> _Columns:
    good = [one.served.status == "completed" for one in run]
    return _Columns(
        [one.served.tokens_in if ok else wanted_in(run) for one, ok in zip(run, good, strict=True)],
        [one.served.tokens_out if ok else 0 for one, ok in zip(run, good, strict=True)],
        [(_ROLE if wrong.role else one.first - one.sent) if ok else 0.0 for one, ok in zip(run, good, strict=True)],
        [
            ([one.first - one.sent - _ROLE] if wrong.role else []) + _gaps(one) if ok else []
            for one, ok in zip(run, good, strict=True)
        ],
        [one.served.text if ok else "" for one, ok in zip(run, good, strict=True)],
        ["" if ok or wrong.zero else one.served.error for one, ok in zip(run, good, strict=True)],
    )


def wanted_in(run: list[Timed]) -> int:
    """Prompt tokens that a request without an answer is printed with."""
    return max(one.served.tokens_in for one in run)


def _duration(run: list[Timed]) -> float:
    return max(one.last for one in run) + 0.02


def _vllm(run: list[Timed], began: float, wanted: dict[str, Any], wrong: Wrong) -> dict[str, Any]:
    """``vllm bench serve`` 0.20.1 with --skip-tokenizer-init, --save-detailed and percentiles of the latency."""
    told, seconds = _columns(run, wrong), _duration(run)
    done = [one for one in run if one.served.status == "completed"]
    counted = len(run) if wrong.zero else len(done)
    latencies = [(one.last - one.sent) * 1000 for one in done] or [0.0]
    backend = "openai-chat" if wrong.role else "openai"
    return {
        "date": "20261129-120000", "endpoint_type": backend, "backend": backend, "label": None, "model_id": "simulated",
        "tokenizer_id": None, "num_prompts": len(run), "request_rate": "inf", "burstiness": 1.0,
        "max_concurrency": wanted["concurrency"], "duration": seconds, "completed": counted, "failed": len(run) - counted,
        "total_input_tokens": sum(told.tokens_in), "total_output_tokens": sum(told.tokens_out),
        "request_throughput": counted / seconds, "request_goodput": None,
        "output_throughput": sum(told.tokens_out) / seconds * (1 + wrong.summary),
        "total_token_throughput": (sum(told.tokens_in) + sum(told.tokens_out)) / seconds, "input_lens": told.tokens_in,
        "output_lens": told.tokens_out, "ttfts": told.ttfts, "itls": told.itls,
        "start_times": [began + one.sent for one in run], "generated_texts": told.texts, "errors": told.errors,
        "max_output_tokens_per_s": 1.0, "max_concurrent_requests": wanted["concurrency"], "rtfx": 0.0,
        "mean_e2el_ms": statistics.fmean(latencies), "median_e2el_ms": statistics.median(latencies),
        "std_e2el_ms": statistics.pstdev(latencies), "p50_e2el_ms": statistics.median(latencies),
    }  # fmt: skip


def _sglang(run: list[Timed], wanted: dict[str, Any], wrong: Wrong) -> dict[str, Any]:
    """``sglang.bench_serving`` 0.5.23 with --output-details and --cache-report."""
    told, seconds = _columns(run, wrong), _duration(run)
    done = [one for one in run if one.served.status == "completed"]
    counted = len(run) if wrong.zero else len(done)
    ttfts = [(one.first - one.sent) * 1000 for one in done] or [0.0]
    latencies = [(one.last - one.sent) * 1000 for one in done] or [0.0]
    cached = [one.served.cached or 0 for one in run]
    return {
        "tag": None, "backend": "sglang", "dataset_name": "custom", "request_rate": 1e9,
        "max_concurrency": wanted["concurrency"], "sharegpt_output_len": wanted["out"], "random_input_len": 1024,
        "random_output_len": 1024, "random_range_ratio": 0.0, "server_info": None, "duration": seconds, "completed": counted,
        "total_input_tokens": sum(told.tokens_in), "total_input_text_tokens": sum(told.tokens_in),
        "total_input_vision_tokens": 0, "total_output_tokens": sum(told.tokens_out),
        "total_output_tokens_retokenized": sum(told.tokens_out), "request_throughput": counted / seconds,
        "input_throughput": sum(told.tokens_in) / seconds,
        "output_throughput": sum(told.tokens_out) / seconds * (1 + wrong.summary),
        "total_throughput": (sum(told.tokens_in) + sum(told.tokens_out)) / seconds,
        "mean_e2e_latency_ms": statistics.fmean(latencies), "median_e2e_latency_ms": statistics.median(latencies),
        "mean_ttft_ms": statistics.fmean(ttfts), "median_ttft_ms": statistics.median(ttfts),
        "concurrency": sum(latencies) / 1000 / seconds, "accept_length": None, "max_output_tokens_per_s": 1.0,
        "max_concurrent_requests": wanted["concurrency"],
        "cache_report": {
            "total_prompt_tokens": sum(told.tokens_in), "total_cached_tokens": sum(cached), "cache_hit_rate_pct": 0.0,
            "device_cached_tokens": None, "host_cached_tokens": None, "storage_cached_tokens": None, "storage_backend": None,
        },
        "input_lens": told.tokens_in, "output_lens": told.tokens_out, "ttfts": told.ttfts, "itls": told.itls,
        "generated_texts": told.texts, "errors": told.errors, "cached_tokens": cached,
        "cached_tokens_details": [None] * len(run),
    }  # fmt: skip


def _record(number: int, one: Timed, wall: float) -> dict[str, Any]:
    """One line of ``profile_export.jsonl`` of aiperf 0.13.0."""
    served, start = one.served, round((wall + one.sent) * 1e9)
    metadata = {
        "session_num": number, "conversation_id": f"p{number}", "turn_index": 0, "credit_issued_ns": start - 100_000,
        "request_start_ns": start, "request_end_ns": round((wall + one.last) * 1e9), "worker_id": "worker_1",
        "record_processor_id": "record_processor_1", "benchmark_phase": "profiling", "was_cancelled": False,
    }  # fmt: skip
    if served.status != "completed":
        error = {"code": 500, "type": "Internal Server Error", "message": served.error}
        return {"metadata": metadata, "metrics": {"error_isl": {"value": 0, "unit": "tokens"}}, "error": error}
    metrics = {
        "time_to_first_token": ((one.first - one.sent) * 1000, "ms"), "request_latency": ((one.last - one.sent) * 1000, "ms"),
        "usage_prompt_tokens": (served.tokens_in, "tokens"), "usage_completion_tokens": (served.tokens_out, "tokens"),
        "input_sequence_length": (served.tokens_in, "tokens"), "output_sequence_length": (served.tokens_out, "tokens"),
    }  # fmt: skip
    if served.cached is not None:
        metrics["usage_prompt_cache_read_tokens"] = (served.cached, "tokens")
    return {
        "metadata": metadata,
        "metrics": {name: {"value": value, "unit": unit} for name, (value, unit) in metrics.items()},
    }


def _profile(run: list[Timed], wanted: dict[str, Any], wrong: Wrong) -> dict[str, Any]:
    """``profile_export_aiperf.json`` of aiperf 0.13.0 (schema 1.4)."""
    done = [one for one in run if one.served.status == "completed"]
    seconds = max(one.last for one in run) - min(one.sent for one in run)
    ttfts = [(one.first - one.sent) * 1000 for one in done] or [0.0]
    tokens = sum(one.served.tokens_out for one in done)
    found: dict[str, Any] = {
        "schema_version": "1.4", "aiperf_version": VERSIONS["aiperf"], "benchmark_id": "simulated",
        "request_count": {"unit": "requests", "avg": float(len(done))},
        "time_to_first_token": {"unit": "ms", "avg": statistics.fmean(ttfts), "p50": statistics.median(ttfts)},
        "output_token_throughput": {"unit": "tokens/sec", "avg": tokens / (seconds + 0.09) * (1 + wrong.summary)},
        "benchmark_duration": {"unit": "sec", "avg": seconds}, "total_output_tokens": {"unit": "tokens", "avg": float(tokens)},
        "input_config": {
            "models": {"items": [{"name": "simulated"}]},
            "endpoint": {"urls": wanted["endpoints"], "type": "completions", "streaming": True},
            "phases": [
                {
                    "name": "profiling", "kind": "profiling", "type": "concurrency", "requests": len(run),
                    "concurrency": wanted["concurrency"],
                }
            ],
        },
        "was_cancelled": False, "is_complete": True, "error_summary": [],
    }  # fmt: skip
    if failed := len(run) - len(done):
        found["error_request_count"] = {"unit": "requests", "avg": float(failed)}
        found["error_summary"] = [{"error_details": {"code": 500}, "count": failed}]
    return found
