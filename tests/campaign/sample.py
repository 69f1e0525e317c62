"""A campaign in a folder: runs that are begun, judged and decided by the gate's own machinery, and two parties that sign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path

from checks.acceptance import Acceptance
from checks.decision import Owed
from checks.phrase import say
from checks.verdict import Outcome, Verdict
from kvgate import agreement as agreements
from kvgate.agreement import Agreement
from kvgate.campaign import elsewhere, order, reopening, statements, tickets, waivers
from kvgate.campaign.documents import Documents
from kvgate.campaign.order import Opening
from kvgate.campaign.standing import Campaign
from kvgate.certificates import trust
from kvgate.certificates.decision import Previous
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.issue import certificate
from kvgate.certificates.proven import Again, Judgement
from kvgate.gate.judged import Judged
from kvgate.gate.options import Options
from kvgate.gate.session import GateSession
from kvgate.gate.start import Prepared, begin
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.inventory.subjects import owed
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord
from lab.machine import Edit
from lab.rack import build
from tests.campaign.test_seen import Kept
from tests.certificates.conftest import Keys
from tests.gates.harness import Direct
from tests.inventory.test_reader import written

GOOD = Verdict.of(True, "4", "4")
BAD = Verdict.of(False, "2", "4")
UNTOLD = Verdict.undecided(say("nvme is not installed"))
ABOVE = Verdict.to_accept(say("above the band: explain it"), "+44 %", "+29 % to +40 %")

#: One blocking clause on every disk, one on every host; the same under the name of every gate.
DISK, HOST = "2.3", "1.1"
FIRST = "fx100-a:S7Y0NX0W100001"


def agreement(text: str = "It holds.") -> Agreement:
    """A document of two clauses a gate."""
    clauses = agreements.read().acceptance.clauses
    disk, host = clauses["G1.2.3"], clauses["G1.1.1"]
    host = host.model_copy(update={"text": host.text.model_copy(update={"en": text}), "where": {}})
    found = {}
    for gate in ("G1", "G2", "G3", "G4"):
        found |= {f"{gate}.{HOST}": host, f"{gate}.{DISK}": disk.model_copy(update={"where": {}})}
    return Agreement(Acceptance(acceptance=1, clauses=found), ())


_parsed = cache(reader.parse)


@dataclass
class Site:
    """``text`` is the inventory in force, ``edits`` what answers differently on node-01, ``at`` the moment of every look."""

    folder: Path
    vendor: Keys
    customer: Keys
    text: str = field(default_factory=lambda: written(nodes=1))
    agreement: Agreement = field(default_factory=agreement)
    edits: tuple[Edit, ...] = ()
    at: datetime | None = None

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger.open(self.url)

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'kvgate.db'}"

    @property
    def inventory(self) -> Inventory:
        return _parsed(self.text)

    @property
    def trust(self) -> trust.Trust:
        return trust.read(f"{self.vendor.line('vendor')}\n{self.customer.line('customer')}\n")

    @property
    def trust_file(self) -> Path:
        path = self.folder / "allowed_signers"
        path.write_text(f"{self.vendor.line('vendor')}\n{self.customer.line('customer')}\n")
        return path

    def key(self, party: str = "vendor") -> dict[str, object]:
        """Options that sign the start ticket for a party, which every run does unless it says otherwise."""
        keys: Keys = getattr(self, party)
        return {"key": keys.write(self.folder / party), "party": party}

    # ---- runs

    def prepared(self, gate: str, **options: object) -> Prepared:
        given = {
            "trust": self.trust_file,
            **(options if {"key", "party"} & options.keys() else {**self.key(), **options}),
        }
        wanted = Options(gate, None, self.url, self.folder / "evidence", **given)
        items = owed(self.agreement.acceptance, self.inventory.rack, gate)
        return Prepared(wanted, self.inventory, self.agreement, tuple(items))

    def begin(self, gate: str, **options: object) -> GateSession:
        """Start a gate as pytest would, and ask who is there. Raises Refused."""
        session = begin(self.prepared(gate, **options)).session
        hosts = {one.name: one for one in build(1, "rocm")}
        hosts["node-01"].machine.edits += self.edits
        session.answers = Kept(Direct(hosts))  # type: ignore[assignment]
        session.identify(list(hosts))
        return session

    def judge(self, session: GateSession, verdicts: Mapping[str, Verdict]) -> None:
        """Record a verdict for everything owed: by clause and subject, by clause, or good."""
        for item, _ in session.owed:
            clause = item.clause.removeprefix(f"{session.gate}.")
            verdict = verdicts.get(f"{clause}:{item.subject}", verdicts.get(clause, GOOD))
            session.record(item, Judged(verdict))

    def run(self, gate: str, verdicts: Mapping[str, Verdict] | None = None, **options: object) -> RunRecord:
        """One whole attempt."""
        session = self.begin(gate, **options)
        self.judge(session, verdicts or {})
        session.finish()
        return self.last()

    def interrupted(self, gate: str, verdicts: Mapping[str, Verdict]) -> RunRecord:
        """One attempt that the operator ended after some verdicts."""
        session = self.begin(gate)
        for item, _ in session.owed:
            if (verdict := verdicts.get(item.clause.removeprefix(f"{gate}."))) is not None:
                session.record(item, Judged(verdict))
        session.interrupt("Ctrl-C")
        if session.evidence is not None:
            session.evidence.close()
        return self.last()

    def last(self) -> RunRecord:
        return self.ledger.runs()[-1]

    # ---- signatures

    def keep(self, kind: str, envelope: Envelope, *parties: str, run: str | None = None) -> Envelope:
        for party in parties:
            envelope = envelope.signed_by(getattr(self, party).signer)
        self.ledger.keep_envelope(kind, self.inventory.rack.campaign, envelope.to_bytes(), envelope.digest, run)
        return envelope

    def certify(self, run: RunRecord, *parties: str, days: int = 70) -> None:
        again = Judgement(self._recorded(run), self.ledger.outcome(run).outcome, (), "0.1.0", "c" * 64)
        effective = next(one for one in self.campaign().attempts if one.run.id == run.id)
        previous = None
        if run.gate != "G1":
            certified = [one for one in self.campaign().attempts if one.certified.state == "FINAL"]
            previous = Previous(gate=certified[-1].run.gate, document=certified[-1].certified.document or "")
        made = certificate(
            self.ledger,
            run,
            Path(run.evidence),
            again,
            previous=previous,
            waivers=effective.for_certificate(),
            days=days,
            ticket=tickets.to_certify(self.ledger, run, self.trust, self.now, "vendor", self.vendor.signer.public),
        )
        self.keep("certificate", made.sealed(), *(parties or ("vendor", "customer")), run=run.id)

    def _recorded(self, run: RunRecord) -> dict[Owed, Again]:
        rows = self.ledger.recorded(run)
        return {item: Again(row.verdict, row.evidence, row.basis) for item, row in rows.items()}

    def passed(self, gate: str) -> RunRecord:
        """One attempt that passes and is certified by both."""
        run = self.run(gate)
        assert self.ledger.outcome(run).outcome is Outcome.PASS
        self.certify(run)
        return run

    def waive(self, run: RunRecord, clause: str, *parties: str, subject: str | None = None, days: int = 30) -> Envelope:
        """Waive and settle, as ``kvgate waive`` and ``kvgate cosign`` do."""
        until = (self.now + timedelta(days=days)).date()
        proposed = waivers.propose(self.ledger, run, clause, subject, "agreed by both", until, self.now)
        envelope = self.keep(statements.WAIVER, proposed, *(parties or ("vendor", "customer")), run=run.id)
        waivers.settle(self.ledger, run, self.documents())
        return envelope

    def reopen(self, *parties: str) -> Envelope:
        """Sign to go on after everything that ends the campaign now."""
        stops = self.campaign().stopping()
        proposed = reopening.propose(self.inventory.rack.campaign, stops, self.documents(), "disk replaced", self.now)
        return self.keep(statements.REOPENING, proposed, *parties)

    # ---- looks

    @property
    def now(self) -> datetime:
        return self.at or datetime.now(UTC)

    def documents(self) -> Documents:
        return Documents(self.ledger, self.inventory.rack.campaign, self.trust, self.now)

    def campaign(self) -> Campaign:
        return elsewhere.read(self.ledger, self.inventory, self.documents())

    def opening(self, gate: str) -> Opening:
        return order.opening(self.campaign(), gate, self.inventory.rack, self.agreement.digest, self.now)

    def why(self, gate: str) -> list[str]:
        """Kinds of what is in the way of a gate."""
        return [one.kind for one in self.opening(gate).obstacles]
