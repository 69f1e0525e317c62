"""G1 within a run of G4: it asks what G1 asks, judges by its gate tests and its agreement, and knows what was accepted then."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate import arrival, body
from kvgate.gate.answers import Answers
from kvgate.gate.arrival import Arrival
from kvgate.gate.ask import Asked, Rehearsal
from tests.campaign.sample import BAD, Site
from tests.certificates.conftest import Keys
from tests.gates.harness import agreement, bodies
from tests.gates.soaking import rack


def test_the_gate_tests_are_those_of_g1() -> None:
    assert {clause: one.__name__ for clause, one in body.bodies("G1").items()} == {
        clause: one.__name__ for clause, one in bodies("g1_arrival").items()
    }


def test_it_asks_what_g1_asks_of_every_host_and_nothing_of_what_is_left_out() -> None:
    whole, fewer = Rehearsal(), Rehearsal()
    Arrival(rack(), agreement()).rehearse(whole, ())
    Arrival(rack(), agreement()).rehearse(fewer, [name for name in body.bodies("G1") if name.startswith("G1.2.")])
    assert whole.hosts >= {"fx100-a", "node-01"}
    assert any("smart" in need.probe.id for need in whole.needs)
    assert not any("smart" in need.probe.id for need in fewer.needs)
    assert not whole.trials, "reading only: it makes no load"
    assert whole.clocks, "two hosts' clocks stand beside one another"


def test_without_answers_nothing_holds(tmp_path: Path) -> None:
    asked = Asked(Answers(Evidence.create(tmp_path, "run", {"gate": "G4"})))
    found = Arrival(rack(), agreement()).judge(asked, ())
    assert len(found.now) > 100
    assert {one.outcome for one in found.now.values()} == {Outcome.UNDECIDED}


def test_what_was_no_pass_when_g1_passed_is_kept_with_the_run_once(tmp_path: Path) -> None:
    site = Site(tmp_path, Keys(Ed25519PrivateKey.generate()), Keys(Ed25519PrivateKey.generate()))
    clause = next(item for item, _ in site.prepared("G1").owed).clause.removeprefix("G1.")
    run = site.run("G1", {clause: BAD})
    evidence = Evidence.create(tmp_path / "other", "run", {"gate": "G4"})
    assert arrival.accepted(evidence) == {}
    arrival.keep(evidence, site.ledger, run)
    arrival.keep(evidence, site.ledger, run)
    kept = arrival.accepted(evidence)
    assert set(kept.values()) == {"STOP"}
    assert {name for name, _ in kept} == {f"G1.{clause}"}
    assert len(evidence.notes(arrival.ACCEPTED)) == 1


@pytest.mark.parametrize("gate", ["G1", "G2", "G3", "G4"])
def test_only_g4_takes_it_over(tmp_path: Path, gate: str) -> None:
    site = Site(tmp_path, Keys(Ed25519PrivateKey.generate()), Keys(Ed25519PrivateKey.generate()))
    for before in ("G1", "G2", "G3")[: int(gate[1]) - 1]:
        site.passed(before)
    session = site.begin(gate)
    assert session.evidence is not None
    assert bool(session.evidence.notes(arrival.ACCEPTED)) is (gate == "G4")
    session.evidence.close()


def test_what_shows_damage_is_asked_again_and_what_a_soak_itself_changes_is_not() -> None:
    left_out = set(agreement().acceptance.clauses["G4.4.5"].limits["left_out"].value)
    clauses = {name: one for name, one in agreement().acceptance.clauses.items() if name.startswith("G1.")}
    assert left_out <= clauses.keys()
    logged = {"gpu.xid_ras_log", "host.mce", "pcie.aer.log", "nfs.server_responding"}  # G4.2.8 reads each record
    new_or_idle = {
        "nvme.smart.wear", "nvme.smart.temperature_idle", "nvme.namespace.no_leftover", "gpu.temperature", "gpu.throttle",
        "gpu.memory.free",
    }  # fmt: skip
    other = {clauses[name].check for name in left_out} - logged - new_or_idle
    assert {name for name in other if "log" not in name.split(".") and not name.endswith("_in_log")} == set()
