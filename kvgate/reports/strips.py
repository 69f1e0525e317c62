"""Charts as one line of text, for a terminal: the spread of values on a scale, an interval against what is agreed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WIDTH = 56


def scale(low: float, high: float, unit: str, width: int = _WIDTH) -> str:
    """The ends of the scale that strips below it are drawn on."""
    left, right = f"{low:.4g} {unit}".strip(), f"{high:.4g} {unit}".strip()
    return f"{left}{' ' * max(1, width - len(left) - len(right))}{right}"


def spread(values: Sequence[float], low: float, high: float, width: int = _WIDTH) -> str:
    """5th to 95th percentile as a line, the middle half as a box, the median as a mark."""
    ends = [_at(float(one), low, high, width) for one in np.percentile(values, [5, 25, 50, 75, 95])]
    cells = [" "] * width
    for place in range(ends[0], ends[4] + 1):
        cells[place] = "─"
    for place in range(ends[1], ends[3] + 1):
        cells[place] = "█"
    cells[ends[0]], cells[ends[4]] = ("├", "┤") if ends[0] < ends[4] else ("│", "│")
    cells[ends[2]] = "┃"
    return "".join(cells)


def against(
    change: float,
    ends: tuple[float, float],
    good: tuple[float | None, float | None],
    low: float,
    high: float,
    width: int = _WIDTH,
) -> str:
    """A change with its interval over the agreed range, which is shaded; every value lies between ``low`` and ``high``."""
    first = 0 if good[0] is None else _at(good[0], low, high, width)
    last = width - 1 if good[1] is None else _at(good[1], low, high, width)
    cells = ["░" if first <= place <= last else " " for place in range(width)]
    begin, end = (_at(one, low, high, width) for one in ends)
    for place in range(begin, end + 1):
        cells[place] = "━"
    cells[_at(change, low, high, width)] = "●"
    return "".join(cells)


def _at(value: float, low: float, high: float, width: int) -> int:
    share = (value - low) / (high - low) if high > low else 0.0
    return min(width - 1, max(0, round(share * (width - 1))))
