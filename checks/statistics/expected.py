"""How wide the intervals of a comparison will be, told from the rounds of one of its arms before it is made.

Assumes that the other arm shakes as much and independently: what both arms of a round share would only cancel. The width of
TTFT is that of :func:`checks.statistics.paired.two_level_bootstrap`, which counts the noise of requests in how rounds differ
and once more by drawing; the width of throughput is that of Student's t on log ratios.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from checks.statistics.paired import drawn_medians
from checks.statistics.percentile import finite, median

_DRAWS = 2_000
_NORMAL = 1.959964  # 97.5 % of the normal distribution


def shake(values: Sequence[float]) -> float:
    """Standard deviation of the logarithms of one value a round. Raises ValueError for fewer than two, or one not positive."""
    data = finite(values)
    if len(data) < 2 or (data <= 0).any():
        raise ValueError(f"{len(data)} rounds, wanted at least 2, each with a positive value")
    return float(np.log(data).std(ddof=1))


def ttft_points(rounds: Sequence[Sequence[float]], wanted: int, ratio: float, seed: int) -> float:
    """Width in percentage points of the interval of TTFT p50 at this ratio after ``wanted`` rounds; ``rounds`` hold requests."""
    between = shake([median(one) for one in rounds]) ** 2
    rng = np.random.default_rng(seed)
    within = float(np.mean([np.log(drawn_medians(one, _DRAWS, rng)).var(ddof=1) for one in rounds]))
    return 2 * _NORMAL * math.sqrt(2 * (between + within) / wanted) * ratio * 100


def throughput_points(values: Sequence[float], wanted: int, ratio: float) -> float:
    """Width in percentage points of the interval of throughput at this ratio after ``wanted`` rounds."""
    from scipy import stats  # a second of imports that a plan needs not

    reach = float(stats.t.ppf(0.975, wanted - 1)) * shake(values) * math.sqrt(2 / wanted)
    return 2 * reach * ratio * 100
