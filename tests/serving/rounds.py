"""Rounds made for tests: pairs of valid cells whose true ratio is known."""

from __future__ import annotations

from functools import cache

from checks.phrase import say
from checks.serving.cells import Cell, Pair, Rules, cell
from checks.serving.figures import Figures
from tests.serving.load import planned, run

RULES = Rules(seed=20261129)
BAD = Cell(None, (say("3 preemptions"),))


@cache
def pairs(
    ttft: float = 0.70, throughput: float | None = None, rounds: int = 5, spread: float = 0.05, drift: float = 0.0
) -> tuple[Pair, ...]:
    """Local TTFT p50 about 10 s; the array's is ``ttft`` times that. ``throughput`` replaces the array's by that ratio."""
    found = []
    for number in range(1, rounds + 1):
        base = 10.0 * (1 + drift * number)
        local = cell(run(requests=160, ttft=base, spread=spread, seed=number), planned())
        array = cell(run(requests=160, ttft=base * ttft, spread=spread, seed=1000 + number), planned())
        if throughput is not None and local.figures is not None and array.figures is not None:
            array = with_throughput(array.figures, local.figures.throughput * throughput)
        found.append(Pair(number, local, array))
    return tuple(found)


def with_throughput(figures: Figures, throughput: float) -> Cell:
    window = figures.tokens_out / throughput
    made = Figures(
        ttfts=figures.ttfts, ttft_p50=figures.ttft_p50, throughput=throughput, window=window,
        tokens_out=figures.tokens_out, mean_latency=figures.mean_latency, occupied=figures.occupied,
        tail_percent=figures.tail_percent, steady_throughput=figures.steady_throughput,
    )  # fmt: skip
    return Cell(made, ())
