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
    """One figure with what it shows, and ``text`` as a terminal can show of it.

    ``half``: two of them stand side by side where there is room.
    """

    title: str
    html: str
    half: bool = False
    text: Sequence[str] = ()


@dataclass(frozen=True)
class Bar:
    """A stretch of a timeline: from, to, what it is (one of the legend's names), and more about it."""

    begin: float
    end: float
    name: str
    more: str = ""


@dataclass(frozen=True)
class Mark:
    """A moment of a timeline."""

    at: float
    text: str


#: Pixels that an entry of a legend takes, and up to how many whole steps an axis shows each of them.
_ENTRY, _COUNTED = 19, 30

#: Plotly has so many colours; lines beyond are told apart by their stroke.
_HUES, _DASHES = 10, ("solid", "dash", "dot", "dashdot")

#: Colours of states, in the order of a legend; told apart without green and red.
COLOURS = ("#3b75af", "#8fc1e3", "#c7b9e2", "#f0b323", "#b3261e", "#dddddd")


def code() -> str:
    """Plotly's code for the head of a page."""
    return str(get_plotlyjs())


def bars(
    title: str,
    groups: Mapping[str, Mapping[str, Sequence[float]]],
    unit: str,
    across: str,
    legend: str,
    *,
    logarithmic: bool = False,
) -> Chart:
    """Median of the rounds by name, one colour a group; the whiskers are the lowest and the highest round.

    ``across`` says what stands along the bottom, ``legend`` what a colour is.
    """
    figure = go.Figure(layout={"legend": {"orientation": "h", "y": 1.15, "title": {"text": legend}}})
    figure.update_xaxes(title=across)
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
    across: str,
    legend: str,
    *,
    logarithmic: bool = False,
) -> Chart:
    """One line a series through its points; ``across`` and ``legend`` as for :func:`bars`."""
    figure = go.Figure()
    for number, (name, points) in enumerate(series.items()):
        x, y = [one for one, _ in points], [one for _, one in points]
        dash = _DASHES[number // _HUES % len(_DASHES)]
        figure.add_scatter(name=name, x=x, y=y, mode="lines+markers", line={"dash": dash})
    figure.update_xaxes(title=across)
    if any(isinstance(one, str) for points in series.values() for one, _ in points):
        figure.update_xaxes(type="category")  # percentages as words: equal steps, in the order given
    places = [one for points in series.values() for one, _ in points if not isinstance(one, str)]
    if places and max(places) <= _COUNTED and all(float(one).is_integer() for one in places):
        figure.update_xaxes(dtick=1)  # there is no round 1.5
    figure.update_layout(legend={"orientation": "v", "x": 1.02, "y": 1.0, "title": {"text": legend}})
    # paper has no scroll bar: every line of the legend has its place
    return _finished(figure, title, unit, logarithmic=logarithmic, height=max(_HEIGHT, 130 + _ENTRY * len(series)))


def timeline(
    title: str,
    rows: Mapping[str, Sequence[Bar]],
    marks: Mapping[str, Sequence[Mark]],
    names: Sequence[str],
    across: str,
    alarm: str,
) -> Chart:
    """One row a host, its stretches in the colours of ``names``, a mark for each alarm; can be zoomed to a minute."""
    figure = go.Figure(layout={"barmode": "overlay", "legend": {"orientation": "h", "y": 1.25}})
    for place, name in enumerate(names):
        found = [(host, bar) for host, bars_of in rows.items() for bar in bars_of if bar.name == name]
        figure.add_bar(
            name=name,
            orientation="h",
            y=[host for host, _ in found],
            base=[bar.begin for _, bar in found],
            x=[bar.end - bar.begin for _, bar in found],
            marker_color=COLOURS[place % len(COLOURS)],
            hovertext=[f"{name} {bar.more} {bar.begin:.2f} - {bar.end:.2f}" for _, bar in found],
            hoverinfo="text+y",
        )
    seen = [(host, mark) for host, found_marks in marks.items() for mark in found_marks]
    figure.add_scatter(
        name=alarm,
        mode="markers",
        x=[mark.at for _, mark in seen],
        y=[host for host, _ in seen],
        text=[mark.text for _, mark in seen],
        hoverinfo="text+x+y",
        marker={"symbol": "triangle-down", "size": 9, "color": "#000000"},
    )
    figure.update_xaxes(title=across)
    return _finished(figure, title, "", logarithmic=False)


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def finished(
    figure: go.Figure,
    title: str,
    unit: str,
    *,
    half: bool = False,
    height: int = _HEIGHT,
    across: bool = False,
    text: Sequence[str] = (),
) -> Chart:
    """Dress a figure as all of a report's are; ``across``: its values run from left to right."""
    figure.update_layout(
        height=height,
        margin={"l": 60, "r": 20, "t": 20, "b": 60},
        font={"family": _FONT, "size": 12},
        template="plotly_white",
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0.0},
    )
    if across:
        figure.update_yaxes(automargin=True)
    else:
        figure.update_yaxes(title=unit)
    return Chart(title, _html(figure, bar=not half), half, text)


def _finished(figure: go.Figure, title: str, unit: str, *, logarithmic: bool, height: int = _HEIGHT) -> Chart:
    figure.update_layout(
        height=height,
        margin={"l": 60, "r": 20, "t": 20, "b": 60},
        font={"family": _FONT, "size": 12},
        template="plotly_white",
        showlegend=True,
    )
    if any(trace.orientation == "h" for trace in figure.data if trace.type == "bar"):
        figure.update_yaxes(type="category")
    else:
        figure.update_yaxes(title=f"{title}, {unit}", type="log" if logarithmic else "linear", rangemode="tozero")
    return Chart(title, _html(figure))


def _html(figure: go.Figure, *, bar: bool = True) -> str:
    config = {"displaylogo": False, "responsive": True, **({} if bar else {"displayModeBar": False})}
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config=config))
