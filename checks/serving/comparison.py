"""What the rounds of one concurrency come to: ratio of each, geometric mean, interval, and whether more rounds are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.serving.cells import Cell, Pair, Rules
from checks.serving.figures import Figures
from checks.statistics.paired import (
    Interval,
    Samples,
    geometric_mean,
    median_ratios,
    rounds_wanted,
    student_interval,
    two_level_bootstrap,
)
from checks.statistics.percentile import median


@dataclass(frozen=True, slots=True)
class Comparison:
    """Array over local. ``pooled`` is the ratio of all rounds thrown together, for information; it decides nothing.

    ``local`` and ``array`` are medians over the rounds, in the unit of the figure.
    """

    ratios: tuple[float, ...]
    ratio: float
    interval: Interval
    pooled: float
    local: float
    array: float

    @property
    def width_points(self) -> float:
        """Width of the interval in percentage points."""
        return (self.interval.high - self.interval.low) * 100


def ttft(pairs: Sequence[Pair], rules: Rules) -> Comparison:
    """Compare TTFT p50 of valid pairs. Raises ValueError for an invalid cell or fewer than two rounds."""
    rounds = [(_figures(pair.local), _figures(pair.array)) for pair in pairs]
    samples = [Samples(local.ttfts, array.ttfts) for local, array in rounds]
    ratios = median_ratios(samples)
    pooled = median([v for one in samples for v in one.array]) / median([v for one in samples for v in one.local])
    return Comparison(
        ratios=ratios,
        ratio=geometric_mean(ratios),
        interval=two_level_bootstrap(samples, rules.seed, rules.resamples),
        pooled=pooled,
        local=median([local.ttft_p50 for local, _ in rounds]),
        array=median([array.ttft_p50 for _, array in rounds]),
    )


def throughput(pairs: Sequence[Pair], rules: Rules) -> Comparison:
    """Compare throughput of valid pairs, one value a round. Raises as :func:`ttft`."""
    rounds = [(_figures(pair.local), _figures(pair.array)) for pair in pairs]
    ratios = tuple(array.throughput / local.throughput for local, array in rounds)
    whole = [sum(one.tokens_out for one in arm) / sum(one.window for one in arm) for arm in zip(*rounds, strict=True)]
    return Comparison(
        ratios=ratios,
        ratio=geometric_mean(ratios),
        interval=student_interval(ratios),
        pooled=whole[1] / whole[0],
        local=median([local.throughput for local, _ in rounds]),
        array=median([array.throughput for _, array in rounds]),
    )


def _figures(cell: Cell) -> Figures:
    if cell.figures is None:
        raise ValueError("an invalid cell has no figures to compare")
    return cell.figures


def more_rounds(comparisons: Sequence[Comparison], rules: Rules, done: int, budget: int) -> int:
    """How many further rounds the widest of these intervals asks for; 0 when all are narrow enough or the budget is spent.

    Only the width decides, never the ratio: rounds that are added until a ratio pleases prove nothing.
    """
    wanted = max((rounds_wanted(one.width_points, rules.width_points, done) for one in comparisons), default=0)
    return max(0, min(max(wanted, rules.rounds), budget) - done)
