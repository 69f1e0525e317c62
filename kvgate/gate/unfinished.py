"""Runs that came to neither PASS nor STOP: whether all that their evidence tells is in the ledger, and putting it there.

A run that dies leaves answers that nobody judged. Unjudged, a device that failed in it would be forgotten by the next attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from checks.decision import Owed
from checks.phrase import say
from checks.verdict import Outcome
from kvgate.errors import NotAllowed
from kvgate.evidence.store import Evidence, begun
from kvgate.gate.judged import Judged

if TYPE_CHECKING:
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle, RunRecord, VerdictRow


def looked(ledger: Ledger, run: RunHandle) -> bool:
    """Whether a run asked any host, by its rows."""
    return bool(ledger.recorded(run) or ledger.seen(run))


def unjudged(ledger: Ledger, run: RunHandle) -> bool:
    """Whether a run may have seen a STOP that its rows do not hold (see kvgate.ledger.standing)."""
    from kvgate.ledger.standing import unjudged as rule

    return rule(looked(ledger, run), stops(ledger, run), ledger.decisions(run))


def taken_up(ledger: Ledger, run: RunHandle) -> bool:
    """Whether a run that had its end went on, and has no end since."""
    from kvgate.ledger.standing import taken_up as rule

    return rule(ledger.decisions(run))


def take_up(ledger: Ledger, run: RunRecord) -> None:
    """Note that a run which had its end goes on: until its next end nobody takes it for judged. Raises Unwritable."""
    from kvgate.ledger.rows import TAKEN_UP

    if run.state != "started" and not taken_up(ledger, run):
        ledger.interrupt(run, f"{TAKEN_UP}; before: {run.why}" if run.why else TAKEN_UP)


def folder_of(run: RunHandle, root: Path | None = None) -> Path | None:
    """Evidence folder of a run that has begun: where it was written, else below ``root``; None when it is in neither place."""
    places = [Path(run.evidence), *([] if root is None else [root / run.id])]
    return next((place for place in places if begun(place)), None)


def of_run(evidence: Evidence, run: RunHandle) -> Evidence:
    """Return evidence that is the run's own by its first line. Raises NotAllowed for any other, and lets go of that."""
    if (evidence.run, evidence.start.fields.get("ticket", run.ticket_digest)) == (run.id, run.ticket_digest):
        return evidence
    evidence.close()
    raise NotAllowed(say("the evidence at {path} is of another run than {run}", path=str(evidence.path), run=run.id))


def stops(ledger: Ledger, run: RunHandle) -> int:
    """How many blocking verdicts of a run came to STOP."""
    return sum(item.blocking and row.verdict.outcome is Outcome.STOP for item, row in ledger.recorded(run).items())


def missing_stops(ledger: Ledger, run: RunHandle, judged: Mapping[Owed, Judged]) -> list[VerdictRow]:
    """What evidence that was judged again comes to STOP and the ledger does not have so, as rows of the run."""
    from kvgate.ledger.rows import VerdictRow

    known = ledger.recorded(run)
    return [
        VerdictRow(item.clause, item.subject, one.verdict, one.evidence, one.basis, one.reason)
        for item in ledger.owed(run)
        if (one := judged.get(item)) is not None
        and one.verdict.outcome is Outcome.STOP
        and (item not in known or known[item].verdict.outcome is not Outcome.STOP)
    ]
