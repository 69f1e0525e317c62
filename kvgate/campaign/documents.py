"""The signed documents of a campaign, weighed at one moment: who has signed what, and what of it counts.

A document counts when both parties of the trust file signed it and it says itself what it is about; the columns of the
ledger that it is found by prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from checks.phrase import Phrase, say
from kvgate.campaign import statements
from kvgate.campaign.statements import Predicate, Reopening, Stop, Waiver
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Certificate
from kvgate.certificates.examine import Asked, examine
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.ticket import StartTicket
from kvgate.certificates.trust import Trust
from kvgate.errors import Unproven
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunHandle, StoredDecision, StoredEnvelope


@dataclass(frozen=True, slots=True)
class Document(Generic[Predicate]):
    """One signed statement, read and weighed. ``signers`` are the parties whose signature counts."""

    digest: str
    said: Predicate
    final: bool
    refused: bool
    signers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Certified:
    """How far the certificates of a run have come: NONE, REFUSED, DRAFT or FINAL, UNTRUSTED without a trust file; the best counts."""

    state: str = "NONE"
    document: str | None = None
    certificate: Certificate | None = None


class Documents:
    """All envelopes of a campaign. What cannot be read or is not what its kind says is in ``problems`` and counts nothing."""

    def __init__(self, ledger: Ledger, campaign: str, trust: Trust | None, at: datetime) -> None:
        self.at, self.trust, self.campaign = at, trust, campaign
        self.problems: list[str] = []
        self.log = {entry.hash: entry for entry in ledger.decisions()}
        self._stored = ledger.envelopes(campaign=campaign)
        self.waivers = list(self._read(statements.WAIVER, Waiver))
        self.reopenings = list(self._read(statements.REOPENING, Reopening))
        self.tickets = list(self._read(statements.TICKET, StartTicket))

    def _read(self, kind: str, model: type[Predicate]) -> Iterator[Document[Predicate]]:
        for stored in self._stored:
            if stored.kind != kind:
                continue
            try:
                envelope = envelopes.read(stored.content, f"{kind} {stored.id}")
                said = statements.read(envelope, kind, model)
            except Unproven as error:
                self.problems.append(str(error))
                continue
            if said.campaign != self.campaign:
                self.problems.append(
                    f"{kind} {envelope.digest[:16]} is of campaign {said.campaign}, not of {self.campaign}"
                )
                continue
            if self.trust is None:
                yield Document(envelope.digest, said, final=False, refused=False, signers=())
                continue
            weighed = weigh(envelope, self.trust, self.at)
            refused = weighed.state is State.REFUSED
            signers = () if refused else tuple(line.party for line in weighed.signed)
            yield Document(envelope.digest, said, weighed.state is State.FINAL, refused, signers)

    def certified(self, run: RunHandle) -> Certified:
        """Examine every certificate of a run. Only a PASS that is about this very run and decision is FINAL."""
        best = Certified()
        for stored in self._stored:
            if stored.kind == "certificate" and stored.run == run.id:
                found = self._certificate(stored, run)
                if _RANK[found.state] >= _RANK[best.state]:
                    best = found
        return best

    def _certificate(self, stored: StoredEnvelope, run: RunHandle) -> Certified:
        asked = Asked(self.at, self.trust, draft=True, simulated=run.simulated)
        found = examine(stored.content, asked)
        if found.certificate is None or found.envelope is None:
            self.problems.append(f"certificate {stored.id}: {found.checks[-1].found}")
            return Certified("REFUSED")
        said = found.certificate.predicate
        entry = self.log.get(said.entry.hash)
        if (said.run, said.ticket, said.campaign) != (run.id, run.ticket_digest, run.campaign) or entry is None:
            self.problems.append(f"certificate {stored.digest[:16]} is not about run {run.id} of this ledger")
            return Certified("REFUSED")
        if said.decision != "PASS":
            return Certified()
        if self.trust is None or found.endorsement is None:
            return Certified("UNTRUSTED", found.envelope.digest, found.certificate)
        bad = [check for check in found.checks if check.outcome != "PASS" and check.name != "validity"]
        if bad:
            self.problems.append(f"certificate {stored.digest[:16]}: {bad[0].name}: {bad[0].found}")
            return Certified("REFUSED", found.envelope.digest)
        state = "FINAL" if found.endorsement.state is State.FINAL else "DRAFT"
        return Certified(state, found.envelope.digest, found.certificate)

    def countable(self, run: RunHandle) -> bool:
        """Whether the other party can count the run: its start ticket is signed, by a party where it is known whose keys count."""
        if self.trust is not None:
            return self.ticket(run) is not None
        return any(one.said.ticket == run.ticket_digest and one.said.run == run.id for one in self.tickets)

    def ticket(self, run: RunHandle) -> str | None:
        """Return the party that signed the start ticket of a run; None when nobody whose key counts did."""
        signed = [one for one in self.tickets if one.said.ticket == run.ticket_digest and one.said.run == run.id]
        return next((one.signers[0] for one in signed if one.signers), None)

    def reopening(self, run: RunHandle) -> str | None:
        """Return the digest of the FINAL document that lets the campaign go on after this run as it stands now."""
        last = self.last(run)
        for one in self.reopenings:
            if one.final and any(self._means(stop, run, last) for stop in one.said.stops):
                return one.digest
        return None

    def unopened(self, run: RunHandle) -> Phrase | None:
        """Why a document that would let the campaign go on after this run does not; None when there is none, or one that counts."""
        last = self.last(run)
        about = [one for one in self.reopenings if any(stop.run == run.id for stop in one.said.stops)]
        if not about or self.reopening(run) is not None:
            return None
        if self.trust is None:
            return say("a reopening is there, but it is not known whose signatures count, so it was not weighed")
        found = about[-1]
        if not any(self._means(stop, run, last) for one in about for stop in one.said.stops):
            return say("a reopening is there, but it is about an earlier decision of that run")
        if found.refused:
            return say("a reopening is there, but it carries a signature that does not count")
        if not found.signers:
            return say("a reopening is there, but signed by nobody whose key counts")
        return say("a reopening is there, but signed by {party} only", party=found.signers[0])

    @staticmethod
    def _means(stop: Stop, run: RunHandle, last: StoredDecision | None) -> bool:
        return last is not None and (stop.run, stop.decision) == (run.id, last.hash)

    def last(self, run: RunHandle) -> StoredDecision | None:
        """Return the newest entry by which the run itself came to something; waivers are none."""
        own = [one for one in self.log.values() if one.run == run.id and one.judgement == 1 and one.kind != "waived"]
        return max(own, key=lambda one: one.seq, default=None)

    def waived(self, run: RunHandle) -> frozenset[str]:
        """Return the waivers that the decision log names for the run: only such a waiver has ever had an effect."""
        found = [one.content for one in self.log.values() if one.run == run.id and one.kind == "waived"]
        return frozenset(document for content in found for document in _documents(content))


def _documents(content: str) -> Iterator[str]:
    from kvgate.codec import parse_object

    listed = parse_object(content).get("waivers")
    for row in listed if isinstance(listed, list) else ():
        if isinstance(row, list) and len(row) == 4 and isinstance(row[2], str):
            yield row[2]


_RANK = {"NONE": 0, "REFUSED": 1, "UNTRUSTED": 1, "DRAFT": 2, "FINAL": 3}
