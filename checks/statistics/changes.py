"""Where a series changed its level: change points by PELT (Killick 2012) with the maintained library ruptures; no chance in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import ruptures

from checks.statistics.percentile import finite


@dataclass(frozen=True, slots=True)
class Change:
    """The level changes before value ``place`` (from 0), from one median to the next; ``percent`` of the one before."""

    place: int
    before: float
    after: float

    @property
    def percent(self) -> float:
        """Change in percent of the level before."""
        return (self.after / self.before - 1) * 100 if self.before else float("inf")


def changes(values: Sequence[float], least: int = 3) -> tuple[Change, ...]:
    """Changes of level that last at least ``least`` values. Noise is estimated by the median step between neighbours.

    The penalty is 3 ln n in units of that noise (BIC for a mean and a place). Raises ValueError for fewer than 2 * ``least``.
    """
    if len(values) < 2 * least:
        raise ValueError(f"{len(values)} values, wanted at least {2 * least}")
    data = finite(values)
    # 1.4826 makes a median of deviations a standard deviation of normal noise; a step holds the noise of two values.
    noise = 1.4826 * float(np.median(np.abs(np.diff(data)))) / np.sqrt(2)
    floor = 1e-6 * float(np.median(np.abs(data)))
    scaled = data / max(noise, floor, 1e-300)
    ends = ruptures.Pelt(model="l2", min_size=least, jump=1).fit(scaled).predict(pen=3 * np.log(len(data)))
    edges = [0, *ends]
    levels = [float(np.median(data[begin:end])) for begin, end in pairwise(edges)]
    return tuple(
        Change(place, before, after) for place, before, after in zip(ends[:-1], levels, levels[1:], strict=False)
    )
