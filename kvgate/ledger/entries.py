"""What the ledger writes for one verdict: the row with everything that was said, and one row a number."""

from __future__ import annotations

from checks.verdict import Verdict, number
from kvgate.codec import canonical, printable, verdict_to_json
from kvgate.ledger.rows import RunHandle, VerdictRow


def verdict_entry(run: RunHandle, row: VerdictRow, judgement: int, utc: str) -> dict[str, object]:
    """Columns of one verdict."""
    verdict: Verdict = row.verdict
    return {
        "run": run.id, "clause": row.clause, "subject": row.subject, "judgement": judgement,
        "outcome": verdict.outcome.value, "measured": printable(verdict.measured), "required": printable(verdict.required),
        "unit": verdict.unit, "note": printable(verdict.note), "content": canonical(verdict_to_json(verdict)),
        "evidence": " ".join(str(seq) for seq in row.evidence), "basis": row.basis, "reason": row.reason, "utc": utc,
    }  # fmt: skip


def measurement_entries(run: RunHandle, row: VerdictRow, judgement: int) -> list[dict[str, object]]:
    """Columns of the numbers that a verdict measured."""
    return [
        {
            "run": run.id, "clause": row.clause, "subject": row.subject, "judgement": judgement, "name": found.name,
            "value": number(found.value), "unit": found.unit,
        }
        for found in row.verdict.quantities
    ]  # fmt: skip
