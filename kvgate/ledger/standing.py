"""What a run came to, from its rows alone; a decision row that says something else is a problem, not an answer.

A waiver changes nothing here: whether it counts is a matter of signatures, which kvgate.campaign looks at.
"""

from __future__ import annotations

from collections.abc import Sequence

from checks.decision import Decision, Owed, decide
from checks.verdict import Outcome
from kvgate.codec import canonical, verdict_to_json
from kvgate.ledger.queries import latest
from kvgate.ledger.rows import TAKEN_UP, RunRecord, Standing, StoredDecision, StoredVerdict


def recompute(owed: Sequence[Owed], rows: Sequence[StoredVerdict]) -> Decision:
    """Decide again, from the newest verdict row of each owed clause."""
    newest = latest(rows)
    known = {(item.clause, item.subject): item for item in owed}
    return decide(owed, {known[place]: row.verdict for place, row in newest.items() if place in known})


def standing(
    run: RunRecord, owed: Sequence[Owed], rows: Sequence[StoredVerdict], decisions: Sequence[StoredDecision]
) -> Standing:
    """Return the outcome of a run. Without a decision it is UNDECIDED; so it is when decision and verdicts disagree."""
    newest = latest(rows)
    missing = tuple(item for item in owed if (item.clause, item.subject) not in newest)
    own = [entry for entry in decisions if entry.judgement == 1 and entry.kind != "waived"]
    last = own[-1] if own else None
    problems = []
    strangers = sorted(set(newest) - {(item.clause, item.subject) for item in owed})
    if strangers:
        problems.append(f"run {run.id} has verdicts that nobody owes: {strangers[:3]}")
    computed = recompute(owed, rows).outcome
    concluded = any(entry.kind == "decided" for entry in own)
    if run.state == "decided" and not concluded:
        problems.append(f"run {run.id} says decided, but the decision log has no decision of it")
    if run.state != "decided" and concluded:
        problems.append(f"run {run.id} says {run.state}, but the decision log has a decision of it")
    if last is not None and last.kind == "decided" and last.outcome is not computed:
        problems.append(f"run {run.id} was decided {last.outcome}, but its verdict rows come to {computed}")
    if last is not None and last.kind == "interrupted" and last.outcome is not Outcome.UNDECIDED:
        problems.append(f"run {run.id} was interrupted, but the decision log says {last.outcome}")
    decided = run.state == "decided" and last is not None and last.kind == "decided" and not problems
    return Standing(computed if decided else Outcome.UNDECIDED, decided, missing, tuple(problems))


def unjudged(looked: bool, stops: int, decisions: Sequence[StoredDecision]) -> bool:
    """Whether a run may have seen a STOP that its rows do not hold: it looked, and went on or ended without a seal of what it saw.

    ``stops`` are its blocking verdicts that came to STOP: with one, it is known what it is.
    """
    own = [entry for entry in decisions if entry.judgement == 1 and entry.kind != "waived"]
    return looked and not stops and (not own or (own[-1].kind == "interrupted" and not own[-1].evidence_lines))


def taken_up(decisions: Sequence[StoredDecision]) -> bool:
    """Whether a run that had its end went on, and has no end since."""
    own = [entry for entry in decisions if entry.judgement == 1 and entry.kind != "waived"]
    return bool(own) and own[-1].kind == "interrupted" and own[-1].why.startswith(TAKEN_UP)


def unlike(decision: Decision, rows: Sequence[StoredVerdict]) -> list[str]:
    """Where the stored rows are not what is about to be decided. An absent row agrees with UNDECIDED only."""
    newest = latest(rows)
    found = []
    for owed, verdict in decision.verdicts:
        row = newest.pop((owed.clause, owed.subject), None)
        if row is None:
            if verdict.outcome is not Outcome.UNDECIDED:
                found.append(f"{owed.clause} on {owed.subject} is {verdict.outcome}, but no row of it was recorded")
        elif canonical(verdict_to_json(row.verdict)) != canonical(verdict_to_json(verdict)):
            found.append(f"{owed.clause} on {owed.subject} is {verdict.outcome}, but {row.verdict.outcome} reads back")
    found += [f"{clause} on {subject} was recorded, but is not in the decision" for clause, subject in newest]
    return found
