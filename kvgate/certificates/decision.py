"""The certificate of a gate: an in-toto Statement v1 with a predicate of our own, typed, and read strictly.

Who does not know the predicate type must refuse it: ``result`` alone, without attempts, expiry and rack, says too little.
Numbers stand as text with their unit; there is no fraction in it. ``runbooks/certificates.md`` explains every field.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr, ValidationError

from checks.phrase import say
from kvgate.certificates.envelope import MOST, Envelope, seal
from kvgate.certificates.statement import (
    STATEMENT,
    Day,
    Gate,
    Hex,
    Part,
    Resource,
    Text,
    Time,
    Word,
    mistyped,
    predicate_of,
)
from kvgate.errors import Unproven

PREDICATE = "urn:kvgate:gate-decision:v1"

Count = Annotated[StrictInt, Field(ge=0)]
OutcomeWord = Annotated[StrictStr, Field(pattern=r"^(PASS|STOP|UNDECIDED)$")]


class Clause(Part):
    """One verdict. ``evidence`` are journal lines; ``waiver`` is the digest of the waiver that covers it, or empty."""

    clause: Word
    check: Word
    subject: Word
    blocking: StrictBool
    outcome: OutcomeWord
    measured: Text
    required: Text
    unit: Text
    note: Text
    basis: Literal["measured", "declared"]
    evidence: tuple[Annotated[StrictStr, Field(pattern=r"^E[1-9][0-9]{0,9}$")], ...]
    waiver: Literal[""] | Hex = ""


class Attempt(Part):
    """One attempt before this one: same gate, and same campaign or same rack."""

    campaign: Word
    attempt: Annotated[StrictInt, Field(ge=1)]
    run: Word
    outcome: OutcomeWord
    state: Annotated[StrictStr, Field(pattern=r"^(started|decided|interrupted)$")]
    started: Time
    ended: Literal[""] | Time
    ticket: Hex
    decision: Literal[""] | Hex


class Overlaid(Part):
    """One term in which the agreement differs from the standard acceptance document."""

    clause: Word
    what: Word
    before: Text
    after: Text
    origin: Text


class Waiver(Part):
    """One verdict that both parties accept as it is, until a day; ``document`` is the digest of what they signed."""

    document: Hex
    clause: Word
    subject: Word
    until: Day


class SealedEvidence(Part):
    """The evidence as the decision sealed it; the Merkle root over its blobs is a subject of the statement."""

    lines: Count
    head: Hex


class MetHost(Part):
    """One host: the key the inventory pins, and the keys it showed."""

    host: Word
    pinned: Word
    shown: tuple[Word, ...]


class PartyKey(Part):
    """A key that counted as a party's when the run began: the inventory's, or that of the operator's own trust file (``trust``)."""

    party: Word
    key: Annotated[StrictStr, Field(pattern=r"^SHA256:[A-Za-z0-9+/]{43}$")]
    by: Literal["inventory", "trust"]


class Entry(Part):
    """One entry of the decision log."""

    seq: Count
    hash: Hex


class Previous(Part):
    """The gate before, by the digest of its certificate's statement."""

    gate: Gate
    document: Hex


class BegunSoak(Part):
    """One soak that the ledger had when this run of G4 took the journals: the one that is judged, and those without a verdict."""

    soak: Word
    judged: StrictBool
    started: Literal[""] | Time
    times: Count  # how often its start was written down
    stopped: Literal[""] | Time
    removed: Literal[""] | Time
    runs: tuple[Word, ...]  # of G4 that judged it before, to no verdict


class TicketSignature(Part):
    """One signature of a start ticket, as DSSE writes it."""

    keyid: Annotated[StrictStr, Field(max_length=256)]
    sig: Word


class SignedTicket(Part):
    """The start ticket with its signature: a DSSE envelope of its own, so that who has the certificate alone can check it."""

    payload: Annotated[StrictStr, Field(max_length=20_000)]
    payloadType: Word  # noqa: N815 - DSSE's name
    signatures: Annotated[tuple[TicketSignature, ...], Field(min_length=1, max_length=MOST)]


class GateDecision(Part):
    """The predicate. ``result`` and ``configuration`` are named as in in-toto's test-result."""

    result: Literal["PASSED", "FAILED"]
    configuration: tuple[Resource, ...]  # acceptance, inventory, code
    simulated: StrictBool
    decision: Literal["PASS", "STOP"]
    gate: Gate
    campaign: Word
    rack: Word
    run: Word
    attempt: Annotated[StrictInt, Field(ge=1)]
    attempts: tuple[Attempt, ...]
    clauses: Annotated[tuple[Clause, ...], Field(min_length=1)]
    overlaid: tuple[Overlaid, ...]
    revision: Annotated[StrictInt, Field(ge=1)]
    waivers: tuple[Waiver, ...]
    evidence: SealedEvidence
    hosts: Annotated[tuple[MetHost, ...], Field(min_length=1)]
    version: Word
    operator: Text
    machine: Text
    started: Time
    finished: Time
    elapsed: Count  # microseconds of the operator's monotonic clock, boots summed
    boots: Annotated[StrictInt, Field(ge=1)]
    ticket: Hex
    ticket_signed_by: Literal["", "vendor", "customer"] = ""  # who signed it before the first question; "" nobody
    start_ticket: SignedTicket | None = None  # what that party signed; a PASS without it is refused
    parties: tuple[PartyKey, ...] = ()  # whose keys counted when the run began, as its start ticket fixed them
    soaks: tuple[
        BegunSoak, ...
    ] = ()  # of G4: every soak that was begun and came to no verdict, and the one it is about
    entry: Entry
    log: Entry
    previous: Previous | None
    issued: Time
    expires: Time

    def configured(self, name: str) -> str:
        """Digest of ``acceptance``, ``inventory`` or ``code``. Raises Unproven when the certificate does not say."""
        found = [one.digest.sha256 for one in self.configuration if one.name == name]
        if len(found) != 1:
            raise Unproven(
                say("the certificate names {found} digests of {name}, wanted one", found=len(found), name=name)
            )
        return found[0]


class Certificate(Part):
    """A whole statement: ``subject`` is the rack (its fingerprint) and the evidence (its root)."""

    subject: tuple[Resource, ...]
    predicate: GateDecision

    @property
    def fingerprint(self) -> str:
        """Digest of what makes the rack this one."""
        return self._subject("rack/")

    @property
    def root(self) -> str:
        """Merkle root over all blobs of the evidence."""
        return self._subject("evidence/")

    def _subject(self, prefix: str) -> str:
        found = [one.digest.sha256 for one in self.subject if one.name.startswith(prefix)]
        if len(found) != 1:
            raise Unproven(
                say("the certificate names {found} subjects {prefix}..., wanted one", found=len(found), prefix=prefix)
            )
        return found[0]

    def sealed(self) -> Envelope:
        """Write the statement's bytes, once, unsigned."""
        whole = {"_type": STATEMENT, "predicateType": PREDICATE, **self.model_dump(mode="json")}
        return seal(whole)


def read(envelope: Envelope) -> Certificate:
    """Read a gate decision from the signed bytes. Raises Unproven: another type, an unknown, absent or mistyped field."""
    found = predicate_of(envelope, PREDICATE)
    try:
        certificate = Certificate.model_validate(found)
    except ValidationError as error:
        raise mistyped(error, say("the certificate")) from None
    names = {"acceptance", "inventory", "code"}
    if {one.name for one in certificate.predicate.configuration} != names:
        raise Unproven(
            say("the certificate's configuration names something else than {names}", names=", ".join(sorted(names)))
        )
    for name in names:
        certificate.predicate.configured(name)
    if len(certificate.subject) != 2 or not certificate.fingerprint or not certificate.root:
        raise Unproven(say("the certificate is about something else than one rack and one evidence"))
    return certificate
