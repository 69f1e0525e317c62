"""Giving a run that ended early its end: what its evidence says is judged first, and what comes to STOP stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checks.decision import Owed
from checks.phrase import Phrase, say
from kvgate.cli.again import session_again
from kvgate.codec import NO_EVIDENCE, Seal
from kvgate.errors import KvgateError, Unproven
from kvgate.evidence.store import Evidence
from kvgate.gate.judged import Judged
from kvgate.gate.stored import sealed
from kvgate.gate.unfinished import folder_of, looked, missing_stops, of_run, stops
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord


@dataclass(frozen=True, slots=True)
class Closed:
    """What closing found: blocking verdicts that came to STOP, or why its evidence could not be judged (None: it was)."""

    stops: int
    unjudged: Phrase | None


def closed(book: Ledger, run: RunRecord, reason: str, root: Path | None = None) -> Closed:
    """Judge the evidence of a run offline, put every STOP of it into the ledger, and end the run. Raises Unwritable.

    ``root`` is where evidence may lie if not where it was written. Evidence that cannot be judged leaves the run without a
    seal: whether it saw a STOP is unknown, and the campaign waits.
    """
    seal, why = NO_EVIDENCE, _nowhere(book, run)
    if (folder := folder_of(run, root)) is not None:
        try:
            seal, why = _judged(book, run, folder, reason), None
        except KvgateError as error:
            why = error.phrase
    book.interrupt(run, f"closed: {reason}", seal=seal)
    return Closed(stops(book, run), why)


def _nowhere(book: Ledger, run: RunRecord) -> Phrase | None:
    """Why a run without a folder cannot be judged; None for one that had asked nobody."""
    if not looked(book, run):
        return None
    return say("its evidence is not at {path}: bring it there, or name its parent with --evidence", path=run.evidence)


def _judged(book: Ledger, run: RunRecord, folder: Path, reason: str) -> Seal:
    with Evidence.open(folder, write=True) as opened:  # mends a cut last line, and nobody else writes meanwhile
        evidence = of_run(opened, run)
        if problems := evidence.verify(_last_seal(book, run)).problems:
            raise Unproven(say("{path}: {problem}", path=str(folder), problem=problems[0]))
        session = session_again(folder)
        if left := [item for item, _ in session.owed if item not in session.judged]:
            clause, count = left[0].clause, len(left)
            raise Unproven(say("not everything was judged: {count} left, {clause} first", count=count, clause=clause))
        book.record(run, missing_stops(book, run, session.judged))
        return sealed(evidence, _recorded(book, run), "closed", why=reason)


def _last_seal(book: Ledger, run: RunRecord) -> Seal | None:
    """What an earlier end of the run sealed of its evidence: that part must still be there as it was."""
    own = [entry for entry in book.decisions(run) if entry.judgement == 1 and entry.evidence_lines]
    return Seal(own[-1].evidence_lines, own[-1].evidence_head, own[-1].evidence_root) if own else None


def _recorded(book: Ledger, run: RunRecord) -> Mapping[Owed, Judged]:
    rows = book.recorded(run)
    return {item: Judged(row.verdict, row.basis, row.reason, row.evidence) for item, row in rows.items()}
