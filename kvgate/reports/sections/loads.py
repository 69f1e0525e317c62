"""Loads that have no chart of their own (fabric, integrity, models, checkpoints): what each round came to, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from checks.trial import Trial
from kvgate.gate.tried import Ended, Tried
from kvgate.reports.messages import Reader
from kvgate.reports.sections.section import Grid, Section, around


def sections(trials: Sequence[Trial[Any]], tried: Tried, read: Reader) -> Iterator[Section]:
    """Yield one table, a row a load."""
    rows = [
        (
            read.phrase(trial.title), str(len(rounds)), read("; ").join(_said(one, read) for one in rounds),
            read("; ").join(dict.fromkeys(said for one in rounds if (said := around(one, read)))),
        )
        for trial in trials
        if (rounds := tried.rounds(trial))
    ]  # fmt: skip
    heads = [read("load"), read("rounds"), read("what each round came to"), read("around the rounds")]
    yield Section(read("Fabric, integrity, models and checkpoints"), grids=[Grid(heads, rows)])


def _said(ended: Ended, read: Reader) -> str:
    if ended.void is not None:
        return read("void: {why}", why=read.phrase(ended.void))
    if ended.failed is not None:
        return read("could not be told: {why}", why=read.phrase(ended.failed.phrase))
    return read.phrase(ended.fact.brief)
