"""Pages of metrics as vLLM 0.20, LMCache's workers and SGLang 0.5.23 print them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counters:
    """What one engine has counted since it was started; ``start`` tells one start from another."""

    start: int = 0
    prompt: int = 0
    computed: int = 0
    device: int = 0
    store: int = 0
    dram: int = 0
    preempted: int = 0
    failed_loads: int = 0
    failed_stores: int = 0


def engine(found: Counters) -> str:
    """The engine's own page."""
    label = 'engine="0",model_name="Qwen3-Coder-480B-A35B-Instruct-FP8"'
    rows = [
        ("vllm:prompt_tokens_total", "", found.prompt),
        ("vllm:prompt_tokens_by_source_total", "local_compute", found.computed),
        ("vllm:prompt_tokens_by_source_total", "local_cache_hit", found.device),
        ("vllm:prompt_tokens_by_source_total", "external_kv_transfer", found.store + found.dram),
        ("vllm:num_preemptions_total", "", found.preempted),
    ]
    created = f"vllm:prompt_tokens_created{{{label}}} {1.79e9 + found.start}\n"
    text = ["# TYPE vllm:prompt_tokens_created gauge\n", created]
    for name, source, value in rows:
        family = f"# TYPE {name.removesuffix('_total')} counter\n"
        more = f',source="{source}"' if source else ""
        text += [*([family] if family not in text else []), f"{name}{{{label}{more}}} {float(value)}\n"]
    return "".join(text)


def worker(found: Counters, rank: int, shown: int) -> str:
    """The page of one of LMCache's workers. ``shown`` are the tokens that this worker says it hit."""
    label = f'worker_id="{rank}",role="worker"'
    rows = (
        ("counter", "lmcache:num_hit_tokens", "_total", shown),
        ("gauge", "lmcache:local_cpu_hot_cache_count", "", found.dram),
        ("gauge", "lmcache:get_blocking_failed_count", "", found.failed_loads),
        ("gauge", "lmcache:put_failed_count", "", found.failed_stores),
        ("counter", "lmcache:num_lookup_tokens", "_total", found.prompt),
    )
    return "".join(
        f"# HELP {name} .\n# TYPE {name} {kind}\n{name}{end}{{{label}}} {float(value)}\n"
        for kind, name, end, value in rows
    )


def sglang(found: Counters, *, total: bool = False, storage: bool = True) -> str:
    """SGLang's one page. What it counts by source, and of its storage, is printed from the first token on.

    ``total``: it does not tell sources apart; ``storage``: it counts what its storage does.
    """
    label = 'model_name="Qwen3-Coder-480B-A35B-Instruct-FP8"'
    rows = [("prompt_tokens", "", found.prompt), ("num_retracted_requests", "", found.preempted)]
    if total:
        parts = [("total", found.device + found.dram + found.store)]
    else:
        parts = [("device", found.device), ("host", found.dram), ("storage", found.store)]
    rows += [("cached_tokens", f',cache_source="{source}"', value) for source, value in parts if value]
    if storage and found.store:
        rows.append(("storage_prefetch_hit_tokens", "", found.store))
    if storage and found.failed_loads:
        rows.append(("storage_prefetch_unfulfilled_tokens", ',reason="storage_transfer"', found.failed_loads * 64))
    text = []
    for name, more, value in rows:
        family = f"# TYPE sglang:{name}_total counter\n"
        text += [*([family] if family not in text else []), f"sglang:{name}_total{{{label}{more}}} {float(value)}\n"]
    return "".join(text)
