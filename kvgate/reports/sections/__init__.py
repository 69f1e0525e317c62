"""What a report shows of measured load beside the verdicts: one module a kind of load, found by the type of its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checks.block.rounds import Round
from checks.trial import Trial
from kvgate.gate.tried import Tried
from kvgate.reports.messages import Reader
from kvgate.reports.sections import volumes
from kvgate.reports.sections.section import Section

Maker = Callable[[Sequence[Trial[Any]], Tried, Reader], Iterator[Section]]

#: Type of a round's fact -> who shows it.
MAKERS: tuple[tuple[type, Maker], ...] = ((Round, volumes.sections),)


def of(tried: Tried, read: Reader) -> Iterator[Section]:
    """Sections of all trials that clauses asked for; a kind that nobody shows has its verdicts all the same."""
    kinds: dict[type, list[Trial[Any]]] = {}
    for trial in tried.asked.values():
        fact = next((one.fact for one in tried.rounds(trial) if one.fact is not None), None)
        if fact is not None:
            kinds.setdefault(type(fact), []).append(trial)
    for kind, make in MAKERS:
        if kind in kinds:
            yield from make(kinds[kind], tried, read)
