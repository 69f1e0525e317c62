"""One thing that happened to a soak, as a statement: written before hosts hear of it, naming the one before, signed where a key is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from checks.phrase import say
from kvgate.certificates.envelope import Envelope, seal
from kvgate.certificates.statement import STATEMENT, Hex, Part, Resource, Sha256, Time, Word, typed

TYPE = "urn:kvgate:soak:v1"
#: Kind of the envelopes in the ledger.
KIND = "soak"
#: ``previous`` of the first.
NONE = "0" * 64


class Planned(Part):
    """One host and the digest of its plan."""

    host: Word
    plan: Hex


class SoakEvent(Part):
    """``start``, ``begun`` (all hosts were seen to run it), ``stop``, ``remove``, ``judge`` (by the run ``run``).

    ``parts`` (of a start): digests of the parts that the inventory orders, so that the rack is known under another inventory too.
    """

    campaign: Word
    rack: Word
    fingerprint: Hex
    inventory: Hex
    simulated: StrictBool
    soak: Word
    event: Literal["start", "begun", "stop", "remove", "judge"]
    plans: tuple[Planned, ...]
    parts: tuple[Hex, ...] = ()
    run: Literal[""] | Annotated[StrictStr, Field(min_length=1, max_length=512)] = ""
    sequence: Annotated[StrictInt, Field(ge=1)]
    previous: Hex
    operator: Word
    machine: Word
    version: Word
    at: Time


def write(said: SoakEvent) -> Envelope:
    """Write the statement's bytes, once, unsigned; its subjects are the plans."""
    subject = [Resource(name=f"soak/{said.soak}/{one.host}", digest=Sha256(sha256=one.plan)) for one in said.plans]
    return seal({
        "_type": STATEMENT, "predicateType": TYPE, "predicate": said.model_dump(mode="json"),
        "subject": [one.model_dump(mode="json") for one in subject],
    })  # fmt: skip


def read(envelope: Envelope) -> SoakEvent:
    """Read it from the signed bytes. Raises Unproven: another type, an unknown, absent or mistyped field."""
    return typed(envelope, TYPE, SoakEvent, say("the record of a soak"))
