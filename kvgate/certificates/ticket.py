"""The start ticket that a certificate carries: what was fixed before the first question, signed by the party that asked.

By signed tickets the other party can count attempts. A PASS without one opens nothing: nobody could tell how many runs were
made and thrown away before it. A STOP opens nothing anyway, and may go without.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from checks.phrase import Phrase, joined, listed, plain, say
from checks.verdict import Outcome
from kvgate.certificates import canonical
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Gate, GateDecision, Hex, SignedTicket, Time, Word, predicate_of
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.quorum import weigh
from kvgate.certificates.trust import Trust
from kvgate.errors import Refused, Unproven

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
    found = predicate_of(envelope, TYPE)
    try:
        return StartTicket.model_validate(found.get("predicate"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Unproven(
            say("the start ticket's {place:.120}: {first_msg:.120}", place=place, first_msg=first["msg"])
        ) from None


def contradictions(found: GateDecision) -> list[Phrase]:
    """Everything in which a certificate and the start ticket that it carries contradict one another; none is good."""
    if found.start_ticket is None:
        unsigned = found.ticket_signed_by or found.decision == "PASS"
        return [say("it carries no signed start ticket: attempts before it cannot be counted")] if unsigned else []
    try:
        said = read(envelope_of(found.start_ticket))
    except Refused as error:
        return [plain(str(error))]
    return list(_differences(found, said))


def _differences(found: GateDecision, said: StartTicket) -> Iterator[Phrase]:
    pairs = (
        ("run", said.run, found.run), ("campaign", said.campaign, found.campaign), ("gate", said.gate, found.gate),
        ("attempt", said.attempt, found.attempt), ("ticket", said.ticket, found.ticket), ("started", said.started, found.started),
        ("inventory", said.inventory, found.configured("inventory")),
        ("acceptance", said.acceptance, found.configured("acceptance")),
    )  # fmt: skip
    for name, there, here in pairs:
        if there != here:
            yield say(
                "the start ticket has {name} {there:.80}, the certificate {here:.80}",
                name=name, there=str(there), here=str(here),
            )  # fmt: skip


def weighed(found: GateDecision, trust: Trust | None, at: datetime) -> tuple[Outcome, Phrase]:
    """Whether a party signed the start ticket of just this run, by keys that count at a moment."""
    if wrong := contradictions(found):
        return Outcome.STOP, joined(wrong)
    if found.start_ticket is None:
        return Outcome.PASS, say("not signed: enough for a STOP, which opens nothing")
    if trust is None:
        return Outcome.UNDECIDED, say(
            "it is of this run; whose signature is on it is not known: name a trust file with --trust"
        )
    endorsement = weigh(envelope_of(found.start_ticket), trust, at)
    if endorsement.problems:
        return Outcome.STOP, joined(endorsement.problems)
    signed = [line.party for line in endorsement.signed]
    if found.ticket_signed_by not in signed:
        who = listed([plain(party) for party in signed]) if signed else say("nobody")
        return Outcome.STOP, say(
            "the certificate says that {party} signed the start ticket, it is signed by {who}",
            party=found.ticket_signed_by or "-", who=who,
        )  # fmt: skip
    return Outcome.PASS, say(
        "attempt {attempt}, begun {time}, signed by {party}", attempt=found.attempt, time=found.started[:19] + "Z",
        party=found.ticket_signed_by,
    )  # fmt: skip
