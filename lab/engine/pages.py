"""Pages of metrics: names, labels and kinds as vLLM, its fs tier and LMCache's workers print them."""

from __future__ import annotations

from lab.engine.core import Engine
from lab.engine.counts import Counts

_TIER = "1:fs"


def _lines(name: str, kind: str, rows: list[tuple[str, float]]) -> list[str]:
    base = name.removesuffix("_total")
    shown = base if kind == "counter" else name
    return [f"# HELP {shown} {shown.partition(':')[2]}.", f"# TYPE {shown} {kind}"] + [
        f"{name}{{{labels}}} {float(value)!r}" for labels, value in rows
    ]


def engine(one: Engine) -> str:
    """Return the page of the engine's own port."""
    counts, label = one.shown, f'engine="0",model_name="{one.shape.model}"'
    external = counts.host + counts.store
    table: list[tuple[str, str, list[tuple[str, float]]]] = [
        ("vllm:num_requests_running", "gauge", [(label, 0)]),
        ("vllm:num_preemptions_total", "counter", [(label, counts.preempted)]),
        ("vllm:prompt_tokens_total", "counter", [(label, counts.prompt)]),
        ("vllm:generation_tokens_total", "counter", [(label, counts.generated)]),
        ("vllm:prompt_tokens_cached_total", "counter", [(label, counts.device + external)]),
        ("vllm:prefix_cache_queries_total", "counter", [(label, counts.prompt)]),
        ("vllm:prefix_cache_hits_total", "counter", [(label, counts.device)]),
        ("vllm:external_prefix_cache_queries_total", "counter", [(label, counts.prompt - counts.device)]),
        ("vllm:external_prefix_cache_hits_total", "counter", [(label, external)]),
        ("vllm:request_success_total", "counter", [
            (f'engine="0",finished_reason="{why}",model_name="{one.shape.model}"', value)
            for why, value in (("stop", 0), ("length", counts.requests), ("abort", counts.aborted))
        ]),
    ]  # fmt: skip
    if not one.knobs.no_sources:
        table.append(("vllm:prompt_tokens_by_source_total", "counter", [
            (f'{label},source="{source}"', value) for source, value in
            (("local_compute", counts.computed), ("local_cache_hit", counts.device), ("external_kv_transfer", external))
        ]))  # fmt: skip
    if one.shape.kind == "vllm-fs":
        table += _tiering(counts, label)
    lines = [line for name, kind, rows in table for line in _lines(name, kind, rows)]
    for name, value in (("time_to_first_token_seconds", counts.ttft), ("request_queue_time_seconds", counts.queued)):
        lines += [
            f"# TYPE vllm:{name} histogram",
            f'vllm:{name}_bucket{{{label},le="+Inf"}} {float(counts.requests)!r}',
        ]
        lines += [f"vllm:{name}_count{{{label}}} {float(counts.requests)!r}", f"vllm:{name}_sum{{{label}}} {value!r}"]
    lines += [f"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {counts.created!r}"]
    return "\n".join(lines) + "\n"


def _tiering(counts: Counts, label: str) -> list[tuple[str, str, list[tuple[str, float]]]]:
    """Return what vLLM's own tiers add; its failure counters are printed from the first failure on."""
    tier = f'{label},tier="{_TIER}"'
    rows: list[tuple[str, str, list[tuple[str, float]]]] = [
        ("vllm:prompt_tokens_cached_by_source_total", "counter", [
            (f'{label},source="{source}"', value)
            for source, value in (("device", counts.device), ("host", counts.host), ("disk", counts.store), ("p2p", 0))
        ]),
        ("vllm:kv_offload_tiering_read_bytes_total", "counter", [(tier, counts.read_bytes)]),
        ("vllm:kv_offload_tiering_write_bytes_total", "counter", [(tier, counts.written_bytes)]),
    ]  # fmt: skip
    if counts.load_failures:
        rows.append(("vllm:kv_offload_tiering_promotion_job_failures_total", "counter", [(tier, counts.load_failures)]))
    if counts.store_failures:
        rows.append(("vllm:kv_offload_tiering_cascade_job_failures_total", "counter", [(tier, counts.store_failures)]))
    return rows


def worker(one: Engine, rank: int) -> str:
    """Return the page of one worker of LMCache; tokens are the prompt's, bytes this rank's."""
    counts, ranks = one.shown, one.shape.ranks
    label = f'model_name="{one.shape.model}",role="worker",worker_id="{rank}"'
    table: list[tuple[str, str, float]] = [
        ("lmcache:num_requested_tokens_total", "counter", counts.requested),
        ("lmcache:num_hit_tokens_total", "counter", counts.hits),
        ("lmcache:num_stored_tokens_total", "counter", counts.stored),
        ("lmcache:num_lookup_tokens_total", "counter", counts.requested),
        ("lmcache:num_lookup_hits_total", "counter", counts.hits),
        ("lmcache:num_vllm_hit_tokens_total", "counter", counts.device),
        ("lmcache:lookup_0_hit_requests_total", "counter", counts.lookups_without),
        ("lmcache:num_remote_read_requests_total", "counter", counts.read_files // ranks),
        ("lmcache:num_remote_read_bytes_total", "counter", counts.read_bytes // ranks),
        ("lmcache:num_remote_write_bytes_total", "counter", counts.written_bytes // ranks),
        ("lmcache:remote_put_task_num", "gauge", 0),
        ("lmcache:local_cpu_hot_cache_count", "gauge", counts.hot),
        ("lmcache:lmcache_is_healthy", "gauge", 0 if one.knobs.unhealthy else 1),
    ]
    if not one.knobs.failures_untold:
        table += [
            ("lmcache:get_blocking_failed_count", "gauge", counts.load_failures),
            ("lmcache:put_failed_count", "gauge", counts.store_failures),
        ]
    return "\n".join(line for name, kind, value in table for line in _lines(name, kind, [(label, value)])) + "\n"
