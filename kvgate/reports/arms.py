"""Charts that set two arms side by side: distributions, rounds, intervals against limits, shares by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from kvgate.reports import strips
from kvgate.reports.charts import Chart, finished

#: One colour a role wherever it is drawn; told apart without green and red, and in grey.
ARMS: Mapping[str, str] = {"local": "#c26a12", "array": "#1f5fa8", "recompute": "#8a8f98", "nfs": "#6b4a9b"}
#: Where tokens came from, in the order of a legend: only the first is what the gate is about.
SOURCES = ("#1f5fa8", "#c9ced6", "#f0b323", "#b3261e")
_POINTS = 200  # of a curve: as many as a page of this width can show
_GOOD, _FAINT = "rgba(31,122,77,0.13)", 0.28


@dataclass(frozen=True)
class Curve:
    """Values of one arm: all of them, and of each round by itself."""

    name: str
    role: str
    values: Sequence[float]
    rounds: Sequence[Sequence[float]]


@dataclass(frozen=True)
class Span:
    """A change in percent with its interval, the change in each round, and the change that was published."""

    name: str
    change: float
    low: float
    high: float
    rounds: Sequence[float]
    printed: float | None = None


def distributions(title: str, curves: Sequence[Curve], across: str, up: str, text: Sequence[str] = ()) -> Chart:
    """Share of requests that had their first token by then: all rounds as one strong line, each round as a faint one."""
    figure = go.Figure()
    for one in curves:
        colour = ARMS[one.role]
        for values in one.rounds:
            x, y = steps(values)
            figure.add_scatter(
                x=x, y=y, mode="lines", line={"color": colour, "width": 1, "shape": "hv"}, opacity=_FAINT,
                showlegend=False, hoverinfo="skip",
            )  # fmt: skip
        x, y = steps(one.values)
        figure.add_scatter(
            name=one.name, x=x, y=y, mode="lines", line={"color": colour, "width": 2.5, "shape": "hv"},
            hovertemplate="%{y:.0f} %: %{x:.3f} s<extra>%{fullData.name}</extra>",
        )  # fmt: skip
        middle = float(np.median(one.values))
        figure.add_scatter(
            x=[middle], y=[50], mode="markers+text", text=[f"{middle:.2f}"], textposition="middle right",
            textfont={"color": colour, "size": 12}, marker={"color": colour, "size": 9, "line": {"color": "#fff", "width": 1.5}},
            showlegend=False, hoverinfo="skip",
        )  # fmt: skip
    figure.add_hline(y=50, line={"color": "#9aa1ab", "width": 1, "dash": "dot"})
    ends = [end for one in curves for end in (min(one.values), max(one.values))]
    room = (max(ends) - min(ends)) * 0.12 or max(ends) * 0.1
    figure.update_xaxes(title=across, range=[max(0.0, min(ends) - room / 2), max(ends) + room])
    figure.update_yaxes(ticksuffix=" %", range=[0, 102])
    return finished(figure, title, up, half=True, text=text)


def steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Steps of the empirical distribution: values in order, and percent of all that are not larger."""
    ordered = np.sort(np.asarray(values, dtype=float))
    share = np.arange(1, len(ordered) + 1) / len(ordered) * 100
    if len(ordered) > _POINTS:
        chosen = np.unique(np.linspace(0, len(ordered) - 1, _POINTS).round().astype(int))
        ordered, share = ordered[chosen], share[chosen]
    first = float(ordered[0])
    return [first, *(round(float(one), 4) for one in ordered)], [0.0, *(round(float(one), 2) for one in share)]


def rounds(title: str, arms: Mapping[str, tuple[str, Sequence[tuple[int, float]]]], across: str, up: str) -> Chart:
    """Both arms in every round, joined: ``arms`` maps a role to its name and its values by round."""
    figure = go.Figure()
    joined: dict[int, list[float]] = {}
    for _, points in arms.values():
        for number, value in points:
            joined.setdefault(number, []).append(value)
    for number, ends in joined.items():
        figure.add_scatter(
            x=[number, number], y=[min(ends), max(ends)], mode="lines", line={"color": "#c9ced6", "width": 5},
            showlegend=False, hoverinfo="skip",
        )  # fmt: skip
    for role, (name, points) in arms.items():
        figure.add_scatter(
            name=name, x=[x for x, _ in points], y=[y for _, y in points], mode="markers",
            marker={"color": ARMS[role], "size": 11, "line": {"color": "#fff", "width": 1}},
            hovertemplate="%{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    figure.update_xaxes(title=across, dtick=1, range=[min(joined, default=1) - 0.5, max(joined, default=1) + 0.5])
    return finished(figure, title, up, half=True, height=250)


def spans(
    title: str,
    found: Sequence[Span],
    good: tuple[float | None, float | None],
    names: tuple[str, str, str, str],
    across: str,
) -> Chart:
    """Change with its interval against what is agreed, one row a concurrency.

    ``good`` are the ends of the agreed range in percent, None: open. ``names``: interval, round, published, agreed.
    """
    figure = go.Figure()
    rows = [one.name for one in found]
    figure.add_scatter(
        name=names[1], x=[value for one in found for value in one.rounds], y=[one.name for one in found for _ in one.rounds],
        mode="markers", marker={"symbol": "line-ns", "size": 20, "line": {"width": 1.2, "color": "#8a8f98"}},
        hovertemplate="%{x:+.2f} %<extra>%{y}</extra>",
    )  # fmt: skip
    figure.add_scatter(
        name=names[0], x=[one.change for one in found], y=rows, mode="markers",
        error_x={
            "type": "data", "symmetric": False, "thickness": 3, "width": 9, "color": ARMS["array"],
            "array": [one.high - one.change for one in found], "arrayminus": [one.change - one.low for one in found],
        },
        marker={"color": ARMS["array"], "size": 10},
        customdata=[[one.low, one.high] for one in found],
        hovertemplate="%{x:+.2f} % [%{customdata[0]:+.2f}, %{customdata[1]:+.2f}]<extra>%{y}</extra>",
    )  # fmt: skip
    if printed := [(one.printed, one.name) for one in found if one.printed is not None]:
        figure.add_scatter(
            name=names[2], x=[x for x, _ in printed], y=[y for _, y in printed], mode="markers",
            marker={"symbol": "diamond-open", "size": 13, "color": "#6b4a9b", "line": {"width": 2}},
            hovertemplate="%{x:+.2f} %<extra>%{y}</extra>",
        )  # fmt: skip
    seen = [value for one in found for value in (one.low, one.high, *one.rounds, one.printed) if value is not None]
    edges = [end for end in good if end is not None]
    left, right = min([*seen, *edges]), max([*seen, *edges])
    room = (right - left) * 0.08 or 1.0
    begin, end = (good[0] if good[0] is not None else left - room), (good[1] if good[1] is not None else right + room)
    figure.add_vrect(x0=begin, x1=end, fillcolor=_GOOD, line_width=0, layer="below")
    for edge in edges:
        figure.add_vline(x=edge, line={"color": "#1f7a4d", "width": 1.5, "dash": "dash"})
    figure.add_scatter(
        name=names[3], x=[None], y=[None], mode="markers", marker={"symbol": "square", "size": 12, "color": _GOOD}
    )
    figure.update_xaxes(title=across, ticksuffix=" %", range=[left - room, right + room], zeroline=False)
    figure.update_yaxes(type="category", autorange="reversed", categoryorder="array", categoryarray=rows)
    text = _strips(found, good, left - room, right + room)
    return finished(figure, title, "", half=True, height=150 + 58 * max(1, len(rows)), across=True, text=text)


def _strips(found: Sequence[Span], good: tuple[float | None, float | None], left: float, right: float) -> list[str]:
    width = max((len(one.name) for one in found), default=0)
    rows = [
        f"{one.name:{width}}  {strips.against(one.change, (one.low, one.high), good, left, right)}" for one in found
    ]
    return [f"{'':{width}}  {strips.scale(left, right, '%')}", *rows]


def shares(title: str, rows: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> Chart:
    """Parts of a whole in percent, one bar a row; ``names`` gives the parts their order and colour."""
    figure = go.Figure(layout={"barmode": "stack"})
    for place, name in enumerate(names):
        figure.add_bar(
            name=name, orientation="h", y=list(rows), x=[parts.get(name, 0.0) for parts in rows.values()],
            marker_color=SOURCES[place % len(SOURCES)], hovertemplate="%{x:.2f} %<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    figure.update_xaxes(ticksuffix=" %", range=[0, 100])
    figure.update_yaxes(type="category", autorange="reversed")
    return finished(figure, title, "", height=120 + 30 * max(1, len(rows)), across=True)
