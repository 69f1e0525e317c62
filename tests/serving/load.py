"""Runs made for tests: a load of fixed concurrency whose every time is known beforehand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from checks.serving.records import Clock, Instant, Request, Run, Status
from checks.serving.validity import Planned

TOKENS = 64


def planned(concurrency: int = 8, **changes: Any) -> Planned:
    return replace(Planned(concurrency=concurrency, tokens_in=32768, tokens_out=TOKENS), **changes)


def run(
    concurrency: int = 8,
    requests: int = 80,
    ttft: float = 10.0,
    decode: float = 1.0,
    spread: float = 0.0,
    seed: int = 1,
    **changes: Any,
) -> Run:
    """``concurrency`` slots, each sending its next request the moment the last one ended."""
    rng = np.random.default_rng(seed)
    free = [100.0] * concurrency
    made = []
    for index in range(requests):
        slot = int(np.argmin(free))
        sent = free[slot]
        first = ttft * float(np.exp(rng.normal(0, spread)))
        free[slot] = sent + first + decode
        made.append(
            Request(
                index=index, status=Status.COMPLETED, sent=sent, first=sent + first, last=free[slot], ttft=first,
                latency=first + decode, tokens_in=32768, tokens_out=TOKENS, output="0" * 64,
            )
        )  # fmt: skip
    base = Run(
        tool="kvgate", timeline=Clock.MONOTONIC, stopwatch=Clock.MONOTONIC, concurrency=concurrency, begun=requests,
        requests=tuple(made), summary=None, ends=(Instant(1.79e9, 90.0), Instant(1.79e9 + 300.0, 390.0)),
    )  # fmt: skip
    return replace(base, **changes)


def changed(original: Run, index: int, **changes: Any) -> Run:
    requests = list(original.requests)
    requests[index] = replace(requests[index], **changes)
    return replace(original, requests=tuple(requests))
