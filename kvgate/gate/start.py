"""Getting a run ready: inputs checked before any host is contacted, then ledger and evidence opened and what is owed written down."""

from __future__ import annotations

import platform
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from checks.decision import Owed
from checks.phrase import say
from checks.probe import Level
from kvgate import agreement as agreements
from kvgate.agreement import Agreement
from kvgate.campaign import seen
from kvgate.certificates.code import code_version
from kvgate.errors import BadInput, KvgateError, NotAllowed, Unwritable
from kvgate.evidence.durable import room
from kvgate.evidence.store import Evidence, begun, unbegun
from kvgate.gate import code, order
from kvgate.gate.body import GateTest
from kvgate.gate.collect import Progress, replay, with_boots
from kvgate.gate.earlier import Earlier, look, open_ended
from kvgate.gate.judged import Judged
from kvgate.gate.moment import Tell
from kvgate.gate.operator import operator
from kvgate.gate.options import Options
from kvgate.gate.preview import Preview, preview
from kvgate.gate.session import GateSession
from kvgate.gate.stored import Then, find_run, then
from kvgate.gate.unfinished import looked, of_run, take_up, unjudged
from kvgate.inventory import reader
from kvgate.inventory.model import Host
from kvgate.inventory.reader import Inventory
from kvgate.inventory.subjects import Thing, owed
from kvgate.transport.base import Transport

if TYPE_CHECKING:
    from kvgate.certificates.soak_book import SoakBook
    from kvgate.gate.order import Allowed
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle, RunRecord


@dataclass(frozen=True, repr=False)
class Prepared:
    """Checked inputs of a run."""

    options: Options
    inventory: Inventory
    agreement: Agreement
    owed: tuple[tuple[Owed, Thing], ...]
    stored: Evidence | None = None  # the run to replay
    then: Then | None = None  # what it came to when it was made
    agreed: Agreement | None = None  # by which it was judged then

    def session(self) -> GateSession:
        """Return a fresh session on these inputs."""
        return GateSession(
            self.options.gate, self.inventory, self.agreement, self.owed, then=self.then, agreed=self.agreed,
            destroys=frozenset(self.options.allow_destructive),
        )  # fmt: skip

    def preview(self, tests: Sequence[GateTest]) -> Preview:
        """Everything that is owed, and every command that would run where."""
        return preview(self.session(), tests)


def prepare(options: Options) -> Prepared:
    """Read and check all inputs. Raises Refused with every fault; contacts nothing and writes nothing."""
    if options.replay is not None:
        return _prepare_replay(options)
    if options.inventory is None:
        raise NotAllowed(
            say(
                "{gate} needs to know the rack: pytest -m {gate} --inventory FILE (or set KVGATE_INVENTORY)",
                gate=options.gate,
            )
        )
    inventory = reader.read(options.inventory)
    _may_be_destroyed(options.allow_destructive, inventory)
    overlay = inventory.rack.acceptance
    agreement = agreements.read(options.inventory.parent / overlay if overlay else None)
    owed = agreements.what_is_owed(agreement, inventory.rack, str(options.inventory), options.gate)
    _permitted(options, agreement, [item for item, _ in owed])
    if not owed:
        raise NotAllowed(
            say("{gate} owes nothing on this inventory: it names nothing that a clause is about", gate=options.gate)
        )
    return Prepared(options, inventory, agreement, tuple(owed))


def _permitted(options: Options, agreement: Agreement, owed: Sequence[Owed]) -> None:
    """Load is made only by who said so: on a rack in use it slows whoever works there. A plan makes none."""
    loading = [item for item in owed if agreement.acceptance.clauses[item.clause].level is not Level.PASSIVE]
    if loading and not options.allow_load and not options.plan:
        raise NotAllowed(
            say(
                "{gate} makes load on the hosts for {count} of the clauses it owes ({clause} first): give "
                "--allow-load when nobody else needs the rack; pytest -m {gate} --plan shows every command",
                gate=options.gate,
                count=len(loading),
                clause=loading[0].clause,
            )
        )


def _may_be_destroyed(serials: Sequence[str], inventory: Inventory) -> None:
    """Raises NotAllowed for a serial that no disk of the inventory carries, and for a disk that it does not call scratch."""
    disks = [(host, disk) for host, one in inventory.rack.hosts.items() for disk in one.disks]
    scratch = ", ".join(f"{disk.serial} ({host})" for host, disk in disks if disk.scratch)
    wrong: list[str] = []
    for serial in serials:
        places = [(host, disk) for host, disk in disks if disk.serial == serial]
        if not places:
            wrong.append(f"{serial!r}, which no disk of {inventory.file} carries")
        wrong += [
            f"{serial!r} ({host}), which {inventory.file} does not mark 'scratch: true'"
            for host, disk in places
            if not disk.scratch
        ]
    if wrong:
        wanted = f"a disk that may be written raw: {scratch or 'this inventory has none'}"
        raise NotAllowed(
            say("--allow-destructive: found {words}; wanted {wanted}", words="; ".join(wrong), wanted=wanted)
        )


def _prepare_replay(options: Options) -> Prepared:
    evidence = Evidence.open(find_run(options, options.replay or ""))
    came_to = then(evidence, options.ledger)
    start = evidence.start
    if start.gate != options.gate:
        raise NotAllowed(
            say("run {run} is a run of {gate}, not of {wanted}", run=evidence.run, gate=start.gate, wanted=options.gate)
        )
    try:
        inventory = reader.stored(start.inventory, f"{evidence.run}/inventory")
        agreed = agreements.stored(start.acceptance)
    except BadInput as error:
        if start.code in ("", code_version()):
            raise
        raise NotAllowed(
            say(
                "run {run} was made by kvgate {code}, whose inventory or acceptance text this version ({ours}) does "
                "not read: {fault} ({count} such); judge it with that version",
                run=evidence.run,
                code=start.code,
                ours=code_version(),
                fault=error.faults[0].phrase,
                count=len(error.faults),
            )
        ) from error
    _may_be_destroyed(options.allow_destructive, inventory)
    if came_to.owed is None:
        came_to = replace(came_to, owed=frozenset(item[:2] for item, _ in _owed(agreed, inventory, options.gate)))
    agreement = agreements.read() if options.replay_by == "installed" else agreed
    owed = tuple(_owed(agreement, inventory, options.gate))
    return Prepared(options, inventory, agreement, owed, stored=evidence, then=came_to, agreed=agreed)


def _owed(agreement: Agreement, inventory: Inventory, gate: str) -> list[tuple[Owed, Thing]]:
    """What a stored run owes. Rules that newer versions have for inventories refuse no run that was made before them."""
    try:
        return owed(agreement.acceptance, inventory.rack, gate)
    except KeyError as error:
        raise NotAllowed(
            say("the agreement selects on trait {why}, which this version does not know", why=str(error))
        ) from None


def transport_for(inventory: Inventory) -> Transport:
    """Return the SSH transport for all hosts of a rack."""
    from kvgate.transport.ssh import SshTransport

    hosts: dict[str, Host] = dict(inventory.rack.hosts)
    return SshTransport(hosts, inventory.rack.defaults)


@dataclass(repr=False)
class Started:
    """A run that is written down and may look. Use as a context manager: closes connections and files at the end."""

    session: GateSession
    still_owed: set[Owed]
    live: bool = True  # False when stored answers are judged
    options: Options | None = None  # of a live run
    earlier: Sequence[Earlier] = ()  # runs before this one that were never decided; with one taken up: that one alone
    unsigned: bool = False  # nobody signed the start ticket: what it comes to can be shown, a PASS not certified
    allowed: Allowed | None = None  # by what a live run was let in
    resumed: RunRecord | None = None  # the run taken up, as it was found
    _transport: Transport | None = None
    _watch: Transport | None = None  # a second way to the hosts; connects when load is made

    def look(self, tests: Sequence[GateTest], progress: Progress | None = None, tell: Tell | None = None) -> None:
        """Ask every host what the tests need. Raises Unwritable when an answer could not be kept."""
        if self.live:
            self._transport, self._watch = transport_for(self.session.inventory), transport_for(self.session.inventory)
            self._soak()
            self.session.look(tests, self._transport, progress, watch=self._watch, tell=tell)
            if self.session.evidence is not None:
                self.session.answers = with_boots(self.session.answers, self.session.evidence)

    def _soak(self) -> None:
        """Bring in the journals that G4 judges."""
        if self.session.gate != "G4" or self.options is None or self._watch is None:
            return
        from kvgate.gate import soaks

        where, load, book = self.options.soaks, self.options.allow_load, self._book()
        found, trouble = soaks.gather(self.session.inventory, self._watch, where, book, allow_load=load)
        self.session.journals = found
        self.session.remarks += [str(phrase) for phrase in trouble]
        if self.session.evidence is not None:
            from kvgate.gate import starts

            now = book.starts()  # as it stood before this run judged it
            starts.keep(self.session.evidence, now if found is None else found.beside(now))
        if found is not None and self.session.run is not None:
            book.write("judge", found.store.soak, {}, run=self.session.run.id)

    def _book(self) -> SoakBook:
        from kvgate.certificates.soak_book import SoakBook

        ledger, allowed = self.session.ledger, self.allowed
        assert ledger is not None  # noqa: S101 - a live run has one
        signer, trust = (None, None) if allowed is None else (allowed.signer, allowed.trust)
        return SoakBook(ledger, self.session.inventory, operator(), code_version(), signer=signer, trust=trust)

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for transport in (self._transport, self._watch):
            if transport is not None:
                transport.close()  # what runs on the hosts loses its channel and ends


def begin(prepared: Prepared) -> Started:
    """Open ledger and evidence and write down what is owed. Raises Refused; no host is contacted."""
    session = prepared.session()
    if prepared.stored is not None:
        session.answers = replay(prepared.stored)
        if problems := prepared.stored.verify().problems:
            session.trouble.append(f"the evidence is not what was written: {problems[0]}")
        elif _owes_less(prepared):
            session.trouble.append(
                "this version owes less than the run did: see below what it does not judge; it cannot pass"
            )
        elif not prepared.stored.notes("decision"):
            session.trouble.append(
                "the evidence holds no decision: the run was not finished, or its end was cut off; it cannot pass"
            )
        return Started(session, {item for item, _ in prepared.owed}, live=False)
    from kvgate.ledger.repository import Ledger

    try:
        session.ledger = Ledger.open(prepared.options.ledger)
        room(prepared.options.evidence)
        return (_resume if prepared.options.only_stale else _anew)(prepared, session, session.ledger)
    except Unwritable as error:
        raise NotAllowed(error.phrase) from error


def _owes_less(prepared: Prepared) -> bool:
    """Whether a blocking verdict that the run owed then is not owed by what it is judged by now."""
    now = {item[:2] for item, _ in prepared.owed}
    then_ = prepared.then.verdicts if prepared.then is not None else {}
    return prepared.agreed is prepared.agreement and any(item.blocking and item[:2] not in now for item in then_)


def _anew(prepared: Prepared, session: GateSession, ledger: Ledger) -> Started:
    earlier = open_ended(ledger, prepared.inventory.rack.campaign, prepared.options.gate)
    allowed = order.allowed(prepared.options, prepared.inventory, prepared.agreement, ledger)
    allowed.tell(session)
    session.run = ledger.begin(
        gate=prepared.options.gate,
        campaign=prepared.inventory.rack.campaign,
        inventory=prepared.inventory.text,
        fingerprint=prepared.inventory.fingerprint,
        acceptance=prepared.agreement.canonical(),
        acceptance_digest=prepared.agreement.digest,
        owed=[item for item, _ in prepared.owed],
        evidence_root=prepared.options.evidence.absolute(),
        code=code_version(),
        operator=operator(),
        simulated=prepared.inventory.rack.simulated,
        after=allowed.head[0],
        parties=allowed.parties,
        signed=allowed.sign(),
    )
    try:
        session.evidence = _evidence(prepared, session.run)
        allowed.compare(ledger, session.evidence, session.gate)
    except KvgateError as error:
        session.interrupt(str(error))
        if isinstance(
            error, Unwritable
        ):  # the attempt is counted, and without an end where that could not be written either
            raise Unwritable(
                say("{why}; add --only-stale: this attempt is written down already", why=error.phrase)
            ) from error
        raise
    return Started(
        session, {item for item, _ in prepared.owed}, options=prepared.options, earlier=earlier,
        unsigned=allowed.signer is None, allowed=allowed,
    )  # fmt: skip


def _evidence(prepared: Prepared, run: RunHandle) -> Evidence:
    start = {
        "gate": prepared.options.gate,
        "campaign": prepared.inventory.rack.campaign,
        "inventory": prepared.inventory.text,
        "acceptance": prepared.agreement.canonical(),
        "code": code_version(),
        "modules": code.written(),
        "python": platform.python_version(),
        "argv": sys.argv[1:],
        "simulated": prepared.inventory.rack.simulated,
        "attempt": run.attempt,
        "revision": run.revision,
        "ticket": run.ticket_digest,
        "start_ticket": run.ticket,
        "operator": run.operator,
        "machine": run.host,
        "started": run.started,
    }
    return Evidence.create(prepared.options.evidence, run.id, start)


def _resume(prepared: Prepared, session: GateSession, ledger: Ledger) -> Started:
    gate = prepared.options.gate
    run = ledger.unfinished(prepared.inventory.rack.campaign, gate)
    if run is None:
        raise NotAllowed(say("no unfinished run of {gate} in this campaign: leave --only-stale away", gate=gate))
    same = (prepared.agreement.digest, prepared.inventory.fingerprint, prepared.inventory.text_digest)
    if (run.acceptance_digest, run.fingerprint, run.inventory_digest) != same:  # one word of the order is another order
        raise NotAllowed(
            say(
                "run {run} was started on another inventory or acceptance text; its verdicts do not belong to this one: "
                "leave --only-stale away and start a new attempt",
                run=run.id,
            )
        )
    session.run = run
    allowed = order.allowed(prepared.options, prepared.inventory, prepared.agreement, ledger, run.id)
    allowed.tell(session)
    session.seen = seen.stored(ledger.seen(run))
    recorded = ledger.recorded(run)
    earlier = look(ledger, run)
    session.evidence = _reopened(prepared, run, looked(ledger, run))
    dead = run.state == "started" or unjudged(ledger, run)
    allowed.compare(ledger, session.evidence, gate)
    take_up(ledger, run)
    session.judged = {
        item: Judged(stored.verdict, stored.basis, stored.reason, stored.evidence) for item, stored in recorded.items()
    }
    if dead:
        session.recall(session.evidence)
    from kvgate.campaign import tickets

    return Started(
        session, set(ledger.stale(run)), options=prepared.options, earlier=(earlier,),
        unsigned=next(tickets.kept(ledger, run), None) is None, allowed=allowed, resumed=run,
    )  # fmt: skip


def _reopened(prepared: Prepared, run: RunHandle, asked: bool) -> Evidence:
    """Return the evidence of an unfinished run, from where it lay or lies now; one that died before it asked anybody gets it.

    Raises NotAllowed where it must lie somewhere else: its verdicts name lines of that journal and of no other.
    """
    for folder in (Path(run.evidence), prepared.options.evidence / run.id):
        if begun(folder) or (folder.is_dir() and asked):
            return of_run(Evidence.open(folder, write=True), run)
        if not asked:
            unbegun(folder)
    if asked or run.host != socket.gethostname():
        raise NotAllowed(
            say(
                "run {id} was begun on {host} and its evidence is not here: found no {evidence}; go on where it "
                "lies, or bring that folder here and name its parent with --evidence, or leave --only-stale away",
                id=run.id,
                host=run.host,
                evidence=run.evidence,
            )
        )
    return _evidence(prepared, run)
