"""An audit finds gates that a kvgate which does not look began on nothing, or on a PASS that was taken back; honest order is none."""

from __future__ import annotations

import pytest

from kvgate.audit import order
from kvgate.ledger.rows import RunHandle
from tests.campaign.sample import BAD, DISK, UNTOLD, Site

GATES = ("G1", "G2", "G3", "G4")


def begun(site: Site, gate: str) -> RunHandle:
    """A run that nobody allowed."""
    like = site.last()
    return site.ledger.begin(
        campaign=like.campaign, gate=gate, inventory=site.text, fingerprint=like.fingerprint, acceptance="{}",
        acceptance_digest=like.acceptance_digest, owed=site.ledger.owed(like), evidence_root=site.folder, code="0", operator="o",
        simulated=True, after=site.ledger.head()[0],
    )  # fmt: skip


def found(site: Site) -> list[tuple[str, str]]:
    return [(one.kind, one.where) for one in order.look(site.ledger)]


def test_honest_order_with_stops_waivers_and_reopenings_is_no_finding(site: Site) -> None:
    site.run("G1", {DISK: UNTOLD})
    for gate in GATES:
        site.passed(gate)
    site.run("G1", {DISK: BAD})  # takes back what began before it, which was in order then
    site.reopen("vendor", "customer")
    site.passed("G1")
    late = site.run("G2", {DISK: BAD})
    site.reopen("vendor", "customer")
    site.passed("G2")
    site.run("G3")
    assert late.gate == "G2"
    assert found(site) == []


def test_a_gate_on_a_waived_stop_is_in_order_and_before_the_waiver_it_was_not(site: Site) -> None:
    site.passed("G1")
    stopped = site.run("G1", {DISK: BAD})
    early = begun(site, "G2")
    site.ledger.interrupt(early, "closed")
    site.waive(stopped, f"G1.{DISK}")
    begun(site, "G2")
    assert found(site) == [("out-of-order", early.id)]


@pytest.mark.parametrize("gate", GATES[1:])
def test_a_gate_that_began_on_nothing_is_named(site: Site, gate: str) -> None:
    for before in GATES[: GATES.index(gate) - 1]:
        site.passed(before)
    if gate == "G2":
        site.run("G1", {DISK: UNTOLD})
    run = begun(site, gate)
    before = GATES[GATES.index(gate) - 1]
    (one,) = order.look(site.ledger)
    assert (one.kind, one.where) == ("out-of-order", run.id)
    assert f"although no run of {before} had come to PASS" in one.text


@pytest.mark.parametrize("early", [False, True])
def test_a_gate_that_began_on_a_pass_taken_back_is_named_with_the_stop(site: Site, early: bool) -> None:
    site.passed("G1")
    passed = site.passed("G2")
    stop = site.interrupted("G1", {DISK: BAD}) if early else site.run("G1", {DISK: BAD})
    run = begun(site, "G3")
    (one,) = order.look(site.ledger)
    assert (one.kind, one.where) == ("out-of-order", run.id)
    assert f"the PASS of G2 in run {passed.id}, which the STOP of G1 in run {stop.id} had taken back" in one.text
