"""What the parties sign beside certificates: waivers, reopenings and start tickets, as in-toto statements, typed and read strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator

from checks.phrase import say
from kvgate.certificates import ticket as tickets
from kvgate.certificates.envelope import Envelope, seal
from kvgate.certificates.statement import STATEMENT, Hex, Resource, Text, Time, Word, typed
from kvgate.certificates.ticket import StartTicket
from kvgate.errors import Unproven

WAIVER, REOPENING, TICKET = "waiver", "reopening", "ticket"
TYPES: Mapping[str, str] = {
    WAIVER: "urn:kvgate:waiver:v1",
    REOPENING: "urn:kvgate:reopening:v1",
    TICKET: tickets.TYPE,
}
_CALLED = {WAIVER: say("the waiver"), REOPENING: say("the reopening"), TICKET: say("the start ticket")}

Gate = Annotated[StrictStr, Field(pattern=r"^G[1-4]$")]
Number = Annotated[StrictInt, Field(ge=1)]
Day = Annotated[StrictStr, Field(pattern=r"^[0-9]{4}-[0-9][0-9]-[0-9][0-9]$")]
Reason = Annotated[StrictStr, Field(min_length=3, max_length=4000)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Deviation(_Part):
    """One verdict that is accepted as it is: what it said, and the digest of all of it."""

    clause: Word
    subject: Word
    outcome: Literal["STOP", "UNDECIDED"]
    measured: Text
    required: Text
    note: Text
    verdict: Hex


class Waiver(_Part):
    """Both parties accept these verdicts of this run until a day. ``decision`` is the hash of the decision they are of."""

    campaign: Word
    run: Word
    gate: Gate
    attempt: Number
    ticket: Hex
    decision: Hex
    deviations: Annotated[tuple[Deviation, ...], Field(min_length=1)]
    reason: Reason
    until: Day
    written: Time

    @field_validator("until")
    @classmethod
    def _a_day(cls, value: str) -> str:
        date.fromisoformat(value)
        return value


class Stop(_Part):
    """One run that ended the campaign, by the newest decision of it."""

    run: Word
    gate: Gate
    attempt: Number
    outcome: Literal["STOP", "UNDECIDED"]
    decision: Hex


class Reopening(_Part):
    """Both parties let a campaign go on after these runs."""

    campaign: Word
    stops: Annotated[tuple[Stop, ...], Field(min_length=1)]
    reason: Reason
    written: Time


Predicate = TypeVar("Predicate", Waiver, Reopening, StartTicket)


def write(kind: str, predicate: Waiver | Reopening | StartTicket, subject: Sequence[Resource]) -> Envelope:
    """Write a statement's bytes, once, unsigned."""
    return seal({
        "_type": STATEMENT, "predicateType": TYPES[kind], "predicate": predicate.model_dump(mode="json"),
        "subject": [one.model_dump(mode="json") for one in subject],
    })  # fmt: skip


def kind_of(envelope: Envelope) -> str | None:
    """Return which of these kinds a document is; None for any other, such as a certificate."""
    found = envelope.statement().get("predicateType")
    return next((kind for kind, name in TYPES.items() if name == found), None)


def campaign_of(envelope: Envelope) -> str:
    """Return the campaign that a document is of. Raises Unproven."""
    predicate = envelope.statement().get("predicate")
    name = predicate.get("campaign") if isinstance(predicate, dict) else None
    if not isinstance(name, str):
        raise Unproven(say("the document names no campaign"))
    return name


def read(envelope: Envelope, kind: str, model: type[Predicate]) -> Predicate:
    """Read a predicate from the signed bytes. Raises Unproven: another type, an unknown, absent or mistyped field."""
    return typed(envelope, TYPES[kind], model, _CALLED[kind])
