"""The start ticket: what was fixed before the first question, signed by the party that asked; a certificate carries it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from checks.phrase import say
from kvgate.certificates import canonical
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import SignedTicket
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.statement import Gate, Hex, Time, Word, typed

TYPE = "urn:kvgate:start-ticket:v1"

Number = Annotated[StrictInt, Field(ge=1)]


class StartTicket(BaseModel):
    """What was fixed before the first question of a run: its ticket, and the code that was about to ask."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    campaign: Word
    run: Word
    gate: Gate
    attempt: Number
    sequence: Number
    nonce: Word
    inventory: Hex
    acceptance: Hex
    code: Hex
    version: Word
    ticket: Hex
    started: Time


def carried(envelope: Envelope) -> SignedTicket:
    """Return a signed start ticket as a certificate carries it."""
    return SignedTicket.model_validate(canonical.parse(envelope.to_bytes(), "the start ticket"))


def envelope_of(found: SignedTicket) -> Envelope:
    """Return the envelope that a certificate carries. Raises Unproven."""
    return envelopes.read(canonical.write(found.model_dump(mode="json")), "the start ticket")


def read(envelope: Envelope) -> StartTicket:
    """Read a start ticket from the signed bytes. Raises Unproven: another type, an unknown, absent or mistyped field."""
    return typed(envelope, TYPE, StartTicket, say("the start ticket"))
