"""A soak of the virtual rack, read as G4 reads it and held to each clause: the gate itself opens after a G3, and nothing is served here."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from checks.decision import Owed
from checks.soak.facts import HostSoak
from checks.verdict import Verdict
from kvgate import agreement as agreements
from kvgate.errors import CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.options import GATES
from kvgate.gate.soaked import Soaked
from kvgate.gate.soaks import Journals
from kvgate.gate.start import transport_for
from kvgate.inventory import reader
from kvgate.inventory.subjects import owed
from kvgate.soak.control import Control
from lab.vm.rack import Rack
from tests.gates.harness import bodies
from tests.gates.soaking import started
from tests.rack.computer import held_up

#: What a clause of G4 asks for beside its subject.
ASKED = ("soak", "starts", "arrival", "terms", "decide")


def collected(rack: Rack, root: Path, evidence: Path) -> Soaked:
    """Fetch what is new of the soak and take it as evidence."""
    inventory = reader.read(rack.inventory)
    transport = transport_for(inventory)
    try:
        control = Control(inventory, transport, root)
        store = control.found()
        assert store is not None, "no soak lies on the rack"
        told = control.collect(store)
    finally:
        transport.close()
    if wanting := [str(one.error) for one in told if one.error is not None]:
        held_up(wanting)
        raise AssertionError(wanting)
    journals = Journals(store)
    found = Soaked(Answers(Evidence.create(evidence, "soaked", {"gate": "G4"})))
    for host in inventory.rack.hosts:
        found.keep(host, journals(host))
    return found


def _arrival(left_out: Collection[str]) -> NoReturn:
    raise CannotTell("G1 is not asked again here")


def judged(rack: Rack, found: Soaked) -> dict[Owed, Verdict]:
    """Verdict of every clause of G4 on every subject, by this rack's agreement."""
    ordered = reader.read(rack.inventory).rack
    clauses = agreements.read(rack.inventory.parent / (ordered.acceptance or "")).acceptance
    verdicts: dict[Owed, Verdict] = {}
    for item, thing in owed(clauses, ordered, "G4"):
        terms = {name: limit.value for name, limit in clauses.clauses[item.clause].limits.items()}
        given: list[Verdict] = []

        def soak(host: str) -> HostSoak:
            return found.host(host)

        hosts = {host: found.host(host) for host in ordered.hosts}
        known: dict[str, Any] = dict(
            zip(ASKED, (soak, partial(started, hosts), _arrival, terms, given.append), strict=True)
        )
        body = bodies(GATES["G4"])[item.clause]
        try:
            body(**{name: thing if name == thing.kind else known[name] for name in inspect.signature(body).parameters})
        except CannotTell as error:
            given.append(Verdict.undecided(error.phrase))
        (verdicts[item],) = given
    return verdicts
