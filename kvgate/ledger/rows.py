"""What goes into the ledger and what comes out of it, as typed values."""

from __future__ import annotations

from dataclasses import dataclass

from checks.decision import Owed
from checks.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One verdict to be recorded: on which evidence (journal lines), measured or declared, and why if it could not be told."""

    clause: str
    subject: str
    verdict: Verdict
    evidence: tuple[int, ...] = ()
    basis: str = "measured"  # or "declared"
    reason: str = ""  # class name of the CannotTell


@dataclass(frozen=True, slots=True)
class StoredVerdict(VerdictRow):
    """One verdict as it was read back."""

    judgement: int = 1
    utc: str = ""
    id: int = 0


#: Begins the reason of the entry by which a run that had its end is open again: what it sees from then on is in no seal.
TAKEN_UP = "taken up again"


@dataclass(frozen=True, slots=True)
class RunHandle:
    """One run, by what was fixed before it looked. ``evidence`` is its folder; times are UTC, ISO 8601."""

    id: str
    seq: int
    campaign: str
    gate: str
    attempt: int
    evidence: str
    inventory_digest: str
    fingerprint: str
    acceptance_digest: str
    revision: int
    code: str
    operator: str
    host: str
    simulated: bool
    nonce: str
    prev: str
    ticket: str
    ticket_digest: str
    started: str


@dataclass(frozen=True, slots=True)
class RunRecord(RunHandle):
    """A run with how it ended so far: ``state`` is ``started``, ``decided`` or ``interrupted``."""

    state: str
    ended: str | None
    why: str


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """One entry of the decision log."""

    seq: int
    run: str
    judgement: int
    kind: str
    outcome: Outcome
    passed: int
    stopped: int
    undecided: int
    why: str
    evidence_lines: int
    evidence_head: str
    evidence_root: str
    content: str
    prev: str
    hash: str
    utc: str


@dataclass(frozen=True, slots=True)
class SeenRow:
    """One scope of one host as it answered in a run; ``untold`` says why it could not be told, and then there are no values."""

    host: str
    scope: str
    values: tuple[str, ...]
    untold: str = ""


@dataclass(frozen=True, slots=True)
class Waived:
    """One verdict that a waiver covers. ``document`` is the digest of the waiver's statement, ``until`` its last day."""

    clause: str
    subject: str
    document: str
    until: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What a run came to, computed from its rows. With ``problems`` it is UNDECIDED, whatever a decision row says."""

    outcome: Outcome
    decided: bool
    missing: tuple[Owed, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Revision:
    """One text of the agreement of a campaign; a campaign with more than one was changed on the way."""

    number: int
    digest: str
    content: str
    frozen: str


@dataclass(frozen=True, slots=True)
class StoredEnvelope:
    """One signed document: ``kind`` is certificate, waiver, reopening, ticket or timestamp; ``digest`` is its statement's."""

    kind: str
    campaign: str
    run: str | None
    digest: str
    content: bytes
    stored: str = ""
    id: int = 0
