"""What the gate before measured, taken into a run's own evidence when it begins: later gates compare with it, also when judged again.

Only the run that opens this gate counts: certified by both parties, on this rack, by this agreement (kvgate.campaign.order).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from checks.verdict import Verdict
from kvgate.codec import verdict_from_json, verdict_to_json
from kvgate.evidence.store import Evidence
from kvgate.gate import noted

if TYPE_CHECKING:  # the database is loaded when a run begins
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunRecord

#: Kind of the journal line that holds the verdicts.
BASELINE = "baseline"

#: Gates that compare with the one before.
COMPARES = ("G3",)


def keep(evidence: Evidence, ledger: Ledger, run: RunRecord) -> None:
    """Take over the verdicts of a run that have numbers, once. Raises Unwritable."""
    if evidence.notes(BASELINE):
        return
    recorded = ledger.recorded(run).items()
    rows = [[*item[:2], verdict_to_json(row.verdict)] for item, row in recorded if row.verdict.quantities]
    noted.keep(
        evidence, BASELINE, {"verdicts": rows}, gate=run.gate, run=run.id, campaign=run.campaign, ticket=run.ticket_digest,
        count=len(rows),
    )  # fmt: skip


class Baseline:
    """The ``baseline`` fixture: verdicts of the run before by clause and subject, as the evidence keeps them."""

    def __init__(self, evidence: Evidence | None) -> None:
        self._evidence = evidence
        self._known: Mapping[tuple[str, str], Verdict] | None = None

    def __call__(self, clause: str, subject: str) -> Verdict | None:
        """What a clause came to on a subject; None where nothing was measured. Raises Damaged."""
        if self._known is None:
            self._known = {} if self._evidence is None else _read(self._evidence)
        return self._known.get((clause, subject))


def _read(evidence: Evidence) -> Mapping[tuple[str, str], Verdict]:
    def verdicts(document: Mapping[str, Any]) -> Mapping[tuple[str, str], Verdict]:
        listed = noted.rows(document, "verdicts")
        return {(str(row[0]), str(row[1])): verdict_from_json(row[2]) for row in listed}

    return noted.read(evidence, BASELINE, "the baseline", verdicts) or {}
