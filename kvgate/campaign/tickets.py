"""The start ticket of a run, signed before the first question, so that the other party can count attempts too."""

from __future__ import annotations

from kvgate.campaign import statements
from kvgate.campaign.statements import StartTicket
from kvgate.certificates.code import code_digest
from kvgate.certificates.decision import Resource, Sha256
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.keys import Signer
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunHandle


def write(run: RunHandle) -> Envelope:
    """Write the ticket of a run as a statement, unsigned: sequence, nonce, digests of inventory, acceptance and code."""
    said = StartTicket(
        campaign=run.campaign, run=run.id, gate=run.gate, attempt=run.attempt, sequence=run.seq, nonce=run.nonce,
        inventory=run.inventory_digest, acceptance=run.acceptance_digest, code=code_digest(), version=run.code,
        ticket=run.ticket_digest, started=run.started,
    )  # fmt: skip
    subject = Resource(name=f"ticket/{run.id}", digest=Sha256(sha256=run.ticket_digest))
    return statements.write(statements.TICKET, said, [subject])


def keep(ledger: Ledger, run: RunHandle, signer: Signer) -> Envelope:
    """Sign the ticket of a run that is about to start and keep it. Raises Unproven, Unwritable."""
    envelope = write(run).signed_by(signer)
    ledger.keep_envelope(statements.TICKET, run.campaign, envelope.to_bytes(), envelope.digest, run.id)
    return envelope
