"""Where a gate stands while it makes load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checks.phrase import Phrase
from checks.verdict import Verdict
from kvgate.gate.tried import Ended


@dataclass(frozen=True, slots=True)
class Moment:
    """What is told to whoever shows progress.

    ``done`` and ``left`` are seconds of planned load over all trials. While a round runs, ``step`` is what runs for ``elapsed``
    seconds by now and ``live`` what it moves; ``ended`` is set after it, and ``proof`` before the first one: whether the judgement
    of the trial was shown to be able to fail. ``decides``: that round came to a STOP which the ledger has.
    """

    title: Phrase
    number: int
    of: int
    done: float
    left: float
    live: Phrase | None = None
    ended: Ended | None = None
    decides: bool = False
    proof: Verdict | None = None
    step: str = ""
    elapsed: float = 0.0


Tell = Callable[[Moment], None]
