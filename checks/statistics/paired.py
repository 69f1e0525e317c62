"""Two arms measured in the same rounds: ratio of each round, their geometric mean, and how far it can be trusted.

Ratios are array over local; a ratio of 0.74 is a drop of 26 %, a ratio of 1.29 a gain of 29 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checks.statistics.percentile import finite, median

#: Resamples below this make the ends of a 95 % interval themselves noise (Davison and Hinkley 1997, 2.5.2).
FEWEST_RESAMPLES = 9_999


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval of a ratio at ``level`` (0.95), how it was made, and the seed that makes it again (None: no chance in it)."""

    low: float
    high: float
    level: float
    method: str
    seed: int | None = None
    resamples: int | None = None


@dataclass(frozen=True, slots=True)
class Samples:
    """One round: what every request took on each arm, in one unit."""

    local: tuple[float, ...]
    array: tuple[float, ...]


def geometric_mean(ratios: Sequence[float]) -> float:
    """Geometric mean of positive ratios. Raises ValueError for none or one that is not positive."""
    data = finite(ratios)
    if (data <= 0).any():
        raise ValueError("a ratio must be positive")
    return float(np.exp(np.mean(np.log(data))))


def median_ratios(rounds: Sequence[Samples]) -> tuple[float, ...]:
    """Median of the array arm over median of the local arm, one a round. Raises ValueError for an empty or bad round."""
    return tuple(median(one.array) / _above_zero(median(one.local)) for one in rounds)


def _above_zero(value: float) -> float:
    if value <= 0:
        raise ValueError("a duration must be positive")
    return value


def two_level_bootstrap(
    rounds: Sequence[Samples], seed: int, resamples: int = FEWEST_RESAMPLES, level: float = 0.95
) -> Interval:
    """Percentile interval of the geometric mean of median ratios: rounds are drawn anew, then requests within each.

    The median of n values drawn anew is distributed as the middle order statistics of n uniform draws over the ranks, so
    it is drawn from Beta distributions instead of drawing all n requests: exactly the same distribution, hundreds of times
    faster. Raises ValueError for fewer than two rounds, fewer than two requests or too few resamples.
    """
    if len(rounds) < 2:
        raise ValueError(f"{len(rounds)} round, wanted at least 2: one round says nothing about the next")
    if resamples < FEWEST_RESAMPLES:
        raise ValueError(f"{resamples} resamples, wanted at least {FEWEST_RESAMPLES}")
    if not 0.5 < level < 1:
        raise ValueError(f"found level {level!r}, wanted such as 0.95")
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(rounds), size=(resamples, len(rounds)))
    logs = np.empty(drawn.shape)
    for which, one in enumerate(rounds):
        here = drawn == which
        count = int(here.sum())
        array, local = (drawn_medians(arm, count, rng) for arm in (one.array, one.local))
        logs[here] = np.log(array) - np.log(local)
    tail = (1 - level) / 2 * 100
    low, high = np.exp(np.percentile(logs.mean(axis=1), [tail, 100 - tail]))
    return Interval(float(low), float(high), level, "two-level bootstrap", seed, resamples)


def drawn_medians(
    values: Sequence[float], count: int, rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """``count`` medians of samples drawn with replacement from ``values``."""
    data = np.sort(finite(values))
    n = len(data)
    if n < 2 or data[0] <= 0:
        raise ValueError("a round needs at least two requests, each with a positive duration")
    # The k-th smallest of n uniform numbers is Beta(k, n+1-k); the next one above it divides the rest as Beta(1, n-k).
    lower = (n + 1) // 2
    first = rng.beta(lower, n + 1 - lower, size=count)
    if n % 2:
        return np.asarray(data[_rank(first, n)])
    second = first + (1 - first) * rng.beta(1, n - lower, size=count)
    return np.asarray((data[_rank(first, n)] + data[_rank(second, n)]) / 2)


def _rank(uniform: np.ndarray[tuple[int], np.dtype[np.float64]], n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.minimum((uniform * n).astype(np.int64), n - 1)


def student_interval(ratios: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of the geometric mean of ratios that come one a round (throughput), by Student's t on their logarithms.

    Five values drawn anew cannot show their own spread: such an interval holds the truth in about 83 of 100 cases where it
    promises 95 (runbooks/decisions, table). Raises ValueError for fewer than two ratios or one that is not positive.
    """
    from scipy import stats  # a second of imports that a plan needs not

    data = finite(ratios)
    if len(data) < 2:
        raise ValueError(f"{len(data)} ratio, wanted at least 2")
    if (data <= 0).any():
        raise ValueError("a ratio must be positive")
    logs = np.log(data)
    reach = float(stats.t.ppf((1 + level) / 2, len(logs) - 1)) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
    middle = float(logs.mean())
    return Interval(math.exp(middle - reach), math.exp(middle + reach), level, "Student's t on log ratios")


def rounds_wanted(width: float, wanted: float, rounds: int) -> int:
    """How many rounds bring an interval of ``width`` down to ``wanted``, if it shrinks with the root of their number."""
    if width <= 0 or wanted <= 0 or rounds < 1:
        raise ValueError("width, wanted width and rounds must be positive")
    return max(rounds, math.ceil(rounds * (width / wanted) ** 2 - 1e-9))
