"""One part of a report: a title, sentences, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvgate.reports.charts import Chart


@dataclass(frozen=True)
class Grid:
    """One table. Cells are text; a cell that is an outcome is coloured as one.

    ``brief`` are the columns that a terminal shows; all of them where none is named.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    brief: Sequence[int] = ()


@dataclass(frozen=True)
class Section:
    """One part of a report. ``folded`` parts are closed until somebody opens them; ``long`` ones are left out on paper."""

    title: str
    lines: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[Chart] = ()
    folded: bool = False
    long: bool = False
