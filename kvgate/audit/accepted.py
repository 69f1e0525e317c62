"""What the decision log accepts must be what both parties signed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from kvgate.campaign.statements import Waiver
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.trust import Trust
from kvgate.ledger.findings import Finding
from kvgate.ledger.rows import StoredDecision


def check(
    entry: StoredDecision, known: Mapping[str, tuple[Envelope, Waiver]], trust: Trust | None
) -> Iterator[Finding]:
    """A decision that accepts deviations must name signed waivers of its own run, for just those verdicts and days."""
    for clause, subject, document, until in waived(entry):
        place = f"decision {entry.seq} of run {entry.run} accepts {clause} on {subject}"
        found = known.get(document)
        if found is None:
            yield Finding("certificate", entry.run, f"{place} by a waiver that is not in the ledger ({document[:16]})")
            continue
        envelope, said = found
        accepted = {(one.clause, one.subject) for one in said.deviations}
        if said.run != entry.run or (clause, subject) not in accepted or said.until != until:
            yield Finding("certificate", entry.run, f"{place}; waiver {document[:16]} says something else")
        if trust is not None and weigh(envelope, trust, datetime.now(UTC)).state is not State.FINAL:
            yield Finding("certificate", entry.run, f"{place}; waiver {document[:16]} is not signed by both parties")


def waived(entry: StoredDecision) -> list[tuple[str, str, str, str]]:
    """Return clause, subject, digest of the waiver and its last day, of everything that a decision accepts."""
    rows = json.loads(entry.content).get("waivers", [])
    return [(str(clause), str(subject), str(document), str(until)) for clause, subject, document, until in rows]
