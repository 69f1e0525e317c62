"""Signed documents against the ledger: each must be about a run that is there, and say of it what the ledger says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from checks.phrase import say
from kvgate.audit import soaks, tickets
from kvgate.audit.accepted import waived
from kvgate.audit.deviations import Deviations, named
from kvgate.campaign import statements
from kvgate.certificates import decision as decisions
from kvgate.certificates import envelope as envelopes
from kvgate.certificates import soak_event, ticketed
from kvgate.certificates.coherence import contradictions
from kvgate.certificates.decision import Certificate
from kvgate.certificates.envelope import LIMIT, Envelope
from kvgate.certificates.quorum import weigh
from kvgate.certificates.ticket import envelope_of
from kvgate.certificates.trust import Trust
from kvgate.codec import first_bytes
from kvgate.errors import NotAllowed, Refused, because
from kvgate.ledger.audit import anchored
from kvgate.ledger.chain import GENESIS
from kvgate.ledger.clocks import TWO_MACHINES
from kvgate.ledger.findings import Finding
from kvgate.ledger.racks import Racks
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, StoredDecision


@dataclass(frozen=True)
class Source:
    """One signed document and where it was found; an anchor left this machine before and may know more than the ledger."""

    place: str
    data: bytes
    anchor: bool = False


@dataclass(frozen=True)
class Held:
    """One certificate that could be read."""

    place: str
    document: str
    certificate: Certificate
    anchor: bool


def strange(ledger: Ledger, folder: Path) -> bool:
    """Whether the documents of a folder name runs and the ledger has none of them: another ledger's, or all were deleted."""
    runs: set[str] = set()
    for path in sorted(folder.glob("*.json")):
        with suppress(Refused, OSError):
            runs |= _named(envelopes.load(path).statement().get("predicate"))
    return bool(runs) and runs.isdisjoint(run.id for run in ledger.runs())


def _named(predicate: object) -> set[str]:
    """Runs that a document is about: its own, earlier attempts, stops that it reopens."""
    if not isinstance(predicate, dict):
        return set()
    parts = [predicate]
    for name in ("attempts", "stops"):
        listed = predicate.get(name)
        parts += [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {run for part in parts if isinstance(run := part.get("run"), str)}


def gathered(ledger: Ledger, folder: Path | None, anchors: Sequence[Path]) -> Iterator[Source]:
    """Yield every certificate and start ticket in the ledger, every signed document in a folder, and the anchors. Raises NotAllowed."""
    for kept in (*ledger.envelopes(kind="certificate"), *ledger.envelopes(kind="ticket")):
        yield Source(f"{kept.kind} {kept.id} in the ledger", kept.content)
    files = sorted(folder.glob("*.json")) if folder is not None and folder.is_dir() else []
    for path, anchor in (*((one, False) for one in files), *((one, True) for one in anchors)):
        try:
            yield Source(str(path), first_bytes(path, LIMIT + 1), anchor)
        except OSError as error:
            raise NotAllowed(
                say("{path} cannot be read: {strerror}", path=str(path), strerror=because(error))
            ) from error


class Weighing:
    """All certificates beside one ledger; ask :meth:`look` for each, then :meth:`together`."""

    def __init__(self, ledger: Ledger, trust: Trust | None, deviations: Deviations) -> None:
        self._trust = trust
        self._deviations = deviations
        self._runs = {run.id: run for run in ledger.runs()}
        self._entries = ledger.decisions()
        self._hashes = {0: GENESIS, **{entry.seq: entry.hash for entry in self._entries}}
        self._ledger = ledger
        self._racks = Racks(ledger)
        self._held: dict[str, list[Held]] = {}

    def look(self, source: Source) -> Iterator[Finding]:
        """Yield what is wrong with one. Never raises for bad content."""
        try:
            envelope = envelopes.read(source.data, source.place)
            kind = soak_event.KIND if soaks.about(envelope) else statements.kind_of(envelope)
            certificate = None if kind is not None else decisions.read(envelope)
        except Refused as error:
            yield Finding("certificate", source.place, named(source.place, error))
            return
        if kind in (statements.WAIVER, statements.REOPENING):
            yield from self._deviations.check(source.place, envelope, kind)
            return
        yield from self._signatures(source.place, envelope)
        if kind == soak_event.KIND:
            yield from soaks.check(source.place, envelope, self._ledger)
            return
        if certificate is None:
            yield from tickets.check(source.place, envelope, self._runs)
            return
        held = Held(source.place, envelope.digest, certificate, source.anchor)
        for wrong in (*contradictions(certificate), *ticketed.contradictions(certificate.predicate)):
            yield Finding("certificate", held.place, f"{held.place}: {wrong}")
        yield from self._ticket(held)
        yield from self._log(held)
        run = self._runs.get(certificate.predicate.run)
        if run is None:
            text = f"{held.place} is about run {certificate.predicate.run}, which is not in the ledger"
            yield Finding("run-missing", certificate.predicate.run, text)
            return
        self._held.setdefault(run.id, []).append(held)
        yield from self._about(held, run)
        yield from self._attempts(held)

    def _signatures(self, place: str, envelope: Envelope) -> Iterator[Finding]:
        if self._trust is None:
            return
        weighed = weigh(envelope, self._trust, datetime.now(UTC))
        for problem in weighed.problems:
            yield Finding("certificate", place, f"{place}: {problem}")
        if not weighed.signed and not weighed.problems:
            yield Finding("certificate", place, f"{place}: nobody has signed it")

    def _ticket(self, held: Held) -> Iterator[Finding]:
        """The start ticket that it carries must be by a party too, and what it fixed must be what the ledger has."""
        found = held.certificate.predicate
        if found.start_ticket is None or ticketed.contradictions(found):
            return
        envelope = envelope_of(found.start_ticket)
        yield from self._signatures(f"{held.place}, its start ticket", envelope)
        if found.run in self._runs:
            yield from tickets.check(f"{held.place}, its start ticket", envelope, self._runs)

    def together(self) -> Iterator[Finding]:
        """Yield what only several certificates of one run show."""
        for (run, *_), documents in self._same().items():
            if len(documents) > 1:
                times = sorted(
                    f"{held.certificate.predicate.issued[:19]}Z in {held.place}" for held in documents.values()
                )
                text = f"run {run} has {len(documents)} different certificates, issued {', '.join(times)}: it was signed anew"
                yield Finding("certificate-resigned", run, text)

    def _same(self) -> dict[tuple[str, ...], dict[str, Held]]:
        """Certificates that say the same: of one run, of one decision, with the same waivers. A deviation makes another one honest."""
        found: dict[tuple[str, ...], dict[str, Held]] = {}
        for run, many in self._held.items():
            for held in many:
                said = held.certificate.predicate
                what = (run, said.entry.hash, *sorted({one.document for one in said.waivers}))
                found.setdefault(what, {})[held.document] = held
        return found

    def _log(self, held: Held) -> Iterator[Finding]:
        """The decision and the head of the log that it names must be in the log, and must have been the newest then."""
        found = held.certificate.predicate
        for seq, value in dict.fromkeys(((found.log.seq, found.log.hash), (found.entry.seq, found.entry.hash))):
            if self._hashes.get(seq) != value:
                finding = anchored(seq, seq in self._hashes)
                yield Finding("anchor", held.place, f"{finding.text} (by {held.place})")
                return
        issued = datetime.fromisoformat(found.issued)
        newer = [entry for entry in self._entries if entry.seq > found.log.seq and _before(entry, issued)]
        if newer:
            text = (
                f"{held.place} is dated {found.issued[:19]}Z, when decision {newer[-1].seq} was there already, and knows of none "
                f"after {found.log.seq}: an old certificate was signed anew"
            )
            yield Finding("certificate-resigned", held.place, text)

    def _about(self, held: Held, run: RunRecord) -> Iterator[Finding]:
        found = held.certificate.predicate
        if held.certificate.fingerprint != run.fingerprint:
            text = f"{held.place} is about another rack than run {run.id}: its fingerprint is {held.certificate.fingerprint[:16]}"
            yield Finding("certificate-rack", held.place, f"{text}, the run's {run.fingerprint[:16]}")
        if found.configured("acceptance") != run.acceptance_digest:
            text = f"{held.place} names another agreement than run {run.id}: a limit was changed after the fact"
            yield Finding("limit", held.place, text)
        entry = next((one for one in self._entries if one.seq == found.entry.seq), None)
        pairs: list[tuple[str, object, object]] = [
            ("campaign", found.campaign, run.campaign), ("gate", found.gate, run.gate), ("attempt", found.attempt, run.attempt),
            ("start ticket", found.ticket, run.ticket_digest), ("inventory", found.configured("inventory"), run.inventory_digest),
            ("simulated mark", found.simulated or not run.simulated, True), ("start", found.started, run.started),
        ]  # fmt: skip
        if entry is not None:
            seal = (found.evidence.lines, found.evidence.head, held.certificate.root)
            pairs.append(("evidence", seal, (entry.evidence_lines, entry.evidence_head, entry.evidence_root)))
            pairs.append(("run of its decision", run.id, entry.run))
        for name, said, there in pairs:
            if said != there:
                yield Finding(
                    "certificate", held.place, f"{held.place}: its {name} is not what the ledger has for run {run.id}"
                )
        accepted = {
            row[:3] for one in self._entries if one.run == run.id and one.kind == "waived" for row in waived(one)
        }
        for waiver in found.waivers:
            if (waiver.clause, waiver.subject, waiver.document) not in accepted:
                text = f"{held.place}: the log does not accept {waiver.clause} on {waiver.subject} for run {run.id}"
                yield Finding("certificate", held.place, text)
        yield from self._clauses(held, run)

    def _clauses(self, held: Held, run: RunRecord) -> Iterator[Finding]:
        """Every verdict that was signed must be the one in the rows."""
        there = {
            (item.clause, item.subject): row.verdict.outcome.value for item, row in self._ledger.recorded(run).items()
        }
        signed = {(one.clause, one.subject): one.outcome for one in held.certificate.predicate.clauses}
        for place in dict.fromkeys((*signed, *there)):
            if signed.get(place, "UNDECIDED") != there.get(place, "UNDECIDED"):
                told = f"{signed.get(place, 'nothing')}, the ledger says {there.get(place, 'nothing')}"
                text = f"{held.place}: it was signed that {place[0]} on {place[1]} is {told}"
                yield Finding("row", run.id, text)

    def _attempts(self, held: Held) -> Iterator[Finding]:
        """Every earlier attempt that it counts must be there, by the same ticket; every one that is there must be counted."""
        for one in held.certificate.predicate.attempts:
            run = self._runs.get(one.run)
            if run is None or run.ticket_digest != one.ticket:
                text = f"{held.place} counts attempt {one.attempt} of {one.campaign} (run {one.run}), which the ledger has not"
                yield Finding(
                    "run-missing", one.run, text + (" any more" if run is None else " with that start ticket")
                )
        counted = {one.run for one in held.certificate.predicate.attempts}
        own = self._runs[held.certificate.predicate.run]
        for other in self._racks.attempts(own):
            if other.id not in counted:
                text = (
                    f"{held.place} leaves out attempt {other.attempt} at {other.gate} in campaign {other.campaign} (run {other.id}), "
                    "which was on the same rack before it"
                )
                yield Finding("attempt-uncounted", other.id, text)


def _before(entry: StoredDecision, issued: datetime) -> bool:
    return datetime.fromisoformat(entry.utc) + timedelta(seconds=TWO_MACHINES) < issued
