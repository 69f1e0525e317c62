"""Verdicts that could not be told for one and the same reason: a host that is down is one trouble, not a hundred."""

from __future__ import annotations

from collections.abc import Iterable

from checks.decision import Owed
from checks.phrase import Phrase
from checks.verdict import Outcome, Verdict

_CLAUSES = 4  # from so many clauses on, a reason is told once for all of them


def shared(rows: Iterable[tuple[Owed, Verdict]]) -> dict[Phrase, list[Owed]]:
    """Reason -> what it left undecided, for reasons that several clauses share; the most common first."""
    found: dict[Phrase, list[Owed]] = {}
    for owed, verdict in rows:
        if verdict.outcome is Outcome.UNDECIDED and verdict.note is not None and not str(verdict.measured):
            found.setdefault(verdict.note, []).append(owed)
    common = {reason: items for reason, items in found.items() if len({item.clause for item in items}) >= _CLAUSES}
    return dict(sorted(common.items(), key=lambda pair: -len(pair[1])))
