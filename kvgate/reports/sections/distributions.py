"""G3: how the time to the first token is distributed on both arms, request by request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kvgate.reports import arms, strips
from kvgate.reports.arms import Curve
from kvgate.reports.charts import Chart
from kvgate.reports.messages import Reader
from kvgate.reports.sections.levels import Level, roles, titled
from kvgate.reports.sections.section import Grid, Section

_PERCENTS = (5, 25, 50, 75, 90, 95)


def section(levels: Sequence[Level], read: Reader) -> Section:
    """Percentiles of every arm, and a curve a concurrency."""
    lines = [
        read(
            "Every request of every valid cell; faint lines are single rounds. Percentiles above p90 need more requests than a "
            "round has and are shown for information."
        )
    ]
    rows, charts = [], []
    for level in levels:
        curves = []
        for role, name in roles(read):
            if not (found := level.requests(role)):
                continue
            values = [value for one in found for value in one]
            curves.append(Curve(f"{name} ({level.site.arm(role).name})", role, values, found))
            told = (f"{one:.4g}" for one in (*np.percentile(values, _PERCENTS), max(values)))
            rows.append((level.name, name, str(len(values)), str(len(found)), *told))
        if curves:
            charts.append(_curves(level, curves, read))
    heads = [read("concurrency"), read("arm"), read("requests"), read("rounds"), *(f"p{one}, s" for one in _PERCENTS)]
    grid = Grid([*heads, read("longest, s")], rows)
    title = titled(read("Time to the first token, request by request"), levels)
    return Section(title, lines, [grid], charts, folded=not levels[0].primary)


def _curves(level: Level, curves: Sequence[Curve], read: Reader) -> Chart:
    low, high = min(min(one.values) for one in curves), max(max(one.values) for one in curves)
    width = max(len(one.name) for one in curves)
    text = [f"{'':{width}}  {strips.scale(low, high, 's')}"]
    text += [f"{one.name:{width}}  {strips.spread(one.values, low, high)}" for one in curves]
    return arms.distributions(
        read("{level}: requests that have their first token", level=level.name), curves, read("seconds since sending"),
        read("requests"), text,
    )  # fmt: skip
