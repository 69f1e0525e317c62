"""Results that a load tool wrote elsewhere, read to records: to be looked at, never to decide a gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from checks.parsers import (
    aiperf_records,
    aiperf_summary,
    guidellm,
    kvgate_client,
    sglang_bench_serving,
    vllm_bench_serve,
)
from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput
from checks.serving import readings
from checks.serving.records import Run
from checks.serving.tools import TOOLS, is_known, unknown
from checks.serving.validity import Planned

_GUIDELLM = ("0.8",)


def _own(texts: Sequence[str]) -> Run:
    return readings.from_client(kvgate_client.parse(texts[0]))


def _vllm(texts: Sequence[str]) -> Run:
    return readings.from_vllm(vllm_bench_serve.parse(texts[0]))


def _sglang(texts: Sequence[str]) -> Run:
    return readings.from_sglang(sglang_bench_serving.parse(texts[0]))


def _aiperf(texts: Sequence[str]) -> Run:
    summary = aiperf_summary.parse(texts[1])
    run = readings.from_aiperf(aiperf_records.parse(texts[0]), summary)
    return _of(run, summary.version, TOOLS["aiperf"].known)


def _guidellm(texts: Sequence[str]) -> Run:
    found = guidellm.parse(texts[0])
    if len(found.benchmarks) != 1:
        raise UnreadableOutput(f"{len(found.benchmarks)} benchmarks in one file, wanted one: a sweep is no cell")
    return _of(readings.from_guidellm(found.benchmarks[0]), found.version, _GUIDELLM)


def _of(run: Run, version: str, known: tuple[str, ...]) -> Run:
    if is_known(known, version):
        return run
    return replace(run, objections=(*run.objections, unknown(run.tool, version, known)))


#: What a result can tell in no version of its tool.
UNTOLD: dict[str, tuple[Phrase, ...]] = {
    **{name: tool.untold for name, tool in TOOLS.items()},
    "guidellm": (say("requests that were under way at its end"),),
}

#: Tool -> what it writes, one name a file, and how these are read.
READ: dict[str, tuple[tuple[str, ...], Callable[[Sequence[str]], Run]]] = {
    "own": (("document",), _own),
    "vllm-bench": (TOOLS["vllm-bench"].results, _vllm),
    "sglang-bench": (TOOLS["sglang-bench"].results[:1], _sglang),
    "aiperf": (TOOLS["aiperf"].results, _aiperf),
    "guidellm": (("benchmarks.json",), _guidellm),
}


def as_found(run: Run) -> Planned:
    """What such a run would have been planned as: its own concurrency, and the lengths that most of its requests have."""
    tokens_in = Counter(one.tokens_in for one in run.requests if one.tokens_in is not None)
    tokens_out = Counter(one.tokens_out for one in run.requests if one.tokens_out is not None)
    return Planned(
        concurrency=run.concurrency or 1,
        tokens_in=tokens_in.most_common(1)[0][0] if tokens_in else 0,
        tokens_out=tokens_out.most_common(1)[0][0] if tokens_out else 0,
    )
