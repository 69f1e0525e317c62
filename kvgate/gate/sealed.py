"""Whether stored evidence is what the ledger sealed: a folder that was written anew is whole in itself all the same."""

from __future__ import annotations

from checks.phrase import say
from kvgate.codec import Seal
from kvgate.errors import NotAllowed, Refused, Unwritable
from kvgate.evidence.store import Evidence


def vouched(evidence: Evidence, ledger: str) -> bool:
    """Tell whether the ledger at that URL knows the run and sealed this evidence; False when no ledger can say.

    Raises NotAllowed when it sealed something else.
    """
    from kvgate.ledger.repository import Ledger

    try:
        book = Ledger.open(ledger, write=False)
        entries = book.decisions(book.run(evidence.run))
    except (Refused, Unwritable):
        return False
    if not entries or not entries[-1].evidence_lines:
        return False
    last = entries[-1]
    check = evidence.verify(Seal(last.evidence_lines, last.evidence_head, last.evidence_root))
    if check.problems:
        raise NotAllowed(
            say(
                "evidence {path} is not what the ledger sealed on {day}: {why}",
                path=str(evidence.path),
                day=str(last.utc),
                why=check.problems[0],
            )
        )
    return True
