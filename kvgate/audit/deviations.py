"""Waivers and reopenings: each must be readable and signed, and what the log accepts must be what both parties signed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from kvgate.campaign import statements
from kvgate.campaign.statements import Reopening, Waiver
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.trust import Trust
from kvgate.errors import Refused
from kvgate.ledger.findings import Finding
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import StoredDecision


def look(ledger: Ledger, trust: Trust | None) -> Iterator[Finding]:
    """Yield what is wrong with the deviations of a ledger. Signatures are weighed only by a trust file."""
    known: dict[str, tuple[Envelope, Waiver]] = {}
    for stored in ledger.envelopes(kind=statements.WAIVER):
        place = f"waiver {stored.id} in the ledger"
        try:
            envelope = envelopes.read(stored.content, place)
            known[envelope.digest] = (envelope, statements.read(envelope, statements.WAIVER, Waiver))
        except Refused as error:
            yield Finding("certificate", place, str(error))
            continue
        yield from _signatures(place, envelope, trust)
    for stored in ledger.envelopes(kind=statements.REOPENING):
        place = f"reopening {stored.id} in the ledger"
        try:
            envelope = envelopes.read(stored.content, place)
            statements.read(envelope, statements.REOPENING, Reopening)
        except Refused as error:
            yield Finding("certificate", place, str(error))
            continue
        yield from _signatures(place, envelope, trust)
    for entry in ledger.decisions():
        if entry.kind == "waived":
            yield from _accepted(entry, known, trust)


def _signatures(place: str, envelope: Envelope, trust: Trust | None) -> Iterator[Finding]:
    if trust is not None:
        for problem in weigh(envelope, trust, datetime.now(UTC)).problems:
            yield Finding("certificate", place, f"{place}: {problem}")


def _accepted(
    entry: StoredDecision, known: dict[str, tuple[Envelope, Waiver]], trust: Trust | None
) -> Iterator[Finding]:
    """A decision that accepts deviations must name signed waivers of its own run, for just those verdicts and days."""
    for clause, subject, document, until in _named(entry):
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


def _named(entry: StoredDecision) -> list[tuple[str, str, str, str]]:
    rows = json.loads(entry.content).get("waivers", [])
    return [(str(clause), str(subject), str(document), str(until)) for clause, subject, document, until in rows]
