"""The evidence of one run: every line and blob, and whether it and the ledger tell the same story."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checks.verdict import Verdict
from kvgate import agreement as agreements
from kvgate.codec import Seal, canonical, digest, parse_object, verdict_to_json
from kvgate.errors import KvgateError
from kvgate.evidence.check import EvidenceCheck, check_folder
from kvgate.evidence.store import Evidence
from kvgate.gate import stored
from kvgate.ledger.findings import Finding
from kvgate.ledger.queries import latest
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, StoredDecision

_SHOWN = 5


@dataclass(frozen=True)
class Looked:
    """What was found, and how much was looked at."""

    findings: tuple[Finding, ...]
    lines: int = 0
    blobs: int = 0


def folder_of(run: RunRecord, root: Path | None) -> Path | None:
    """Where the evidence of a run lies: below ``root``, without one where it was written; None when it is not there."""
    path = Path(run.evidence) if root is None else root / run.id
    return path if (path / "journal.jsonl").is_file() else None


def look(ledger: Ledger, run: RunRecord, root: Path | None) -> Looked:
    """Look at one run's evidence. A run that never began to look owes none."""
    entries = [entry for entry in ledger.decisions(run) if entry.judgement == 1]
    sealed = [entry for entry in entries if entry.evidence_lines]
    folder = folder_of(run, root)
    if folder is None:
        if not sealed:
            return Looked(())
        where = root / run.id if root is not None else run.evidence
        return Looked((Finding("evidence-missing", run.id, f"run {run.id}: its evidence is not at {where}"),))
    last = sealed[-1] if sealed else None
    seal = Seal(last.evidence_lines, last.evidence_head, last.evidence_root) if last else None
    checked = check_folder(folder, seal)
    earlier = [Seal(one.evidence_lines, one.evidence_head, one.evidence_root) for one in sealed[:-1]]
    found = [one for before in earlier for one in _problems(run, check_folder(folder, before))]
    found += [one for one in _problems(run, checked) if seal is not None or not _unfinished(one)]
    if not checked.problems:
        found += _story(ledger, run, folder, last)
    return Looked(tuple(found), checked.lines, checked.blobs)


def _unfinished(finding: Finding) -> bool:
    """Whether it is what a run looks like that is being written, or whose process died: nobody sealed that end."""
    return " has no end (" in finding.text


def _problems(run: RunRecord, checked: EvidenceCheck) -> Iterator[Finding]:
    for problem in checked.problems:
        kind = "evidence-blob" if "blob" in problem and not problem.startswith("line ") else "evidence-line"
        yield Finding(kind, run.id, f"evidence of run {run.id}: {problem}")
    for problem in checked.set_back:
        yield Finding("clock", run.id, f"evidence of run {run.id}: {problem}")


def _story(ledger: Ledger, run: RunRecord, folder: Path, last: StoredDecision | None) -> Iterator[Finding]:
    try:
        evidence = Evidence.open(folder)
        start = evidence.start
        if (evidence.run, start.gate, start.campaign) != (run.id, run.gate, run.campaign):
            told = f"it is of run {evidence.run}, {start.gate} of {start.campaign}"
            yield Finding("evidence-line", run.id, f"evidence at {folder} is not of run {run.id}: {told}")
            return
        yield from _basis(ledger, run, evidence)
        yield from _verdicts(ledger, run, evidence, last)
    except (KvgateError, ValueError) as error:
        yield Finding("evidence-line", run.id, f"evidence of run {run.id} cannot be read: {error}")


def _basis(ledger: Ledger, run: RunRecord, evidence: Evidence) -> Iterator[Finding]:
    """Agreement and inventory, as they were kept before anything was asked, against those that the ledger has for the run."""
    start = evidence.start
    then = agreements.stored(start.acceptance)
    masked = "masked" in start.fields
    if then.digest != run.acceptance_digest:
        now = next((one for one in ledger.revisions(run.campaign) if one.digest == run.acceptance_digest), None)
        there = None if now is None else agreements.stored(now.content).acceptance
        changes = () if there is None else agreements.differences(then.acceptance, there)
        text = f"run {run.id} was judged by another agreement than the ledger says: a limit was changed after the fact"
        if changes:
            text += "; " + "; ".join(f"{one.clause} {one.what} {one.before} -> {one.after}" for one in changes[:_SHOWN])
        elif there is not None:
            text = f"run {run.id} was judged by an agreement of other words than the ledger has, though of the same numbers"
            text += ": what looks like a secret in it was masked in the evidence" * masked
        yield Finding("limit", run.id, text)
    if not masked and digest(start.inventory) != run.inventory_digest:
        yield Finding("inventory", run.id, f"run {run.id} went by another inventory than the ledger says")


def _verdicts(ledger: Ledger, run: RunRecord, evidence: Evidence, last: StoredDecision | None) -> Iterator[Finding]:
    """What both say that was sealed; what came after that, in a run that was taken up again, is in no seal yet."""
    if last is None or not (kept := stored.kept(evidence, last.evidence_lines)):
        return
    until = parse_object(last.content).get("last")
    rows = latest([row for row in ledger.verdicts(run) if isinstance(until, int) and row.id <= until])
    there = {item: rows[item[:2]] for item in ledger.owed(run) if item[:2] in rows}
    wrong = []
    for item in dict.fromkeys((*kept, *there)):
        one, other = kept.get(item), there.get(item)
        if one is None or other is None or _said(one.verdict) != _said(other.verdict):
            told = (one.verdict.outcome.value if one else "none", other.verdict.outcome.value if other else "none")
            wrong.append(f"{item.clause} on {item.subject}: the evidence says {told[0]}, the ledger {told[1]}")
    if wrong:
        more = f" ({len(wrong)} such)" if len(wrong) > 1 else ""
        yield Finding("verdicts", run.id, f"run {run.id}: {wrong[0]}{more}")


def _said(verdict: Verdict) -> str:
    return canonical(verdict_to_json(verdict))


def strangers(root: Path, known: set[str]) -> Iterator[Finding]:
    """Evidence of runs that the ledger does not have: who deletes a run from it forgets, or cannot reach, the folder."""
    for journal in sorted(root.glob("*/journal.jsonl")):
        if journal.parent.name not in known:
            yield Finding(
                "run-missing", journal.parent.name,
                f"there is evidence of run {journal.parent.name}, and no such run in the ledger: it was deleted there, or the "
                "evidence of another ledger lies in the same folder",
            )  # fmt: skip
