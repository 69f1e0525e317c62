"""What became of the runs before this one: the next run says so, because a killed one could not."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checks.verdict import Outcome

if TYPE_CHECKING:
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunRecord

#: So many runs are spoken of; who has more of them has read it often enough.
_MOST = 3


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run that came to neither PASS nor STOP, and how far it got. ``answers`` is None where its evidence is not here."""

    run: RunRecord
    stored: int  # verdicts
    owed: int
    untold: int  # without a verdict, or with one that could not be told
    answers: int | None
    alive: bool  # another process is writing it at this moment


def open_ended(ledger: Ledger, campaign: str, gate: str) -> Sequence[Earlier]:
    """Return the runs of a gate since its last PASS or STOP, newest first; of many the newest ones."""
    found: list[Earlier] = []
    for run in reversed(ledger.runs(campaign, gate)):
        entries = [entry for entry in ledger.decisions(run) if entry.judgement == 1]
        if len(found) == _MOST or (entries and entries[-1].outcome is not Outcome.UNDECIDED):
            break
        found.append(look(ledger, run))
    return found


def look(ledger: Ledger, run: RunRecord) -> Earlier:
    """Look at one run: its rows and, where it lies here, its journal."""
    journal = Path(run.evidence) / "journal.jsonl"
    answers: int | None = None
    with suppress(OSError):
        answers = journal.read_bytes().count(b'"kind":"answer"')
    return Earlier(run, *ledger.progress(run), answers, _alive(journal))


def _alive(journal: Path) -> bool:
    """Whether a process holds the journal's lock. What cannot be looked at is taken for dead: it only changes words."""
    with suppress(BlockingIOError, OSError), journal.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def answers_kept(folder: Path) -> int:
    """How many answers of hosts the evidence of a run holds by now, by its bytes: it may be written to meanwhile, or closed."""
    try:
        return (folder / "journal.jsonl").read_bytes().count(b'"kind":"answer"')
    except OSError:
        return 0
