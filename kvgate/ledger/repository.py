"""The ledger: every run, what it owed, what it came to. A PASS exists only when all of it was written and read back."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import insert, update

from checks.decision import Decision, Owed
from checks.phrase import say
from checks.verdict import Outcome
from kvgate.codec import NO_EVIDENCE, Seal, digest
from kvgate.errors import Damaged, KvgateError, NotAllowed, Unwritable
from kvgate.ledger import audit, begin, chain, envelopes, queries, schema, seen
from kvgate.ledger.engine import Store
from kvgate.ledger.entries import measurement_entries, verdict_entry
from kvgate.ledger.findings import Finding
from kvgate.ledger.models import DecisionEntry, Measurement, Run, VerdictEntry
from kvgate.ledger.rows import (
    Revision,
    RunHandle,
    RunRecord,
    SeenRow,
    Standing,
    StoredDecision,
    StoredEnvelope,
    StoredVerdict,
    VerdictRow,
    Waived,
)  # fmt: skip
from kvgate.ledger.standing import standing, unlike

__all__ = [
    "Ledger", "Revision", "RunHandle", "RunRecord", "Standing", "StoredDecision", "StoredEnvelope", "StoredVerdict", "VerdictRow",
]  # fmt: skip


def now_utc() -> str:
    """Return the clock of this machine as ISO 8601, always of the same width, so that text sorts as time."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Ledger:
    """One ledger, open. Every method is one transaction (``finish`` three); several processes may use it at once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str, *, write: bool = True) -> Ledger:
        """Open a ledger; to ``write``, an absent SQLite file is made and older tables are brought up to date.

        Raises NotAllowed (no such kind, newer than this code, busy, unreachable), Unwritable, Damaged; each says what to do.
        """
        store = Store.connect(url, write=write)
        try:
            (schema.upgrade if write else schema.current)(store)
        except KvgateError:
            store.engine.dispose()
            raise
        return cls(store)

    def close(self) -> None:
        """Let go of all connections."""
        self._store.engine.dispose()

    def begin(
        self,
        *,
        campaign: str,
        gate: str,
        inventory: str,
        fingerprint: str,
        acceptance: str,
        acceptance_digest: str,
        owed: Sequence[Owed],
        evidence_root: Path,
        code: str,
        operator: str,
        simulated: bool,
        after: int | None = None,
        parties: chain.Parties | None = None,
        signed: Callable[[RunHandle], StoredEnvelope] | None = None,
    ) -> RunHandle:
        """Write down, before anything is asked, what a new attempt goes by and what it owes.

        ``after`` is the entry of the decision log up to which it was allowed: nothing of the campaign may have been decided
        since, no attempt be open. ``parties`` are the keys that count. ``signed`` writes the start ticket: both are kept or
        neither. Raises ValueError when nothing is owed or something twice, NotAllowed, Unwritable, and what ``signed`` raises.
        """
        if not owed or len(set(owed)) != len(owed):
            raise ValueError("a run must owe something, and nothing twice")
        with self._store.writing("beginning a run", before=True) as connection:
            started = now_utc()  # alone by now: times stand in the order of the rows
            name = f"{started[:19].replace('-', '').replace(':', '')}-{secrets.token_hex(4)}"
            before = queries.head(connection)
            campaign_id = begin.campaign(connection, campaign, started)
            if after is not None:
                begin.alone(connection, campaign, after)
            inventory_id, inventory_digest = begin.inventory(connection, inventory, fingerprint, started)
            acceptance_id, revision = begin.acceptance(connection, campaign_id, acceptance, acceptance_digest, started)
            columns: dict[str, object] = {
                "seq": queries.next_seq(connection), "gate": gate, "code": code, "operator": operator,
                "attempt": queries.next_attempt(connection, campaign_id, gate), "host": socket.gethostname(),
                "simulated": simulated, "nonce": secrets.token_hex(16), "started": started,
                "prev": before[1] if before else chain.GENESIS,
            }  # fmt: skip
            fixed = {
                **columns, "run": name, "campaign": campaign, "inventory": inventory_digest, "fingerprint": fingerprint,
                "acceptance": acceptance_digest, "revision": revision,
            }  # fmt: skip
            ticket = chain.ticket(fixed, owed, parties)
            row = {
                **columns, "id": name, "campaign_id": campaign_id, "inventory_id": inventory_id,
                "acceptance_id": acceptance_id, "evidence": str(evidence_root / name), "ticket": ticket,
                "ticket_digest": digest(ticket), "state": "started", "ended": None, "why": "",
            }  # fmt: skip
            connection.execute(insert(Run), row)
            begin.owed(connection, name, owed)
            begin.ticket(connection, campaign_id, queries.run(connection, name)[0], signed)
        return begin.handle(self.run(name))

    def record(self, run: RunHandle, rows: Sequence[VerdictRow], *, judgement: int = 1) -> None:
        """Add verdicts, all or none; one given again is a new row and the newest counts. Rows of another judgement re-judge.

        Raises ValueError for a verdict that the run does not owe, Unwritable; also when it came to PASS or STOP already.
        """
        if not rows:
            return
        utc = now_utc()
        with self._store.writing(f"recording {len(rows)} verdicts of run {run.id}") as connection:
            self._open(queries.decisions(connection, run.id), run, judgement)
            owes = {(item.clause, item.subject) for item in queries.owed(connection, run.id)}
            if strangers := sorted({(row.clause, row.subject) for row in rows} - owes):
                raise ValueError(f"verdicts that run {run.id} does not owe: {strangers[:3]}")
            connection.execute(insert(VerdictEntry), [verdict_entry(run, row, judgement, utc) for row in rows])
            if numbers := [found for row in rows for found in measurement_entries(run, row, judgement)]:
                connection.execute(insert(Measurement), numbers)

    def finish(
        self,
        run: RunHandle,
        decision: Decision,
        *,
        why: str = "",
        seal: Seal = NO_EVIDENCE,
        judgement: int = 1,
    ) -> Outcome:
        """Decide a run: its rows are read back and compared, the decision is written, read back, and returned.

        ``why`` tells the reasons for what has no verdict row.

        Raises Unwritable when anything does not read back as it was meant, and when it came to PASS or STOP already.
        """
        with self._store.reading(f"reading back the verdicts of run {run.id}") as connection:
            if different := unlike(decision, queries.verdicts(connection, run.id, judgement)):
                place, count = self._store.place, len(different)
                what = say("ledger {place}: {first} ({count} such)", place=place, first=different[0], count=count)
                raise Unwritable(say("{what}; nothing was decided", what=what))
            if set(queries.owed(connection, run.id)) != {owed for owed, _ in decision.verdicts}:
                what = say("ledger {place}: run {id} owes something else", place=self._store.place, id=run.id)
                raise Unwritable(say("{what}; nothing was decided", what=what))
        counts = (decision.count(Outcome.PASS), decision.count(Outcome.STOP), decision.count(Outcome.UNDECIDED))
        self._conclude(run, "decided", decision.outcome, counts, _clean(why), seal, judgement)
        found = self.outcome(run) if judgement == 1 else None
        if found is not None and (found.problems or not found.decided or found.outcome is not decision.outcome):
            why = found.problems[0] if found.problems else f"{found.outcome} reads back"
            raise Unwritable(
                say(
                    "ledger {place}: run {id} was decided {outcome}, but {why}",
                    place=self._store.place,
                    id=run.id,
                    outcome=decision.outcome,
                    why=why,
                )
            )
        return decision.outcome if found is None else found.outcome

    def interrupt(self, run: RunHandle, why: str, *, seal: Seal = NO_EVIDENCE) -> None:
        """Note that a run ended before it was decided. It can be taken up again; until then it is UNDECIDED."""
        self._conclude(run, "interrupted", Outcome.UNDECIDED, (0, 0, 0), _clean(why), seal, 1)

    def see(self, run: RunHandle, rows: Sequence[SeenRow]) -> None:
        """Add who answered in a run; of one host and scope the newest row counts. Raises Unwritable."""
        utc = now_utc()
        with self._store.writing(f"recording who answered in run {run.id}") as connection:
            seen.keep(connection, run.id, rows, utc)

    def seen(self, run: RunHandle) -> list[SeenRow]:
        """Who answered in a run, oldest row first."""
        with self._store.reading(f"reading who answered in run {run.id}") as connection:
            return seen.select_seen(connection, run.id)

    def waive(self, run: RunHandle, decision: Decision, waivers: Sequence[Waived], why: str) -> None:
        """Add what a decided run comes to without what both parties accept; the decision before it stays. Raises Unwritable."""
        counts = (decision.count(Outcome.PASS), decision.count(Outcome.STOP), decision.count(Outcome.UNDECIDED))
        more = {"waivers": [[one.clause, one.subject, one.document, one.until] for one in waivers]}
        self._conclude(run, "waived", decision.outcome, counts, why, NO_EVIDENCE, 1, more)

    def runs(self, campaign: str | None = None, gate: str | None = None) -> list[RunRecord]:
        """Every run, failed and interrupted ones too, oldest first."""
        with self._store.reading("listing the runs") as connection:
            return queries.runs(connection, campaign, gate)

    def run(self, name: str) -> RunRecord:
        """Return the run of that id, or the only one whose id begins so. Raises NotAllowed."""
        with self._store.reading(f"reading run {name}") as connection:
            found = queries.run(connection, name) if name else []
        if len(found) == 1:
            return found[0]
        what = say("an empty name, wanted a run id or its beginning")
        if found:
            what = say(
                "{count} runs that begin with {name!r}, wanted one: write more of it", count=len(found), name=name
            )
        elif name:
            what = say("no run {name!r}", name=name)
        listed = say("`kvgate runs` (with the same --ledger) lists them")
        raise NotAllowed(
            say("ledger {place}: found {what}; {listed}", place=self._store.place, what=what, listed=listed)
        )

    def unfinished(self, campaign: str, gate: str) -> RunRecord | None:
        """Return the newest run of that gate if it came to neither PASS nor STOP, else None."""
        found = self.runs(campaign, gate)
        if not found or self.outcome(found[-1]).outcome is not Outcome.UNDECIDED:
            return None
        return found[-1]

    def owed(self, run: RunHandle) -> list[Owed]:
        """What the run owes, in the order of the acceptance document."""
        with self._store.reading(f"reading what run {run.id} owes") as connection:
            return queries.owed(connection, run.id)

    def verdicts(self, run: RunHandle, *, judgement: int = 1) -> list[StoredVerdict]:
        """Every verdict row of a run, oldest first; those given again included. Raises Damaged."""
        with self._store.reading(f"reading the verdicts of run {run.id}") as connection:
            return queries.verdicts(connection, run.id, judgement)

    def recorded(self, run: RunHandle) -> dict[Owed, StoredVerdict]:
        """Return the newest verdict of each owed clause that has one."""
        newest = queries.latest(self.verdicts(run))
        return {item: newest[item[:2]] for item in self.owed(run) if item[:2] in newest}

    def stale(self, run: RunHandle) -> list[Owed]:
        """What the run still owes: no verdict yet, or one that could not be told."""
        known = self.recorded(run)
        return [
            item for item in self.owed(run) if item not in known or known[item].verdict.outcome is Outcome.UNDECIDED
        ]

    def progress(self, run: RunHandle) -> tuple[int, int, int]:
        """How many verdicts the run has, owes in all, and still has to tell; quick, whatever its size."""
        with self._store.reading(f"reading how far run {run.id} came") as connection:
            found, owed = queries.outcomes(connection, run.id), queries.owed(connection, run.id)
        untold = sum(found.get(item[:2], Outcome.UNDECIDED.value) == Outcome.UNDECIDED.value for item in owed)
        return len(found), len(owed), untold

    def outcome(self, run: RunHandle) -> Standing:
        """Compute what a run came to from its rows; rows that contradict or cannot be read are problems and never decide."""
        with self._store.reading(f"reading run {run.id}") as connection:
            found = queries.run(connection, run.id)
            if not found:
                raise Damaged(say("ledger {place}: run {id} is not there any more", place=self._store.place, id=run.id))
            owed = queries.owed(connection, run.id)
            try:
                rows, log = queries.verdicts(connection, run.id, 1), queries.decisions(connection, run.id)
            except Damaged as error:
                return Standing(Outcome.UNDECIDED, False, (), (f"run {run.id}: {error}",))
            return standing(found[0], owed, rows, log)

    def decisions(self, run: RunHandle | None = None) -> list[StoredDecision]:
        """Return the decision log, or one run's entries, oldest first."""
        with self._store.reading("reading the decision log") as connection:
            return queries.decisions(connection, None if run is None else run.id)

    def head(self) -> tuple[int, str]:
        """Number and hash of the newest entry of the decision log: what a certificate anchors. (0, genesis) if empty."""
        with self._store.reading("reading the decision log") as connection:
            return queries.head(connection) or (0, chain.GENESIS)

    def revisions(self, campaign: str) -> list[Revision]:
        """Every text of the agreement that runs of the campaign went by, oldest first."""
        with self._store.reading("reading the agreements") as connection:
            return queries.revisions(connection, campaign)

    def keep_envelope(
        self, kind: str, campaign: str, content: bytes, document: str, run: str | None = None, *, after: str | None = None
    ) -> StoredEnvelope:  # fmt: skip
        """Keep the bytes of a document; the same again add nothing. ``document`` is its statement's digest, ``after`` that of the one
        that must still be the campaign's newest of that kind ("": none). Raises NotAllowed where it is not, Unwritable.
        """
        found = StoredEnvelope(kind, campaign, run, document, content, now_utc())
        with self._store.writing(f"keeping a {kind}") as connection:
            number = begin.campaign(connection, campaign, found.stored)
            envelopes.newest(connection, number, kind, after)
            envelopes.keep(connection, number, found)
        for stored in self.envelopes(campaign=campaign, kind=kind, run=run, document=document):
            if stored.content == content:
                return stored
        raise Unwritable(
            say(
                "ledger {place}: the {kind} of {campaign} does not read back as written",
                place=self._store.place,
                kind=kind,
                campaign=campaign,
            )
        )

    def envelopes(
        self,
        campaign: str | None = None,
        kind: str | None = None,
        run: str | None = None,
        document: str | None = None,
    ) -> list[StoredEnvelope]:
        """Signed documents, oldest first: a draft stands before the envelope that both parties have signed."""
        with self._store.reading("reading signed documents") as connection:
            return envelopes.select_envelopes(connection, campaign, kind, run, document)

    def inventories(self, campaign: str) -> dict[str, str]:
        """Every inventory that runs of the campaign went by: digest -> text."""
        with self._store.reading("reading the inventories") as connection:
            return queries.inventories(connection, campaign)

    def findings(self, progress: audit.Progress | None = None) -> Iterator[Finding]:
        """Yield the same with the kind of each, as it is found: a whole campaign is walked through run by run."""
        with self._store.reading("checking") as connection:
            yield from audit.findings(connection, progress=progress)

    def check(self, anchors: Sequence[tuple[int, str]] = ()) -> list[str]:
        """Everything in the ledger that is not what was written, each by its name; none is good.

        ``anchors`` are heads of the decision log that left this machine: only they show a log cut at its end.
        """
        with self._store.reading("checking") as connection:
            return audit.check(connection, anchors)

    def _conclude(
        self,
        run: RunHandle,
        kind: str,
        outcome: Outcome,
        counts: tuple[int, int, int],
        why: str,
        seal: Seal,
        judgement: int,
        more: Mapping[str, object] | None = None,
    ) -> None:
        with self._store.writing(f"deciding run {run.id}") as connection:
            utc = now_utc()
            earlier = queries.decisions(connection, run.id)
            if kind != "waived":
                self._open(earlier, run, judgement)
            last = queries.head(connection) or (0, chain.GENESIS)
            rows = queries.raw_verdicts(connection, run.id, judgement)
            content = chain.entry(
                run, seq=last[0] + 1, judgement=judgement, kind=kind, outcome=outcome, counts=counts, why=why, seal=seal,
                rows=rows, code=run.code, prev=last[1], utc=utc, more={**seen.seal(connection, run.id), **(more or {})},
            )  # fmt: skip
            row = {
                "seq": last[0] + 1, "run": run.id, "judgement": judgement, "kind": kind, "outcome": outcome.value,
                "passed": counts[0], "stopped": counts[1], "undecided": counts[2], "why": why,
                "evidence_lines": seal.lines, "evidence_head": seal.head, "evidence_root": seal.root,
                "content": content, "prev": last[1], "hash": digest(content), "utc": utc,
            }  # fmt: skip
            connection.execute(insert(DecisionEntry), row)
            if judgement == 1 and kind != "waived" and not any(entry.kind == "decided" for entry in earlier):
                end = {"state": kind, "ended": utc, "why": why}
                changed = connection.execute(update(Run).where(Run.id == run.id).values(end)).rowcount
                if changed != 1:
                    raise Damaged(
                        say(
                            "ledger {place}: run {id} is there {changed} times",
                            place=self._store.place,
                            id=run.id,
                            changed=changed,
                        )
                    )

    def _open(self, earlier: Sequence[StoredDecision], run: RunHandle, judgement: int) -> None:
        """Refuse to add to what came to PASS or STOP."""
        for entry in earlier:
            if entry.judgement == judgement and entry.kind == "decided" and entry.outcome is not Outcome.UNDECIDED:
                raise Unwritable(
                    say(
                        "run {id} was decided {outcome} at {utc}: start a new attempt",
                        id=run.id,
                        outcome=entry.outcome,
                        utc=entry.utc,
                    )
                )


def _clean(why: str) -> str:
    return why.replace("\0", " ")[:2000]
