"""Getting a run ready: inputs checked before any host is contacted, then ledger and evidence opened and what is owed written down."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import TYPE_CHECKING

from checks.acceptance import Text
from checks.decision import Owed
from checks.phrase import say
from kvgate import agreement as agreements
from kvgate.agreement import Agreement
from kvgate.errors import KvgateError, NotAllowed, Unwritable
from kvgate.evidence.durable import unwritable
from kvgate.evidence.store import Evidence
from kvgate.gate.collect import Progress, replay, with_boots
from kvgate.gate.options import Options
from kvgate.gate.sealed import vouched
from kvgate.gate.session import GateSession, GateTest, Judged, operator
from kvgate.inventory import reader
from kvgate.inventory.model import Host
from kvgate.inventory.reader import Inventory
from kvgate.inventory.subjects import Thing
from kvgate.transport.base import Transport

if TYPE_CHECKING:
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle


@dataclass(frozen=True)
class Planned:
    """One line of a plan: a question to a host and the clauses that need it; ``instead``: only where another could not be told."""

    host: str
    command: str
    level: str
    samples: int
    clauses: tuple[str, ...]
    instead: bool = False


@dataclass(frozen=True)
class Preview:
    """What a run would owe and ask."""

    gate: str
    owed: tuple[tuple[Owed, Text], ...]  # with what the clause says
    asked: tuple[Planned, ...]


@dataclass(frozen=True)
class Prepared:
    """Checked inputs of a run."""

    options: Options
    inventory: Inventory
    agreement: Agreement
    owed: tuple[tuple[Owed, Thing], ...]
    stored: Evidence | None = None  # the run to replay

    def session(self) -> GateSession:
        """Return a fresh session on these inputs."""
        return GateSession(self.options.gate, self.inventory, self.agreement, self.owed)

    def preview(self, tests: Sequence[GateTest]) -> Preview:
        """Everything that is owed, and every command that would run where."""
        session = self.session()
        found: dict[tuple[str, str], tuple[str, int, list[str]]] = {}
        first: set[tuple[str, str]] = set()
        for test in tests:
            for need in session.rehearse([test]).needs:
                level, samples, clauses = found.get((need.host, need.key), (need.probe.level.value, 1, []))
                clauses.append(test.owed.clause)
                found[need.host, need.key] = (level, max(samples, need.samples), clauses)
                first |= set() if need.instead else {(need.host, need.key)}
        asked = tuple(
            Planned(host, command, level, samples, tuple(dict.fromkeys(clauses)), (host, command) not in first)
            for (host, command), (level, samples, clauses) in sorted(found.items())
        )
        owed = tuple((item, session.clause(item).text) for item, _ in self.owed)
        return Preview(self.options.gate, owed, asked)


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
    overlay = inventory.rack.acceptance
    agreement = agreements.read(options.inventory.parent / overlay if overlay else None)
    owed = agreements.what_is_owed(agreement, inventory.rack, str(options.inventory), options.gate)
    if not owed:
        raise NotAllowed(
            say("{gate} owes nothing on this inventory: it names nothing that a clause is about", gate=options.gate)
        )
    return Prepared(options, inventory, agreement, tuple(owed))


def find_run(options: Options, name: str) -> Path:
    """Evidence folder of a run, given as a folder or as a run id. Raises NotAllowed when there is none."""
    for path in (Path(name), options.evidence / name):
        if (path / "journal.jsonl").is_file():
            return path
    raise NotAllowed(
        say(
            "found {name!r}, wanted a run below {folder} or a folder with a journal.jsonl: `kvgate runs` lists them, "
            "--evidence names another folder",
            name=name,
            folder=str(options.evidence),
        )
    )


def _prepare_replay(options: Options) -> Prepared:
    evidence = Evidence.open(find_run(options, options.replay or ""))
    vouched(evidence, options.ledger)
    start = evidence.start
    if start.gate != options.gate:
        raise NotAllowed(
            say("run {run} is a run of {is_}, not of {wanted}", run=evidence.run, is_=start.gate, wanted=options.gate)
        )
    inventory = reader.parse(start.inventory, f"{evidence.run}/inventory")
    agreement = agreements.stored(start.acceptance)
    owed = agreements.what_is_owed(agreement, inventory.rack, inventory.file, options.gate)
    return Prepared(options, inventory, agreement, tuple(owed), stored=evidence)


def code_version() -> str:
    """Version of kvgate that judges."""
    try:
        return version("kvgate")
    except PackageNotFoundError:
        return "unknown"


def transport_for(inventory: Inventory) -> Transport:
    """Return the SSH transport for all hosts of a rack."""
    from kvgate.transport.ssh import SshTransport

    hosts: dict[str, Host] = dict(inventory.rack.hosts)
    return SshTransport(hosts, inventory.rack.defaults)


@dataclass
class Started:
    """A run that is written down and may look. Use as a context manager: closes connections and files at the end."""

    session: GateSession
    still_owed: set[Owed]
    live: bool = True  # False when stored answers are judged
    _transport: Transport | None = None

    def look(self, tests: Sequence[GateTest], progress: Progress | None = None) -> None:
        """Ask every host what the tests need. Raises Unwritable when an answer could not be kept."""
        if self.live:
            self._transport = transport_for(self.session.inventory)
            self.session.look(tests, self._transport, progress)
            if self.session.evidence is not None:
                self.session.answers = with_boots(self.session.answers, self.session.evidence)

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._transport is not None:
            self._transport.close()


def begin(prepared: Prepared) -> Started:
    """Open ledger and evidence and write down what is owed. Raises Refused; no host is contacted."""
    session = prepared.session()
    if prepared.stored is not None:
        session.answers = replay(prepared.stored)
        if problems := prepared.stored.verify().problems:
            session.trouble.append(f"the evidence is not what was written: {problems[0]}")
        elif not prepared.stored.notes("decision"):
            session.trouble.append(
                "the evidence holds no decision: the run was not finished, or its end was cut off; it cannot pass"
            )
        return Started(session, {item for item, _ in prepared.owed}, live=False)
    from kvgate.ledger.repository import Ledger

    try:
        session.ledger = Ledger.open(prepared.options.ledger)
        _room_for_evidence(prepared.options.evidence)
        return (_resume if prepared.options.only_stale else _anew)(prepared, session, session.ledger)
    except Unwritable as error:
        raise NotAllowed(str(error)) from error


def _anew(prepared: Prepared, session: GateSession, ledger: Ledger) -> Started:
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
    )
    try:
        session.evidence = _evidence(prepared, session.run)
    except KvgateError as error:
        session.interrupt(str(error))
        raise
    return Started(session, {item for item, _ in prepared.owed})


def _evidence(prepared: Prepared, run: RunHandle) -> Evidence:
    start = {
        "gate": prepared.options.gate,
        "campaign": prepared.inventory.rack.campaign,
        "inventory": prepared.inventory.text,
        "acceptance": prepared.agreement.canonical(),
        "code": code_version(),
        "python": platform.python_version(),
        "argv": sys.argv[1:],
        "simulated": prepared.inventory.rack.simulated,
        "attempt": run.attempt,
    }
    return Evidence.create(prepared.options.evidence, run.id, start)


def _room_for_evidence(root: Path) -> None:
    """Notice before an attempt is counted that no evidence could be kept."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=root) as file:
            file.write(bytes(2**16))
            file.flush()
    except OSError as error:
        raise unwritable(error, "evidence (folder)", root) from error


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
    session.evidence = _reopened(prepared, run)
    session.judged = {
        item: Judged(stored.verdict, stored.basis, stored.reason, stored.evidence)
        for item, stored in ledger.recorded(run).items()
    }
    return Started(session, set(ledger.stale(run)))


def _reopened(prepared: Prepared, run: RunHandle) -> Evidence:
    """Return the evidence of an unfinished run, from where it lay or lies now; a run that died before it had any gets it."""
    for folder in (Path(run.evidence), prepared.options.evidence / run.id):
        if folder.is_dir():
            return Evidence.open(folder, write=True)
    return _evidence(prepared, run)
