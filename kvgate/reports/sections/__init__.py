"""What a report shows of measured load beside the verdicts: one module a kind of load, found by the type of its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checks.block.rounds import Round
from checks.trial import Trial
from kvgate.gate.tried import Tried
from kvgate.reports.messages import Reader
from kvgate.reports.sections import loads, volumes
from kvgate.reports.sections.section import Section

Maker = Callable[[Sequence[Trial[Any]], Tried, Reader], Iterator[Section]]

#: Type of a round's fact -> who shows it.
MAKERS: tuple[tuple[type, Maker], ...] = ((Round, volumes.sections),)


def of(tried: Tried, read: Reader) -> Iterator[Section]:
    """Sections of all trials that clauses asked for; of a kind without charts what each round came to, where it can say so."""
    kinds: dict[type, list[Trial[Any]]] = {}
    for trial in tried.asked.values():
        fact = next((one.fact for one in tried.rounds(trial) if one.fact is not None), None)
        if fact is not None:
            kinds.setdefault(type(fact), []).append(trial)
    for kind, make in MAKERS:
        if kind in kinds:
            yield from make(kinds[kind], tried, read)
    charted = {kind for kind, _ in MAKERS}
    told = [
        trial for kind, trials in kinds.items() if kind not in charted and hasattr(kind, "brief") for trial in trials
    ]
    if told:
        yield from loads.sections(told, tried, read)
