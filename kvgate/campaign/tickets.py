"""The start ticket of a run, signed before the first question, so that the other party can count attempts too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from checks.phrase import Phrase, say
from kvgate.campaign import statements
from kvgate.campaign.commands import to_run
from kvgate.certificates import envelope as envelopes
from kvgate.certificates import ticket as tickets
from kvgate.certificates.code import code_digest
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.issue import Ticket
from kvgate.certificates.keys import PublicKey, Signer
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.statement import Resource, Sha256
from kvgate.certificates.ticket import StartTicket
from kvgate.certificates.trust import Trust, Trusted
from kvgate.errors import Unproven
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunHandle, StoredEnvelope


def write(run: RunHandle) -> Envelope:
    """Write the ticket of a run as a statement, unsigned: sequence, nonce, digests of inventory, acceptance and code."""
    said = StartTicket(
        campaign=run.campaign, run=run.id, gate=run.gate, attempt=run.attempt, sequence=run.seq, nonce=run.nonce,
        inventory=run.inventory_digest, acceptance=run.acceptance_digest, code=code_digest(), version=run.code,
        ticket=run.ticket_digest, started=run.started,
    )  # fmt: skip
    subject = Resource(name=f"ticket/{run.id}", digest=Sha256(sha256=run.ticket_digest))
    return statements.write(statements.TICKET, said, [subject])


def sign(run: RunHandle, signer: Signer) -> StoredEnvelope:
    """Sign the ticket of a run that is being written down, as the ledger keeps it. Raises Unproven."""
    envelope = write(run).signed_by(signer)
    return StoredEnvelope(statements.TICKET, run.campaign, run.id, envelope.digest, envelope.to_bytes(), run.started)


def kept(ledger: Ledger, run: RunHandle) -> Iterator[Envelope]:
    """Yield every signed start ticket that the ledger has of just this run, whoever signed it. What cannot be read is none."""
    for stored in ledger.envelopes(campaign=run.campaign, kind=statements.TICKET):
        try:
            envelope = envelopes.read(stored.content, f"ticket {stored.id}")
            said = tickets.read(envelope)
        except Unproven:
            continue
        if (said.run, said.ticket) == (run.id, run.ticket_digest) and envelope.signatures:
            yield envelope


def signed(ledger: Ledger, run: RunHandle, trust: Trust, at: datetime) -> Ticket | None:
    """Return the start ticket of a run that a party signed by a key that counts; None when there is no such."""
    for envelope in kept(ledger, run):
        weighed = weigh(envelope, trust, at)
        if weighed.state is not State.REFUSED and weighed.signed:
            return Ticket(weighed.signed[0].party, envelope)
    return None


def to_certify(
    ledger: Ledger, run: RunHandle, trust: Trust | None, at: datetime, party: str, key: PublicKey
) -> Ticket | Phrase:
    """Return the start ticket for a certificate that ``party`` signs with ``key``, or why there is none and what to do.

    Without a trust file that key alone counts.
    """
    alone = Trust(f"the key of {party}", {key.raw: (Trusted(party, key, None, None, ""),)})
    if (found := signed(ledger, run, trust or alone, at)) is not None:
        return found
    if next(kept(ledger, run), None) is None:
        return say(
            "no party signed its start ticket before it asked, so nobody can count the attempts before it; run it again, "
            "signed: {command}",
            command=to_run(run.gate),
        )
    if trust is None:
        return say(
            "its start ticket was not signed with the key of {party}; name your trust file, to tell whose it is: --trust FILE "
            "(or KVGATE_TRUST)",
            party=party,
        )
    return say(
        "its start ticket was signed by no key of {place} that counts; run it again with a party's own: {command}",
        place=trust.place, command=to_run(run.gate),
    )  # fmt: skip
