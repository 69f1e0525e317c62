"""Tokens by source from two scrapes: a real server's tiers told apart, restarts noticed, absence never zero."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.parsers import prometheus
from checks.parsers.prometheus import Metrics, Sample
from checks.serving.sources import Sources, hicache, lmcache_failures, lmcache_hits, restarted, rise, sglang, vllm

DATA = Path(__file__).parent.parent / "parsers" / "prometheus"
VLLM = prometheus.parse((DATA / "vllm-0.32--after-disk-hit.txt").read_text("utf-8"))
SGLANG = prometheus.parse((DATA / "sglang-0.5.23--storage-hits.txt").read_text("utf-8"))


def at_start(metrics: Metrics) -> Metrics:
    """The same process before its first request: every counter at 0, created when it was."""
    return Metrics(
        tuple(replace(one, value=one.value if one.name.endswith("_created") else 0.0) for one in metrics.samples)
    )


def without(metrics: Metrics, *words: str) -> Metrics:
    return Metrics(tuple(s for s in metrics.samples if not any(word in f"{s.name}{dict(s.labels)}" for word in words)))


def test_the_tiers_of_a_real_server_are_told_apart() -> None:
    found = vllm(at_start(VLLM), VLLM)
    assert found == Sources(prompt=52100, computed=16388, device=11904, host=11904, store=11904, preemptions=0)
    assert found.computed + found.device + found.host + found.store == found.prompt  # type: ignore[operator]


def test_an_older_vllm_does_not_tell_memory_from_disk() -> None:
    old = without(VLLM, "cached_by_source")
    found = vllm(at_start(old), old)
    assert (found.host, found.store) == (None, 23808)


def test_nothing_that_rose_is_zero_and_nothing_that_is_absent() -> None:
    assert vllm(VLLM, VLLM) == Sources(0, 0, 0, 0, 0, 0)
    bare = Metrics((Sample("process_start_time_seconds", (), 1.0),))
    assert vllm(bare, bare) == Sources(None, None, None, None, None, None)
    assert sglang(bare, bare) == Sources(None, None, None, None, None, None)


def test_a_server_that_restarted_in_between_tells_nothing() -> None:
    anew = Metrics(tuple(replace(s, value=s.value + 60) if s.name.endswith("_created") else s for s in VLLM.samples))
    assert restarted(VLLM, anew)
    assert vllm(VLLM, anew).prompt is None
    back = at_start(without(VLLM, "_created"))
    assert restarted(without(VLLM, "_created"), back)
    assert rise(VLLM, back, "vllm:prompt_tokens_total") is None
    assert not restarted(at_start(VLLM), VLLM)


def test_two_scrapes_of_different_servers_have_nothing_in_common() -> None:
    assert rise(SGLANG, VLLM, "vllm:prompt_tokens_total") is None


def test_labels_that_appear_rose_from_nothing_and_labels_that_vanish_are_lost() -> None:
    before = without(at_start(VLLM), "'source': 'disk'")
    assert rise(before, VLLM, "vllm:prompt_tokens_cached_by_source_total", source="disk") == 11904
    assert rise(VLLM, without(VLLM, "'source': 'disk'"), "vllm:prompt_tokens_cached_by_source_total") is None


def test_sglangs_sources_add_up_to_its_prompts() -> None:
    found = sglang(at_start(SGLANG), SGLANG)
    assert found == Sources(prompt=131072, computed=192, device=64, host=0, store=130816, preemptions=0)
    fresh = without(at_start(SGLANG), "cached_tokens")
    assert sglang(fresh, SGLANG) == found


def test_sglang_that_does_not_tell_its_sources_apart_tells_none() -> None:
    total = Sample("sglang:cached_tokens_total", (("cache_source", "total"), ("model_name", "m")), 64.0)
    mixed = Metrics((*SGLANG.samples, total))
    found = sglang(at_start(mixed), mixed)
    assert (found.computed, found.device, found.host, found.store) == (None, None, None, None)
    assert found.prompt == 131072


def test_sglangs_storage_is_found_under_the_name_of_its_backend_too() -> None:
    named = Metrics(
        tuple(
            Sample(one.name, tuple((k, "storage_file" if v == "storage" else v) for k, v in one.labels), one.value)
            for one in SGLANG.samples
        )
    )
    assert sglang(at_start(named), named) == sglang(at_start(SGLANG), SGLANG)


def counted(**values: float) -> Metrics:
    named = (Sample(f"sglang:{name}_total", (), value) for name, value in values.items())
    return Metrics((Sample("sglang:prompt_tokens_total", (), 1.0), *named))


def test_hicaches_failures_are_none_only_where_its_storage_is_counted_at_all() -> None:
    start = counted()
    assert hicache(start, counted(storage_prefetch_hit_tokens=512.0)) == (512, 0)
    lost = counted(storage_prefetch_hit_tokens=512.0, hicache_backup_dropped_tokens=64.0)
    assert hicache(start, lost) == (512, 64)
    late = counted(storage_prefetch_hit_tokens=512.0, storage_prefetch_unfulfilled_tokens=256.0)
    assert hicache(start, late) == (512, 256)
    assert hicache(start, start) == (None, None)


def worker(hits: float, failed: float | None = 0.0) -> Metrics:
    samples = [Sample("lmcache:num_hit_tokens_total", (), hits), Sample("lmcache:put_failed_count", (), 0.0)]
    if failed is not None:
        samples.append(Sample("lmcache:get_blocking_failed_count", (), failed))
    return Metrics(tuple(samples))


@pytest.mark.parametrize(
    "hits, expected, told",
    [((512, 512), 2, 512), ((512, 256), 2, 256), ((512,), 2, None), ((512, 512, 512), 2, None), ((), 0, None)],
)
def test_lmcaches_workers_hit_what_the_least_of_them_hit(
    hits: tuple[int, ...], expected: int, told: int | None
) -> None:
    workers = [(worker(0), worker(hit)) for hit in hits]
    assert lmcache_hits(workers, expected) == told


def test_a_failure_on_one_worker_is_a_failure_and_a_silent_worker_is_not_none() -> None:
    good, bad = (worker(0), worker(5)), (worker(0), worker(5, failed=2.0))
    assert lmcache_failures([good, good], 2) == 0
    assert lmcache_failures([good, bad], 2) == 2
    assert lmcache_failures([good], 2) is None
    assert lmcache_failures([good, (worker(0), worker(5, failed=None))], 2) is None
