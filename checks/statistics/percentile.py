"""Percentiles, each definition by its name: two tools that disagree about a median of four values are both right.

``linear`` is definition 7 of Hyndman and Fan (1996), numpy's default, which `vllm bench serve`, sglang and aiperf print.
``lower`` is definition 1, the inverse of the empirical distribution without interpolation, which guidellm prints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np


class Definition(StrEnum):
    """How a percentile between two order statistics is taken."""

    LINEAR = "linear"
    LOWER = "inverse of the empirical distribution"


def percentile(values: Sequence[float], percent: float, definition: Definition = Definition.LINEAR) -> float:
    """Percentile of ``values`` in their unit; ``percent`` in 0..100.

    Raises ValueError for no values, for a value that is no finite number and for a percent outside the range.
    """
    data = finite(values)
    if not 0 <= percent <= 100:
        raise ValueError(f"found percentile {percent!r}, wanted 0 to 100")
    if definition is Definition.LINEAR:
        return float(np.percentile(data, percent))
    ordered = np.sort(data)
    # The rank is taken from a product that may miss a whole number by one bit: 0.29 * 100 is 28.999999999999996.
    rank = math.ceil(round(percent / 100 * len(ordered), 9))
    return float(ordered[max(rank, 1) - 1])


def median(values: Sequence[float]) -> float:
    """The 50th percentile, linear. Raises ValueError as :func:`percentile`."""
    return percentile(values, 50)


def finite(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """``values`` as an array. Raises ValueError when there are none or one of them is NaN, infinite or no number."""
    if len(values) == 0:
        raise ValueError("no values to weigh")
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise ValueError("a value is no number")
    data = np.asarray(values, dtype=np.float64)
    if not np.isfinite(data).all():
        raise ValueError("a value is not finite")
    return data
