"""A report in the terminal: the same parts as the page, tables as tables and charts as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from checks.verdict import Outcome
from kvgate.reports.charts import Chart
from kvgate.reports.messages import Reader
from kvgate.reports.page import Part
from kvgate.reports.sections.section import Grid, Section
from kvgate.reports.terminal import STYLE, console, listing
from kvgate.reports.wrapping import Sentence

_OUTCOMES = {one.value: STYLE[one] for one in Outcome}


def printed(parts: Sequence[Part], stream: IO[str], read: Reader, *, everything: bool = False) -> None:
    """Print the parts; sections that the page folds only with ``everything``, else they are named."""
    out = console(stream)
    for part in parts:
        title = Text.assemble(f"{part.title}: ", (part.decision, _OUTCOMES.get(part.decision, "")))
        out.print(Rule(title, align="left"))
        for mark in part.marks:
            out.print(Sentence(mark))
        facts = Table(box=None, show_header=False, pad_edge=False)
        for name, value in part.facts:
            facts.add_row(name, Sentence(value))
        out.print(facts)
        left = []
        for section in part.sections:
            if section.folded and not everything:
                left.append(section.title)
                continue
            for piece in _section(section):
                out.print(piece)
        if left:
            out.print()
            out.print(Sentence(read("not shown: {sections} (--all)", sections="; ".join(left))))


def _section(section: Section) -> Iterator[RenderableType]:
    yield Text()
    yield Text(section.title, style="bold")
    yield from (Sentence(line) for line in section.lines)
    for grid in section.grids:
        yield Padding(_grid(grid), (1, 0, 0, 0))
    for chart in section.charts:
        yield from _chart(chart)


def _grid(grid: Grid) -> Table:
    chosen = grid.brief or range(len(grid.heads))
    rows = [tuple(_cell(row[place]) for place in chosen) for row in grid.rows]
    return listing(rows, *(grid.heads[place] for place in chosen))


def _cell(cell: str) -> Sentence:
    return Sentence(cell, style=_OUTCOMES[cell]) if cell in _OUTCOMES else Sentence(cell)


def _chart(chart: Chart) -> Iterator[RenderableType]:
    if not chart.text:
        return
    yield Padding(Text(chart.title, style="bold"), (1, 0, 0, 0))
    for line in chart.text:
        yield Text(line, no_wrap=True, overflow="crop")
