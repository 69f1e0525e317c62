"""TTFT and throughput of a run, recomputed from its requests by the one definition of records.py; never the tool's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from checks.serving.records import Request, Run, Status
from checks.statistics.percentile import median

#: Seconds that differences of floating-point seconds since the epoch may be off.
_EPOCH = 1e-5


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run measured. Seconds, tokens, tokens a second.

    ``occupied`` is the mean number of requests under way between the first and the last sending: by Little's law the
    concurrency that was really kept. ``tail_percent`` of the window came after the last sending. ``steady_throughput``
    counts the time from the c-th sending to the last one only, each request's tokens spread evenly from first to last;
    None where fewer than two waves were sent.
    """

    ttfts: tuple[float, ...]
    ttft_p50: float
    throughput: float
    window: float
    tokens_out: int
    mean_latency: float
    occupied: float
    tail_percent: float
    steady_throughput: float | None


def figures(run: Run, concurrency: int) -> Figures:
    """Recompute a run whose requests all completed and told every time and count.

    Raises ValueError where that is not so: such a run has no figures, not figures of the rest.
    """
    spans = [_span(one) for one in run.requests]
    if not spans:
        raise ValueError("no requests")
    start, end = min(span.sent for span in spans), max(span.last for span in spans)
    last_sent = max(span.sent for span in spans)
    window = end - start
    if window <= 0:
        raise ValueError("the window is empty")
    busy = sum(min(span.last, last_sent) - span.sent for span in spans if span.sent < last_sent)
    sending = last_sent - start
    tokens = sum(span.tokens for span in spans)
    ttfts = tuple(span.ttft for span in spans)
    return Figures(
        ttfts=ttfts,
        ttft_p50=median(ttfts),
        throughput=tokens / window,
        window=window,
        tokens_out=tokens,
        mean_latency=sum(span.last - span.sent for span in spans) / len(spans),
        occupied=busy / sending if sending > 0 else float(len(spans)),
        tail_percent=(end - last_sent) / window * 100,
        steady_throughput=_steady(spans, concurrency, last_sent),
    )


@dataclass(frozen=True, slots=True)
class _Span:
    sent: float
    first: float
    last: float
    ttft: float
    tokens: int


def _span(one: Request) -> _Span:
    if one.status is not Status.COMPLETED:
        raise ValueError(f"request {one.index} is {one.status.value}")
    if one.sent is None or one.first is None or one.last is None or one.ttft is None or one.tokens_out is None:
        raise ValueError(f"request {one.index} does not tell all its times and tokens")
    told = all(math.isfinite(value) for value in (one.sent, one.first, one.last, one.ttft))
    if not (told and one.sent < one.first <= one.last and one.ttft > 0 and one.tokens_out > 0):
        raise ValueError(f"the times or tokens of request {one.index} contradict each other")
    if abs(one.first - one.sent - one.ttft) > _EPOCH:
        raise ValueError(f"the times of request {one.index} contradict each other: TTFT is not first minus sent")
    if one.latency is not None and abs(one.last - one.sent - one.latency) > _EPOCH:
        raise ValueError(f"the times of request {one.index} contradict each other: latency is not last minus sent")
    return _Span(one.sent, one.first, one.last, one.ttft, one.tokens_out)


def _steady(spans: list[_Span], concurrency: int, until: float) -> float | None:
    if len(spans) < 2 * concurrency:
        return None
    since = sorted(span.sent for span in spans)[concurrency - 1]
    if until <= since:
        return None
    return sum(_tokens_within(span, since, until) for span in spans) / (until - since)


def _tokens_within(span: _Span, since: float, until: float) -> float:
    """Tokens of one request between two instants: the first at ``first``, the others evenly up to ``last``."""
    inside = float(since < span.first <= until)
    if span.tokens > 1 and span.last > span.first:
        share = max(0.0, min(span.last, until) - max(span.first, since)) / (span.last - span.first)
        inside += share * (span.tokens - 1)
    elif span.tokens > 1 and inside:
        inside = float(span.tokens)
    return inside
