"""From the verdicts of a gate to its decision. What is owed and absent is UNDECIDED; nothing passes by being forgotten."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from checks.phrase import Phrase, say
from checks.verdict import SEVERITY, Outcome, Verdict


class Owed(NamedTuple):
    """One verdict that a run owes: a clause on a subject of the inventory."""

    clause: str
    subject: str
    blocking: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """A gate's outcome and the owed verdicts behind it, worst first."""

    outcome: Outcome
    verdicts: tuple[tuple[Owed, Verdict], ...]

    def count(self, outcome: Outcome, *, blocking: bool = True) -> int:
        """Return how many blocking (or advisory) verdicts came to ``outcome``."""
        return sum(owed.blocking is blocking and verdict.outcome is outcome for owed, verdict in self.verdicts)


def decide(
    owed: Collection[Owed], verdicts: Mapping[Owed, Verdict], why: Callable[[Owed], Phrase] | None = None
) -> Decision:
    """STOP if a blocking clause stops; else UNDECIDED if one was not decided; else PASS.

    ``why`` tells the reason for what has no verdict. A run that owes no blocking verdict is UNDECIDED: a gate must never
    pass by asking nothing. Raises ValueError for a verdict that nobody owes, and for one owed twice.
    """
    if len({(item.clause, item.subject) for item in owed}) != len(owed):
        raise ValueError("a verdict is owed twice")
    if strangers := sorted(set(verdicts) - set(owed)):
        raise ValueError(f"verdicts that nobody owes: {strangers[:3]}")
    reason = why or (lambda _: say("the run ended before this clause was decided"))
    full = [(item, verdicts.get(item) or Verdict.undecided(reason(item))) for item in owed]
    full.sort(key=lambda pair: (not pair[0].blocking, SEVERITY.index(pair[1].outcome)))
    blocking = [verdict.outcome for item, verdict in full if item.blocking]
    if Outcome.STOP in blocking:
        outcome = Outcome.STOP
    elif not blocking or Outcome.UNDECIDED in blocking:
        outcome = Outcome.UNDECIDED
    else:
        outcome = Outcome.PASS
    return Decision(outcome, tuple(full))
