"""Where prompt tokens came from, by counters of engine and store read before and after a window. Nothing absent becomes zero.

vLLM's ``prompt_tokens_by_source_total`` knows only *external*: host memory of a tiering connector counts there like its disk. The
newer ``prompt_tokens_cached_by_source_total`` tells device, host and disk apart; without it tokens from DRAM are not told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from checks.parsers.prometheus import Metrics, Sample


@dataclass(frozen=True, slots=True)
class Sources:
    """Tokens by source over a window, as :class:`checks.serving.reconciliation.Traffic` takes them; None: not told."""

    prompt: int | None
    computed: int | None
    device: int | None
    host: int | None
    store: int | None
    preemptions: int | None


def restarted(before: Metrics, after: Metrics) -> bool:
    """Whether the process is another one: a counter was created anew, or went back."""
    first = {(one.name, one.labels): one.value for one in before.samples}
    for one in after.samples:
        old = first.get((one.name, one.labels))
        if old is None:
            continue
        if one.name.endswith("_created") and one.value != old:
            return True
        if one.name.endswith("_total") and one.value < old:
            return True
    return False


def rise(before: Metrics, after: Metrics, name: str, **labels: str) -> int | None:
    """By how much the numbers of this name and labels rose together; None when there is none, or one went back or away.

    Labels that appear within the window rose from 0, as counters of a process that kept running do; both scrapes must show
    that it did.
    """
    first, second = _chosen(before, name, labels), _chosen(after, name, labels)
    known = {(one.name, one.labels) for one in before.samples}
    same = any((one.name, one.labels) in known for one in after.samples)
    if not second or not same or restarted(before, after):
        return None
    change = sum(one.value for one in second) - sum(one.value for one in first)
    gone = {one.labels for one in first} - {one.labels for one in second}
    return None if change < 0 or gone else round(change)


def _chosen(metrics: Metrics, name: str, labels: dict[str, str]) -> list[Sample]:
    return [one for one in metrics.samples if one.name == name and labels.items() <= dict(one.labels).items()]


def vllm(before: Metrics, after: Metrics) -> Sources:
    """Tokens by source of one vLLM server."""

    def up(name: str, **labels: str) -> int | None:
        return rise(before, after, f"vllm:{name}_total", **labels)

    by_tier = up("prompt_tokens_cached_by_source", source="disk") is not None
    external = up("prompt_tokens_by_source", source="external_kv_transfer")
    return Sources(
        prompt=up("prompt_tokens"),
        computed=up("prompt_tokens_by_source", source="local_compute"),
        device=up("prompt_tokens_by_source", source="local_cache_hit"),
        host=up("prompt_tokens_cached_by_source", source="host") if by_tier else None,
        store=up("prompt_tokens_cached_by_source", source="disk") if by_tier else external,
        preemptions=up("num_preemptions"),
    )


#: What HiCache counts of tokens that did not reach the storage, or were found there and not loaded; printed from the first on.
_HICACHE = (
    "sglang:hicache_backup_dropped_tokens_total", "sglang:storage_prefetch_unfulfilled_tokens_total",
    "sglang:hicache_prefetch_aux_alloc_failed_tokens_total",
)  # fmt: skip


def sglang(before: Metrics, after: Metrics) -> Sources:
    """Tokens by source of one SGLang server with HiCache; what no source counts was computed.

    A source is printed from its first token on. One that is absent rose by nothing only if another one is there, which
    shows that the server tells them apart. Older versions name the backend behind the storage: ``storage_file``.
    """

    def up(name: str, **labels: str) -> int | None:
        return rise(before, after, f"sglang:{name}_total", **labels)

    seen = {
        dict(one.labels).get("cache_source", "") for one in after.samples if one.name == "sglang:cached_tokens_total"
    }
    backends = sorted(source for source in seen if source.startswith("storage"))
    parts = {source: up("cached_tokens", cache_source=source) for source in ("device", "host")}
    stored = [up("cached_tokens", cache_source=source) for source in backends]
    parts["storage"] = None if not stored or None in stored else sum(one for one in stored if one is not None)
    apart = any(part is not None for part in parts.values()) and not up("cached_tokens", cache_source="total")
    lost = None in stored
    told = {source: (part or 0) if apart and not lost else None for source, part in parts.items()}
    prompt = up("prompt_tokens")
    cached = sum(part for part in told.values() if part is not None)
    return Sources(
        prompt=prompt,
        computed=None if prompt is None or not apart or lost else prompt - cached,
        device=told["device"],
        host=told["host"],
        store=told["storage"],
        preemptions=up("num_retracted_requests"),
    )


def hicache(before: Metrics, after: Metrics) -> tuple[int | None, int | None]:
    """Tokens that HiCache's own counters found in its storage, and tokens that it dropped or could not load.

    A counter of failures that is absent is none only where the storage's other counters are there: with metrics of the
    storage switched off nothing is told.
    """
    own = rise(before, after, "sglang:storage_prefetch_hit_tokens_total")
    if own is None:
        return None, None
    known = {one.name for one in after.samples}
    parts = [rise(before, after, name) for name in _HICACHE if name in known]
    return own, None if None in parts else sum(part for part in parts if part is not None)


def lmcache_hits(workers: Sequence[tuple[Metrics, Metrics]], expected: int) -> int | None:
    """Tokens that LMCache's workers say they hit, per token and not per rank: the least of them, as its lookup takes it.

    ``expected`` workers must answer: one that does not may be the one that missed. None then.
    """
    return _of_workers(workers, expected, "lmcache:num_hit_tokens_total", min)


def lmcache_failures(workers: Sequence[tuple[Metrics, Metrics]], expected: int) -> int | None:
    """Loads and stores that failed on all workers; None unless every worker tells both counts."""
    parts = [
        _of_workers(workers, expected, name, sum)
        for name in ("lmcache:get_blocking_failed_count", "lmcache:put_failed_count")
    ]
    return None if None in parts else sum(part for part in parts if part is not None)


def _of_workers(
    workers: Sequence[tuple[Metrics, Metrics]], expected: int, name: str, join: Callable[[list[int]], int]
) -> int | None:
    risen = [rise(before, after, name) for before, after in workers]
    told = [one for one in risen if one is not None]
    return join(told) if len(told) == len(risen) == expected and expected > 0 else None
