"""Where a campaign stands: every attempt with what it came to, what keeps a PASS from opening the next gate, what ended the campaign.

Computed from ledger rows and signed documents alone, each time anew; nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from checks.phrase import Phrase
from checks.verdict import Outcome
from kvgate.campaign import scopes, seen
from kvgate.campaign.documents import Certified, Documents
from kvgate.campaign.scopes import Change, Place
from kvgate.campaign.seen import Seen
from kvgate.campaign.waivers import Weighed, remaining, waivers_of
from kvgate.certificates.decision import Waiver
from kvgate.errors import BadInput
from kvgate.inventory import reader
from kvgate.inventory.calendar import GATES
from kvgate.inventory.model import Rack
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import Revision, RunRecord
from kvgate.ledger.standing import taken_up, unjudged

#: Days that a PASS counts where no calendar says otherwise: the ten weeks of a campaign.
VALID = 70


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a gate. ``outcome`` is what counts now, ``decision`` what the verdict rows come to without any waiver."""

    run: RunRecord
    outcome: Outcome
    decided: bool
    decision: Outcome
    stops: int  # blocking verdicts that came to STOP, of a run that ended early too
    waivers: tuple[Weighed, ...]
    reopened: str | None  # digest of the document by which both parties reopened the campaign after it
    certified: Certified
    ticket: str | None  # who signed the start ticket
    countable: (
        bool  # a start ticket is signed, by a party where it is known whose keys count; else it cannot be certified
    )
    seen: Mapping[Place, Seen] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unopened: Phrase | None = None  # why a document by which it would have been reopened does not count
    untrusted: bool = False  # it was not known whose signatures count
    taken_up: bool = False  # it had its end, and went on
    unjudged: bool = False  # it looked, and has no end yet, or an early one by which nobody judged what it saw

    @property
    def open(self) -> bool:
        """Whether it has no end yet: it still runs, or its process died."""
        return self.run.state == "started" or self.taken_up

    @property
    def stopped(self) -> bool:
        """Whether it ends the campaign by itself: a STOP that nobody waived, one that was seen before it ended early, or might be."""
        return self.reopened is None and (self.ended_in_stop or self.unjudged)

    @property
    def ended_in_stop(self) -> bool:
        """Whether it takes back what passed before it: a STOP that nobody waived, reopened or not, or one seen before it ended early."""
        return self.outcome is Outcome.STOP or (not self.decided and self.stops > 0)

    def for_certificate(self) -> tuple[Waiver, ...]:
        """What a certificate says about the waivers that count: one line a verdict."""
        return tuple(
            Waiver(document=one.document, clause=clause, subject=subject, until=one.said.until)
            for one in self.waivers
            if one.counts
            for clause, subject in one.places()
        )

    def expires(self, rack: Rack) -> datetime:
        """When its PASS stops opening the next gate: after the calendar's days, with its certificate, or with its first waiver."""
        days = VALID if rack.calendar is None else rack.calendar.of(self.run.gate).valid
        ends = [moment(self.run.ended or self.run.started) + timedelta(days=days)]
        if self.certified.certificate is not None:
            ends.append(moment(self.certified.certificate.predicate.expires))
        return min([*ends, *(waiver.ends for waiver in self.waivers if waiver.counts)])


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What one rack did in a campaign of another name. ``shared`` are the first of ``count`` parts by which it is known."""

    campaign: str
    attempts: tuple[Attempt, ...]
    stopping: tuple[Attempt, ...]
    shared: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Campaign:
    """All attempts of one campaign, oldest first, and the head of the decision log that they were read at.

    ``elsewhere`` is what its rack did under other names; it is empty where nobody asked (see kvgate.campaign.elsewhere).
    """

    name: str
    attempts: tuple[Attempt, ...]
    revisions: tuple[Revision, ...]
    head: tuple[int, str]
    inventories: Mapping[str, str] = field(default_factory=dict)  # digest -> text
    elsewhere: tuple[Elsewhere, ...] = ()

    def of(self, gate: str) -> list[Attempt]:
        """Attempts at one gate, oldest first."""
        return [attempt for attempt in self.attempts if attempt.run.gate == gate]

    def passes(self, gate: str) -> list[Attempt]:
        """Attempts that passed and that no later STOP, of the same gate or of one it stands on, took back; newest first."""
        return [one for one in self._passed(gate) if self.taken_back_by(one) is None]

    def _passed(self, gate: str) -> list[Attempt]:
        return [one for one in reversed(self.of(gate)) if one.decided and one.outcome is Outcome.PASS]

    def taken_back(self, gate: str) -> tuple[Attempt, Attempt] | None:
        """The newest PASS of a gate where none counts any more, and the STOP that took it back."""
        passed = self._passed(gate)
        by = self.taken_back_by(passed[0]) if passed else None
        return None if by is None else (passed[0], by)

    def taken_back_by(self, attempt: Attempt) -> Attempt | None:
        """The first later STOP of its gate or of one before it, which it stands on. A later PASS of those takes nothing back."""
        under = GATES[: GATES.index(attempt.run.gate) + 1]
        later = (one for one in self.attempts if one.run.seq > attempt.run.seq and one.run.gate in under)
        return next((one for one in later if one.ended_in_stop), None)

    def stopping(self) -> list[Attempt]:
        """Attempts that keep the campaign ended. One whose gate passed in a later attempt does not: that was allowed to begin."""
        return [one for one in self.attempts if one.stopped and not self._passed_after(one)]

    def _passed_after(self, attempt: Attempt) -> bool:
        """Whether its own gate passed later; a STOP of a gate before it takes that PASS back, and does not revive this STOP."""
        gate = attempt.run.gate
        passed = (one for one in self._passed(gate) if one.run.seq > attempt.run.seq)
        return any((by := self.taken_back_by(one)) is None or by.run.gate != gate for one in passed)

    def changed(self, attempt: Attempt, rack: Rack) -> list[Change]:
        """What of the rack is another now than in this attempt: by what is ordered now, and by who answered in later runs."""
        before = self.ordered(attempt)
        found = [] if before is None else scopes.changes(before, scopes.ordered(rack))
        later: dict[Place, Seen] = {}
        for one in self.attempts:
            if one.run.seq > attempt.run.seq:
                later |= {place: told for place, told in one.seen.items() if not told.untold}
        then = seen.identity(attempt.seen)
        return found + scopes.changes(then, seen.identity(later), told=True)

    def days(self, attempt: Attempt) -> int:
        """Days that a PASS of this run counts, by the calendar it was run by."""
        try:
            plan = reader.stored(self.inventories[attempt.run.inventory_digest], "the ledger's inventory").rack.calendar
        except (KeyError, BadInput):
            return VALID
        return VALID if plan is None else plan.of(attempt.run.gate).valid

    def ordered(self, attempt: Attempt) -> dict[Place, frozenset[str]] | None:
        """What was ordered when it ran; None when the stored inventory cannot be read by this version."""
        try:
            return _ordered(self.inventories[attempt.run.inventory_digest])
        except (KeyError, BadInput):
            return None


@lru_cache(maxsize=32)
def _ordered(text: str) -> dict[Place, frozenset[str]]:
    return scopes.ordered(reader.stored(text, "the ledger's inventory").rack)


def moment(utc: str) -> datetime:
    """Read a time of the ledger."""
    return datetime.fromisoformat(utc).astimezone(UTC)


def now() -> datetime:
    """Return the clock of this machine."""
    return datetime.now(UTC)


def read(ledger: Ledger, name: str, documents: Documents) -> Campaign:
    """Compute where a campaign stands at ``documents.at``. Raises Unwritable, Damaged."""
    head = ledger.head()
    attempts = tuple(_attempt(ledger, run, documents) for run in ledger.runs(name))
    return Campaign(name, attempts, tuple(ledger.revisions(name)), head, ledger.inventories(name))


def _attempt(ledger: Ledger, run: RunRecord, documents: Documents) -> Attempt:
    standing = ledger.outcome(run)
    recorded = ledger.recorded(run)
    stops = sum(item.blocking and row.verdict.outcome is Outcome.STOP for item, row in recorded.items())
    who, log = seen.stored(ledger.seen(run)), ledger.decisions(run)
    waivers: list[Weighed] = []
    outcome = standing.outcome
    if standing.decided and outcome is not Outcome.PASS:
        waivers = waivers_of(ledger, run, documents)
        if any(one.counts for one in waivers):
            outcome = remaining(ledger.owed(run), recorded, waivers).outcome
    return Attempt(
        run, outcome, standing.decided, standing.outcome, stops, tuple(waivers), documents.reopening(run),
        documents.certified(run), documents.ticket(run), documents.countable(run), who, standing.problems,
        documents.unopened(run), documents.trust is None, taken_up(log), unjudged(bool(who or recorded), stops, log),
    )  # fmt: skip
