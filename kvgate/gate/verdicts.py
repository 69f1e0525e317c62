"""The one place where "could not tell" becomes UNDECIDED: what the run of one gate test comes to."""

from __future__ import annotations

from collections.abc import Sequence

from checks.acceptance import Clause
from checks.decision import Owed
from checks.phrase import say
from checks.verdict import Verdict
from kvgate.errors import DECLARABLE, CannotTell, Unsupported
from kvgate.gate.declared import instead
from kvgate.gate.judged import Judged
from kvgate.inventory.model import Rack


def given(rack: Rack, clause: Clause, owed: Owed, verdicts: Sequence[Verdict]) -> Judged:
    """What a test decided, which is one verdict and no other number."""
    if len(verdicts) != 1:
        return Judged(Verdict.undecided(say("the test decided {count} times instead of once", count=len(verdicts))))
    if verdicts[0].declarable:
        return instead(rack, owed, verdicts[0], Unsupported.__name__)
    return Judged(verdicts[0], "declared" if clause.answer == "declared" else "measured")


def untold(rack: Rack, owed: Owed, error: CannotTell) -> Judged:
    """What could not be told; a person may have answered for it where nobody can measure."""
    verdict = Verdict.undecided(error.phrase)
    if isinstance(error, DECLARABLE):
        return instead(rack, owed, verdict, type(error).__name__)
    return Judged(verdict, reason=type(error).__name__)


def failed(error: Exception) -> Judged:
    """A fault of kvgate itself, which decides nothing."""
    kind = type(error).__name__
    return Judged(
        Verdict.undecided(say("kvgate failed on this clause: {kind}: {error}", kind=kind, error=str(error))),
        reason=kind,
    )
