"""Running gate tests dry, before any host is contacted: what they will ask, and what they will load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from checks.decision import Owed
from checks.trial import Trial
from kvgate.gate.answers import Answers
from kvgate.gate.ask import Again, Informed, Rehearsal, Rehearsed
from kvgate.gate.baseline import Baseline

if TYPE_CHECKING:
    from kvgate.gate.body import GateTest

Terms = Callable[[Owed], Mapping[str, Any]]


def rehearse(tests: Sequence[GateTest], terms: Terms, baseline: Baseline, again: Again | None = None) -> Rehearsal:
    """Run every test dry. A body that fails without answers fails again when it is judged: that clause is UNDECIDED."""
    rehearsal = Rehearsal(baseline=baseline, again=again)
    for test in tests:
        known, clocks, trials = len(rehearsal.needs), len(rehearsal.clocks), len(rehearsal.trials)
        with suppress(Rehearsed, Exception):
            test.body(**test.arguments(rehearsal, terms(test.owed), dry, dry))
        # A disk is asked by the name its serial had; only the second look shows that it kept it.
        second = any(need.samples > 1 or need.probe.devices for need in rehearsal.needs[known:])
        follows = "measure" in test.parameters and len(rehearsal.needs) > known
        if follows:
            rehearsal.following.add(test.owed)
        if second or follows or len(rehearsal.clocks) > clocks or len(rehearsal.trials) > trials:
            rehearsal.late.add(test.owed)
    return rehearsal


def following(tests: Sequence[GateTest], terms: Terms, baseline: Baseline, answers: Answers | None) -> list[Trial[Any]]:
    """Loads of tests that choose them by answers; without ``answers``, as in a plan, what they load if nobody tells."""
    informed = Informed(baseline=baseline, answers=answers)
    for test in tests:
        with suppress(Rehearsed, Exception):
            test.body(**test.arguments(informed, terms(test.owed), dry, dry))
    return informed.trials


def dry(*_: object, **__: object) -> Any:
    """Stand for what decides: a dry run ends there."""
    raise Rehearsed
