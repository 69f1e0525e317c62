"""Runs gate tests on virtual hosts within this process: the same bodies, the same reading, no network. For fault tables."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from checks.decision import Owed
from checks.nvme.probes import controllers
from checks.phrase import say
from checks.probe import Interval, Probe, UnreadableOutput
from checks.trial import Trial
from checks.verdict import Outcome, Verdict
from kvgate import agreement as agreements
from kvgate.agreement import Agreement
from kvgate.errors import DECLARABLE, CannotTell, DeviceAbsent
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.ask import Facts
from kvgate.gate.options import GATES
from kvgate.gate.reading import read
from kvgate.gate.trials import Trials
from kvgate.inventory import reader
from kvgate.inventory.model import Rack
from kvgate.inventory.subjects import Thing, owed
from kvgate.transport.base import Answer, Batch, Command
from kvgate.transport.batch import check
from lab.inventory import text
from lab.load.host import LoadHost
from lab.rack import VirtualHost, build, driver, fingerprint, host_key


@dataclass
class Virtual:
    """A transport to virtual hosts in this process."""

    hosts: dict[str, VirtualHost]

    def each(self, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
        for host, wanted in commands.items():
            check(wanted)  # what no batch could carry must not pass here either
            yield Batch(host, {command.key: self._answer(host, command) for command in wanted})

    def _answer(self, host: str, command: Command) -> Answer:
        reply = self.hosts[host].machine.answer(command.line)
        if reply.hang or reply.delay > command.limit:
            return Answer(command.key, b"", b"", 124, command.limit)
        return Answer(command.key, reply.stdout, reply.stderr, reply.status, 0.01)

    def run(
        self, commands: Mapping[str, Sequence[Command]], progress: Callable[[Batch], None] | None = None
    ) -> dict[str, Batch]:
        del progress
        return {batch.host: batch for batch in self.each(commands)}

    def close(self) -> None:
        pass


@dataclass
class Direct(Facts):
    """The ``ask`` fixture on virtual hosts. First and second sample are told apart by how often a machine was asked."""

    hosts: dict[str, VirtualHost]
    cache: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    replies: dict[tuple[str, str, int], Any] = field(default_factory=dict)
    trials: Trials | None = None
    folder: TemporaryDirectory[str] | None = None
    done: set[tuple[str, bool]] = field(default_factory=set)  # trials that were made, without and with a rule for more

    def twice(self, host: str, probe: Probe[Any]) -> Interval[Any]:
        return Interval(self._fact(host, probe, 1), self._fact(host, probe, 2), 2.0)

    def measure(self, trial: Trial[Any]) -> Any:
        if self.trials is None:
            memory = Path("/dev/shm")  # evidence of a test need not survive a crash
            self.folder = TemporaryDirectory(dir=memory if memory.is_dir() else None)
            evidence = Evidence.create(Path(self.folder.name), "run", {"gate": "G2"})
            self.trials = Trials([], Virtual(self.hosts), Answers(evidence), "kvgate:test")
        if (trial.key, trial.enough is None) not in self.done and (trial.key, False) not in self.done:
            self.done.add((trial.key, trial.enough is None))
            self.trials.trials = [trial]
            self.trials.run()
        return self.trials.tried.measured(trial)

    def host_key(self, host: str) -> str:
        return fingerprint(self.hosts[host].key)

    def clock(self, host: str) -> tuple[float, float]:
        return self.hosts[host].skew - 0.001, self.hosts[host].skew + 0.001

    def _fact(self, host: str, probe: Probe[Any], sample: int = 1) -> Any:
        place = (host, probe.command(), sample, probe.parse)
        if place not in self.cache:
            try:
                self.cache[place] = self._ask(host, probe, sample)
            except CannotTell as error:
                self.cache[place] = error
        if isinstance(found := self.cache[place], CannotTell):
            raise found
        return found

    def _ask(self, host: str, probe: Probe[Any], sample: int) -> Any:
        if sample == 2:
            self._fact(host, probe, 1)
        names = {}
        for device in probe.devices:
            tree = self._fact(host, controllers())
            try:
                if device.kind == "namespace":
                    name = tree.namespace(device.serial)
                else:
                    name = controller.name if (controller := tree.controller(device.serial)) else None
            except UnreadableOutput as error:
                raise DeviceAbsent(str(error)) from None
            if name is None:
                raise DeviceAbsent(f"{host}: no disk with serial {device.serial}")
            names[device] = f"/dev/{name}"
        asked = (host, probe.command(names), sample)
        if asked not in self.replies:  # one answer may be read by several parsers, as in a real run
            self.replies[asked] = self.hosts[host].machine.answer(probe.command(names))
        reply = self.replies[asked]
        if reply.hang or reply.delay > probe.limit:
            return read(host, probe, Answer("", b"", b"", 124, probe.limit))
        return _read(host, probe, reply.stdout, reply.stderr, reply.status)


@lru_cache(maxsize=4096)
def _told(host: str, probe: Probe[Any], stdout: bytes, stderr: bytes, status: int) -> Any:
    """Reading is pure: the same bytes are read once for all racks of a test session."""
    try:
        return read(host, probe, Answer("", stdout, stderr, status, 0.01))
    except CannotTell as error:
        return error


def _read(host: str, probe: Probe[Any], stdout: bytes, stderr: bytes, status: int) -> Any:
    if isinstance(found := _told(host, probe, stdout, stderr, status), CannotTell):
        raise found
    return found


@lru_cache(maxsize=64)
def _rack(inventory: str) -> Rack:
    return reader.parse(inventory).rack


@cache
def _parameters(body: Callable[..., None]) -> tuple[str, ...]:
    return tuple(inspect.signature(body).parameters)


@dataclass
class Result:
    """Verdicts of a whole gate on one rack, and what the machines had no answer for."""

    verdicts: dict[Owed, Verdict]
    unknown: dict[str, list[str]]
    unused: list[str]

    def clauses(self, outcome: Outcome) -> set[str]:
        return {item.clause for item, verdict in self.verdicts.items() if verdict.outcome is outcome}

    def why(self, clause: str) -> list[str]:
        return [
            f"{item.subject}: {verdict.outcome}: measured {verdict.measured}; required {verdict.required}; {verdict.note}"
            for item, verdict in self.verdicts.items()
            if item.clause == clause and verdict.outcome is not Outcome.PASS
        ]


@cache
def bodies(gate: str = "g1_arrival") -> dict[str, Callable[..., None]]:
    """Clause id -> gate test."""
    package = importlib.import_module(f"gates.{gate}")
    found: dict[str, Callable[..., None]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module: ModuleType = importlib.import_module(f"gates.{gate}.{info.name}")
        for name, body in vars(module).items():
            if not name.startswith("test_") or not callable(body):
                continue
            for mark in getattr(body, "pytestmark", []):
                if mark.name == "clause":
                    assert mark.args[0] not in found, f"{mark.args[0]} is decided twice"
                    found[mark.args[0]] = body
    return found


@cache
def agreement() -> Agreement:
    return agreements.read()


def judge(
    faults: Iterable[str] = (),
    platform: str = "rocm",
    nodes: int = 2,
    only: str = r"G\d\..*",
    clauses: Agreement | None = None,
    inventory: str | None = None,
    gate: str = "G1",
    concurrencies: Sequence[int] = (8, 16, 32),
    nfs: bool = False,
    tool: str = "",
    containers: bool = False,
    engine: str = "vllm",
    baseline: Mapping[tuple[str, str], Verdict] | None = None,
    unused: Iterable[str] = (),
) -> Result:
    """Judge a gate on a virtual rack with faults; ``only`` is a regular expression of clause ids (faster while writing).

    ``inventory`` is another text to judge by than the order of that rack; ``nfs``: its nodes mount an export of the array too;
    ``tool`` is a load tool that it is ordered with, ``containers``: its engines are containers. ``baseline`` is what the gate
    before measured; by default what a healthy rack gave there. ``unused`` are devices that nothing stands on: they may be written raw.
    """
    if baseline is None:
        baseline = measured_before(platform, nodes, tuple(concurrencies), tool, engine) if gate == "G3" else {}
    hosts = {host.name: host for host in build(nodes, platform, faults, nfs=nfs, engine=engine)}
    written = text(
        [(host.ordered, 42200 + index, fingerprint(host_key(host.name))) for index, host in enumerate(hosts.values())],
        concurrencies=concurrencies,
        driver=tool or driver(hosts.values()),
        containers=containers or any(host.containers for host in hosts.values()),
        engine=next(host.engine for host in hosts.values()),
        untold=any(host.untold for host in hosts.values()),
    )
    rack = _rack(inventory or written)
    for host in hosts.values():
        if isinstance(host.machine.computed, LoadHost):
            host.machine.computed.unused.update(unused)
    ask = Direct(hosts)
    verdicts: dict[Owed, Verdict] = {}
    terms = (clauses or agreement()).acceptance
    for item, thing in owed(terms, rack, gate):
        if re.fullmatch(only, item.clause) and item.clause in bodies(GATES[gate]):
            limits = {n: x.value for n, x in terms.clauses[item.clause].limits.items()}
            verdicts[item] = _judge(item, thing, ask, limits, baseline)
    unknown = {host.name: host.machine.unknown for host in hosts.values() if host.machine.unknown}
    unused = [f"{host.name}: {edit.ask}" for host in hosts.values() for edit in host.machine.unused]
    return Result(verdicts, unknown, unused)


@cache
def measured_before(
    platform: str, nodes: int, concurrencies: tuple[int, ...], tool: str = "", engine: str = "vllm"
) -> Mapping[tuple[str, str], Verdict]:
    """What G3 compares with: the clauses of G2 that it looks at, on a healthy rack."""
    only = r"G2\.(1\.[2456]|2\.2|6\.1)"
    found = judge((), platform, nodes, only, gate="G2", concurrencies=concurrencies, tool=tool, engine=engine)
    return {item[:2]: verdict for item, verdict in found.verdicts.items()}


def _judge(
    item: Owed, thing: Thing, ask: Direct, terms: dict[str, Any], baseline: Mapping[tuple[str, str], Verdict]
) -> Verdict:
    given: list[Verdict] = []

    def declared() -> Verdict:
        for declaration in thing.rack.declared:
            if declaration.clause == item.clause and declaration.subject == item.subject:
                return Verdict.of(declaration.conforms, declaration.value, "declared")
        raise CannotTell("nobody has answered for it")

    known = {"ask": ask, "terms": terms, "decide": given.append, "declared": declared}
    known["measure"] = ask.measure
    known["baseline"] = lambda clause, subject: baseline.get((clause, subject))
    body = bodies(GATES[item.clause[:2]])[item.clause]
    try:
        body(**{name: known.get(name, thing) for name in _parameters(body)})
    except CannotTell as error:
        if isinstance(error, DECLARABLE):
            try:
                return declared()
            except CannotTell:
                pass
        return Verdict.undecided(say("{reason}", reason=str(error)))
    assert len(given) == 1, f"{item.clause} decided {len(given)} times"
    if given[0].declarable:
        with suppress(CannotTell):
            return declared()
    return given[0]


def main() -> None:
    """``python -m tests.gates.harness [GATE] [PLATFORM] [FAULT...]``: what the rack comes to, for people writing clauses."""
    import sys

    words = [word for word in sys.argv[1:] if word not in GATES]
    gate = next((word for word in sys.argv[1:] if word in GATES), "G1")
    platform, faults = (words[:1] or ["rocm"])[0], words[1:]
    result = judge(faults, platform, gate=gate)
    for outcome in Outcome:
        ids = sorted(result.clauses(outcome))
        print(f"{outcome}: {len(ids)} clauses {' '.join(ids)}")
    for clause in sorted(result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED)):
        print(clause, *result.why(clause), sep="\n   ")
    for host, lines in result.unknown.items():
        for line in dict.fromkeys(lines):
            print(f"no answer on {host}: {line[:150]}")
    print("edits that met no command:", result.unused)


if __name__ == "__main__":
    main()
