"""Waivers and reopenings: each must be readable, signed, and of this ledger's runs; what the log accepts must be what both signed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from kvgate.audit import accepted
from kvgate.campaign import statements
from kvgate.campaign.statements import Reopening, Stop, Waiver
from kvgate.campaign.waivers import verdict_digest
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.quorum import weigh
from kvgate.certificates.trust import Trust
from kvgate.errors import Refused
from kvgate.ledger.findings import Finding
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord


class Deviations:
    """All deviations beside one ledger, wherever they lie; signatures are weighed only by a trust file."""

    def __init__(self, ledger: Ledger, trust: Trust | None) -> None:
        self._ledger, self._trust = ledger, trust
        self._runs = {run.id: run for run in ledger.runs()}
        self._entries = ledger.decisions()

    def look(self) -> Iterator[Finding]:
        """Yield what is wrong with the deviations that the ledger holds and with what its log accepts."""
        known: dict[str, tuple[Envelope, Waiver]] = {}
        for kind in (statements.WAIVER, statements.REOPENING):
            for stored in self._ledger.envelopes(kind=kind):
                place = f"{kind} {stored.id} in the ledger"
                try:
                    envelope = envelopes.read(stored.content, place)
                    if kind == statements.WAIVER:
                        known[envelope.digest] = (envelope, statements.read(envelope, kind, Waiver))
                except Refused as error:
                    yield Finding("certificate", place, named(place, error))
                    continue
                yield from self.check(place, envelope, kind)
        for entry in self._entries:
            if entry.kind == "waived":
                yield from accepted.check(entry, known, self._trust)

    def check(self, place: str, envelope: Envelope, kind: str) -> Iterator[Finding]:
        """Yield what is wrong with one document. Who has not signed yet is no finding: without both it has no effect."""
        try:
            said: Waiver | Reopening = (
                statements.read(envelope, kind, Waiver)
                if kind == statements.WAIVER
                else statements.read(envelope, kind, Reopening)
            )
        except Refused as error:
            yield Finding("certificate", place, named(place, error))
            return
        if self._trust is not None:
            for problem in weigh(envelope, self._trust, datetime.now(UTC)).problems:
                yield Finding("certificate", place, f"{place}: {problem}")
        if not envelope.signatures:
            yield Finding("certificate", place, f"{place}: nobody has signed it")
        for stop in said.stops if isinstance(said, Reopening) else (said,):
            yield from self._about(place, said.campaign, stop)

    def _about(self, place: str, campaign: str, said: Stop | Waiver) -> Iterator[Finding]:
        """The run that it names must be there as it says, and come to the decision that it is about."""
        run = self._runs.get(said.run)
        if run is None:
            yield Finding("run-missing", said.run, f"{place} is about run {said.run:.80}, which is not in the ledger")
            return
        if (campaign, said.gate, said.attempt) != (run.campaign, run.gate, run.attempt):
            text = f"{place}: it is about {said.gate}, attempt {said.attempt}, of {campaign:.80}; run {run.id} is another one"
            yield Finding("certificate", place, text)
        if said.decision not in {entry.hash for entry in self._entries if entry.run == run.id}:
            text = f"{place}: run {run.id} came to decision {said.decision[:16]}, which is not in the log"
            yield Finding("anchor", place, text)
        if isinstance(said, Waiver):
            yield from self._accepts(place, said, run)

    def _accepts(self, place: str, said: Waiver, run: RunRecord) -> Iterator[Finding]:
        """What was accepted must be what the rows say."""
        if said.ticket != run.ticket_digest:
            text = f"{place}: its start ticket is not what the ledger has for run {run.id}: one of the two was changed"
            yield Finding("row", run.id, text)
        rows = {(item.clause, item.subject): row.verdict for item, row in self._ledger.recorded(run).items()}
        for one in said.deviations:
            there = rows.get((one.clause, one.subject))
            if there is None or verdict_digest(there) != one.verdict:
                now = "nothing" if there is None else there.outcome.value
                text = f"{place}: it was signed that {one.clause} on {one.subject} is {one.outcome} ({one.measured:.80}), the ledger says"
                yield Finding("row", run.id, f"{text} {now}" + (f" ({there.measured!s:.80})" if there else ""))


def named(place: str, error: Refused) -> str:
    """Return why a document is refused, with the place where it lies."""
    text = str(error)
    return text if place in text else f"{place}: {text}"
