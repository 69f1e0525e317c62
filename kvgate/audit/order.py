"""Runs of a gate that began although no PASS of the gate before it counted then: there was none, or a STOP had taken it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.verdict import Outcome
from kvgate.audit.stoploss import stopped_early
from kvgate.inventory.calendar import GATES
from kvgate.ledger.findings import Finding
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, StoredDecision


def look(ledger: Ledger) -> Iterator[Finding]:
    """Yield every run that stands on nothing. By the rows alone: what a PASS needs besides (signatures, time, parts) is told of its own.

    What counted at its beginning is what the decision log held up to the entry that its start ticket names.
    """
    log = [one for one in ledger.decisions() if one.judgement == 1]
    heads = {entry.hash: entry.seq for entry in ledger.decisions()}
    runs = ledger.runs()
    for run in runs:
        if run.gate == GATES[0]:
            continue
        known = [one for one in log if one.seq <= heads.get(run.prev, 0)]
        before = GATES[GATES.index(run.gate) - 1]
        same = [one for one in runs if one.campaign == run.campaign and one.seq < run.seq]
        passed = [one for one in same if one.gate == before and _came_to(one, known) is Outcome.PASS]
        if not passed:
            text = f"run {run.id} ({run.gate} of campaign {run.campaign}) began although no run of {before} had come to PASS"
            yield Finding("out-of-order", run.id, text)
        elif (by := _taken_back(ledger, passed[-1], same, known)) is not None:
            text = (
                f"run {run.id} ({run.gate} of campaign {run.campaign}) began on the PASS of {before} in run {passed[-1].id}, "
                f"which the STOP of {by.gate} in run {by.id} had taken back"
            )
            yield Finding("out-of-order", run.id, text)


def _came_to(run: RunRecord, known: Sequence[StoredDecision]) -> Outcome | None:
    """What a run had come to by then, waivers counted; None where it had no end."""
    own = [one for one in known if one.run == run.id]
    return own[-1].outcome if own else None


def _taken_back(
    ledger: Ledger, passed: RunRecord, runs: Sequence[RunRecord], known: Sequence[StoredDecision]
) -> RunRecord | None:
    """Return the first later run of the gate, or of one that it stands on, that had come to STOP or to an early end after one."""
    under = GATES[: GATES.index(passed.gate) + 1]
    for run in runs:
        if run.seq <= passed.seq or run.gate not in under:
            continue
        own = [one for one in known if one.run == run.id]
        if own and (own[-1].outcome is Outcome.STOP or (own[-1].kind == "interrupted" and stopped_early(ledger, run))):
            return run
    return None
