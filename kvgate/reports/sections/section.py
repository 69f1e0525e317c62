"""One part of a report: a title, sentences, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.around.causes import causes
from kvgate.gate.tried import Ended
from kvgate.reports.charts import Chart
from kvgate.reports.messages import Reader


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


def around(ended: Ended, read: Reader) -> str:
    """Clocks around a round, and what was seen of throttling, heat, other work and links meanwhile."""
    clocks = [
        f"{host} {one.megahertz:.0f} MHz" for host, one in sorted(ended.around.items()) if one.megahertz is not None
    ]
    return read(", ").join([*clocks, *(read.phrase(cause) for cause in causes([ended.around]))])
