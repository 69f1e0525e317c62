"""Which loads may run: those that write a raw disk only where its serial was named by whoever started the gate."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from checks.probe import Device, Level
from checks.trial import Trial

#: Kind of the journal line that says why a trial was not begun.
NOT_PERMITTED = "not-permitted"


def written(trial: Trial[Any]) -> frozenset[str]:
    """Serials of the disks that a trial writes raw."""
    steps = (step for step in trial.everything if step.probe.level is Level.DESTRUCTIVE)
    return frozenset(word.serial for step in steps for word in step.probe.argv if isinstance(word, Device))


def permitted(trials: Iterable[Trial[Any]], named: Collection[str]) -> tuple[list[Trial[Any]], list[Trial[Any]]]:
    """Part trials into those that may run and those that may not: a destructive one without a named serial never does."""
    may: list[Trial[Any]] = []
    may_not: list[Trial[Any]] = []
    for trial in trials:
        serials = written(trial)
        allowed = trial.level is not Level.DESTRUCTIVE or (serials and serials <= set(named))
        (may if allowed else may_not).append(trial)
    return may, may_not
