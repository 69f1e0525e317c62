"""Whether repeated measurements are steady: SNIA's rule, the coefficient of variation, drift over rounds, trends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checks.statistics.percentile import finite


@dataclass(frozen=True, slots=True)
class Steadiness:
    """A window of rounds: its mean, its range and the rise of its fitted line over the window, both in percent of the mean."""

    mean: float
    range_percent: float
    rise_percent: float

    def holds(self, range_percent: float, rise_percent: float) -> bool:
        """Whether range and rise stay within these limits."""
        return self.range_percent <= range_percent and abs(self.rise_percent) <= rise_percent


def steadiness(values: Sequence[float], window: int = 5) -> Steadiness:
    """Weigh the last ``window`` values by the rule of SNIA SSS-PTS 2.0.x, 2.1.24.

    Raises ValueError for fewer than ``window`` values or a mean that is not positive. Rounds must be of equal length.
    """
    if window < 2 or len(values) < window:
        raise ValueError(f"{len(values)} rounds, wanted at least {max(window, 2)}")
    data = finite(values)[-window:]
    mean = float(data.mean())
    if mean <= 0:
        raise ValueError("the mean is not positive")
    slope = float(np.polyfit(np.arange(window), data, 1)[0])
    return Steadiness(
        mean=mean,
        range_percent=round(float(np.ptp(data)) / mean * 100, 9),
        rise_percent=round(slope * (window - 1) / mean * 100, 9),
    )


def variation_percent(values: Sequence[float]) -> float:
    """Coefficient of variation (sample deviation over mean) in percent. Raises ValueError for fewer than two values."""
    data = finite(values)
    if len(data) < 2:
        raise ValueError(f"{len(data)} values, wanted at least 2")
    mean = float(data.mean())
    if mean <= 0:
        raise ValueError("the mean is not positive")
    return float(data.std(ddof=1)) / mean * 100


#: Points that a trend needs at least.
FEWEST = 3


@dataclass(frozen=True, slots=True)
class Trend:
    """Theil-Sen slope a unit of time, what it adds up to over the whole span in percent of the median, and Mann-Kendall's p."""

    slope: float
    change_percent: float
    p_value: float


def slope_within(parts: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """Median of the slopes between all pairs of points of the same part: what moves within parts, whatever lies between them.

    This is the seasonal Kendall slope estimator (Hirsch, Slack, Smith, Water Resources Research 18 (1982) 107); of one part it is
    Theil-Sen. A part of fewer than three points tells nothing. Raises ValueError where none has as many.
    """
    slopes = []
    for times, values in parts:
        if len(times) >= FEWEST:
            when, data = finite(times), finite(values)
            first, second = np.triu_indices(len(when), 1)
            slopes.append((data[second] - data[first]) / (when[second] - when[first]))
    if not slopes:
        raise ValueError(f"no part has {FEWEST} points")
    return float(np.median(np.concatenate(slopes)))


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """Trend of ``values`` over ``times`` that one outlier cannot make.

    Raises ValueError for fewer than three points, lists of different length, times that all agree, a median not positive.
    """
    if len(times) != len(values) or len(values) < FEWEST:
        raise ValueError(f"{len(times)} times and {len(values)} values, wanted as many of both, at least {FEWEST}")
    from scipy import stats  # a second of imports that a plan needs not

    when, data = finite(times), finite(values)
    span = float(np.ptp(when))
    middle = float(np.median(data))
    if span <= 0 or middle <= 0:
        raise ValueError("times must differ and the median must be positive")
    slope = float(stats.theilslopes(data, when).slope)
    # Values that are all alike have no ranks to compare: no trend, and nothing that speaks for one.
    same = bool(np.ptp(data) == 0)
    p_value = 1.0 if same else float(stats.kendalltau(when, data).pvalue)
    return Trend(slope=slope, change_percent=slope * span / middle * 100, p_value=p_value)


#: Percent of the median a round at which a run of rounds is suspected to go somewhere: more rounds are then made.
SUSPECT = 0.5
#: Mann-Kendall's p up to which rounds have a direction; three rounds have no p that small: there each must follow the one before.
_DIRECTED = 0.1
#: Rounds from which a direction can be told though one of them steps out of line.
_TOLD = 5


def drift_percent(values: Sequence[float]) -> float:
    """What each round adds to the one before, in percent of the median, where rounds go one way; 0 where they do not.

    A slow decline stays far below any limit on the variation: five rounds that lose 1 % each vary by 1.6 %. Fewer than three
    values have no direction. Raises ValueError for a median that is not positive.
    """
    data = finite(values)
    if len(data) < FEWEST:
        return 0.0
    steps = np.diff(data)
    if len(data) == FEWEST and not (bool((steps > 0).all()) or bool((steps < 0).all())):
        return 0.0
    found = trend(range(len(data)), values)
    if len(data) > FEWEST and found.p_value > _DIRECTED:
        return 0.0
    return found.change_percent / (len(data) - 1)


def level(values: Sequence[float], most: float = SUSPECT) -> bool:
    """Whether rounds stay where they are within ``most`` percent a round, or no direction can be told: what a trial stops by.

    A few rounds that fall on the whole, though not each below the one before, ask for more: only then can a direction be told.
    """
    try:
        if FEWEST <= len(values) < _TOLD:
            return abs(trend(range(len(values)), values).change_percent) / (len(values) - 1) < most
        return abs(drift_percent(values)) < most
    except ValueError:
        return True  # rates that are none: more of them tell no more
