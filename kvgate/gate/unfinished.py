"""Runs that came to neither PASS nor STOP: whether all that their evidence tells is in the ledger, and putting it there.

A run that dies leaves answers that nobody judged. Unjudged, a device that failed in it would be forgotten by the next attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checks.decision import Owed
from checks.phrase import Phrase, say
from checks.verdict import Outcome
from kvgate.evidence.store import begun
from kvgate.gate.judged import Judged

if TYPE_CHECKING:
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle, VerdictRow


@dataclass(frozen=True, slots=True)
class Unjudged:
    """That answers of a run were never judged. ``folder`` is where they lie, None where they are not to be found here."""

    why: Phrase
    folder: Path | None


def folder_of(run: RunHandle, root: Path | None = None) -> Path | None:
    """Evidence folder of a run that has begun: where it was written, else below ``root``; None when it is in neither place."""
    places = [Path(run.evidence), *([] if root is None else [root / run.id])]
    return next((place for place in places if begun(place)), None)


def unjudged(ledger: Ledger, run: RunHandle, root: Path | None = None) -> Unjudged | None:
    """Say what of a run was never judged; None where it was, or where no host had been asked. Its end may be there or not."""
    if ledger.outcome(run).outcome is not Outcome.UNDECIDED or stops(ledger, run):
        return None
    own = [entry for entry in ledger.decisions(run) if entry.judgement == 1]
    sealed = max((entry.evidence_lines for entry in own), default=0)
    folder, looked = folder_of(run, root), bool(ledger.recorded(run) or ledger.seen(run))
    if folder is None:
        return (
            Unjudged(say("its evidence is not at {path}", path=run.evidence), None) if looked and not sealed else None
        )
    count = _answers_after(folder, sealed)
    if not count and (sealed or not looked):
        return None
    return Unjudged(say("{count} answers of hosts in {path} were never judged", count=count, path=str(folder)), folder)


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


def _answers_after(folder: Path, line: int) -> int:
    """Answers in the journal behind a line. What cannot be read holds one, for all that is known."""
    try:
        lines = (folder / "journal.jsonl").read_bytes().split(b"\n")[:-1]  # behind the last newline: cut off
    except OSError:
        return 1
    return sum(b'"kind":"answer"' in one for one in lines[line:])
