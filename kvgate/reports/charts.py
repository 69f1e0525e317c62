"""Charts of a report as pieces of HTML that need no network: plotly's code stands in the page once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

_HEIGHT = 340
_FONT = "Noto Sans, Noto Sans CJK SC, Microsoft YaHei, PingFang SC, Arial, sans-serif"


@dataclass(frozen=True)
class Chart:
    """One figure with what it shows."""

    title: str
    html: str


def code() -> str:
    """Plotly's code for the head of a page."""
    return str(get_plotlyjs())


def bars(
    title: str, groups: Mapping[str, Mapping[str, Sequence[float]]], unit: str, *, logarithmic: bool = False
) -> Chart:
    """Median of the rounds by name, one colour a group; the whiskers are the lowest and the highest round."""
    figure = go.Figure(layout={"legend": {"orientation": "h", "y": 1.15}})
    for group, values in groups.items():
        middles = [_middle(one) for one in values.values()]
        figure.add_bar(
            name=group,
            x=list(values),
            y=middles,
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [max(one) - middle for one, middle in zip(values.values(), middles, strict=True)],
                "arrayminus": [middle - min(one) for one, middle in zip(values.values(), middles, strict=True)],
            },
        )
    return _finished(figure, title, unit, logarithmic=logarithmic)


def lines(
    title: str,
    series: Mapping[str, Sequence[tuple[float | str, float]]],
    unit: str,
    across: str = "",
    *,
    logarithmic: bool = False,
) -> Chart:
    """One line a series through its points."""
    figure = go.Figure()
    for name, points in series.items():
        figure.add_scatter(name=name, x=[x for x, _ in points], y=[y for _, y in points], mode="lines+markers")
    figure.update_xaxes(title=across)
    figure.update_layout(legend={"orientation": "v", "x": 1.02, "y": 1.0})
    return _finished(figure, title, unit, logarithmic=logarithmic)


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _finished(figure: go.Figure, title: str, unit: str, *, logarithmic: bool) -> Chart:
    figure.update_layout(
        height=_HEIGHT,
        margin={"l": 60, "r": 20, "t": 20, "b": 60},
        font={"family": _FONT, "size": 12},
        template="plotly_white",
        showlegend=True,
    )
    figure.update_yaxes(title=unit, type="log" if logarithmic else "linear", rangemode="tozero")
    html = figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False, "responsive": True})
    return Chart(title, str(html))
