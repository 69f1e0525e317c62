"""Whether rounds stay at their level, shown and not assumed: the interval of their slope lies within what was agreed, or it does not.

A test that looks for a drift passes what it cannot see: 1 % a round under 1 % of noise went by half the time. This one is a test of
equivalence (two one-sided tests, Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657): rounds stay when the whole
interval of the fitted slope is within the bound, and while it is not, more are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from checks.statistics.percentile import finite

#: Rounds that a slope and its noise need at least.
FEWEST = 3


class Course(Enum):
    """What rounds do: stay within the bound, go beyond it, or nothing that so many of them can show."""

    STAYS = "stays"
    GOES = "goes"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Slope:
    """What each round adds to the one before, in percent of their mean, and by how much that may be off."""

    percent: float
    reach: float

    def course(self, most: float) -> Course:
        """How the interval lies to a bound of ``most`` percent a round."""
        if abs(self.percent) + self.reach < most:
            return Course.STAYS
        return Course.GOES if abs(self.percent) - self.reach >= most else Course.OPEN


def slope(values: Sequence[float], sure: float) -> Slope:
    """Least-squares slope over rounds; each end of its interval is ``sure`` percent certain (Student's t, ``n - 2`` degrees).

    Raises ValueError for fewer than three values, a mean that is not positive, or a certainty that is none.
    """
    data = finite(values)
    if len(data) < FEWEST or not 50 < sure < 100:
        raise ValueError(f"{len(data)} values and {sure:g} % sure, wanted at least {FEWEST}, and between 50 and 100 %")
    mean = float(data.mean())
    if mean <= 0:
        raise ValueError("the mean is not positive")
    from scipy.special import stdtrit  # a second of imports that a plan needs not

    when = np.arange(len(data)) - (len(data) - 1) / 2
    spread = float((when**2).sum())
    steep = float((when * data).sum()) / spread
    left = data - mean - steep * when
    error = float(np.sqrt((left**2).sum() / (len(data) - 2) / spread))
    reach = float(stdtrit(len(data) - 2, sure / 100)) * error / mean * 100
    return Slope(round(steep / mean * 100, 9), round(reach, 9))


def settled(values: Sequence[float], most: float, sure: float) -> Course:
    """What rounds do by now. Raises ValueError as :func:`slope`: what has no slope is not shown to stay."""
    return slope(values, sure).course(most)
