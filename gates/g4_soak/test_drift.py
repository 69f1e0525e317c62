"""G4.3  The soak ended as it began."""

from __future__ import annotations

import pytest

from checks.soak import drift, leaks
from gates.g4_soak.test_covered import soaked


@pytest.mark.clause("G4.3.1")
def test_answers_as_fast_as_at_the_begin(rack, soak, terms, decide):
    soaks = {name: soak(name) for name in soaked(rack)}
    decide(drift.latency_kept(soaks, terms["load"], terms["first"], terms["last"], terms["p50"], terms["p99"]))


@pytest.mark.clause("G4.3.2")
def test_latency_neither_drifts_nor_jumps(rack, soak, terms, decide):
    soaks = {name: soak(name) for name in soaked(rack)}
    decide(drift.latency_steady(soaks, terms["load"], terms["most"], terms["p99"], terms["hour"], terms["least"]))


@pytest.mark.clause("G4.3.3")
def test_gives_as_much_in_every_hour(rack, soak, terms, decide):
    soaks = {name: soak(name) for name in soaked(rack)}
    decide(drift.throughput_kept(soaks, terms["load"], terms["share"], terms["most"], terms["least"]))


@pytest.mark.clause("G4.3.4")
def test_stays_cool(host, soak, decide):
    decide(drift.cool(soak(host.id)))


@pytest.mark.clause("G4.3.5")
def test_loses_no_memory(host, soak, terms, decide):
    decide(leaks.memory_kept(soak(host.id), terms["most"], terms["least"]))


@pytest.mark.clause("G4.3.6")
def test_loses_no_descriptors(host, soak, terms, decide):
    decide(leaks.descriptors_kept(soak(host.id), terms["most"], terms["least"]))


@pytest.mark.clause("G4.3.7")
def test_never_runs_out_of_room(host, soak, terms, decide):
    decide(drift.room_left(soak(host.id), terms["share"]))
