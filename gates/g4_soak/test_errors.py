"""G4.2  Nothing failed meanwhile, not even what is well again at the end."""

from __future__ import annotations

import pytest

from checks.soak import errors
from gates.g4_soak.test_covered import soaked


@pytest.mark.clause("G4.2.1")
def test_disks_counted_no_errors(host, soak, decide):
    decide(errors.unmoved(soak(host.id), "disk", ("smart",)))


@pytest.mark.clause("G4.2.2")
def test_memory_and_buses_counted_no_uncorrected_errors(host, soak, decide):
    decide(errors.unmoved(soak(host.id), "machine", ("aer",)))


@pytest.mark.clause("G4.2.3")
def test_ports_counted_no_errors(host, soak, terms, decide):
    decide(errors.unmoved(soak(host.id), "port", ("net", "ethtool"), terms["allowed"]))


@pytest.mark.clause("G4.2.4")
def test_roce_lost_and_repeated_nothing(host, soak, terms, decide):
    decide(errors.unmoved(soak(host.id), "roce", ("rdma",), terms["allowed"]))


@pytest.mark.clause("G4.2.5")
def test_fabric_did_not_stand_still(host, soak, terms, decide):
    decide(errors.uncongested(soak(host.id), terms["share"]))


@pytest.mark.clause("G4.2.6")
def test_no_path_was_lost(host, soak, decide):
    decide(errors.paths_stayed(soak(host.id)))


@pytest.mark.clause("G4.2.7")
def test_links_stayed_up(host, soak, decide):
    decide(errors.links_stayed(soak(host.id)))


@pytest.mark.clause("G4.2.8")
def test_kernel_was_silent(host, soak, decide):
    decide(errors.log_silent(soak(host.id)))


@pytest.mark.clause("G4.2.9")
def test_engine_stayed(rack, soak, decide):
    decide(errors.engines_stayed({name: soak(name) for name in soaked(rack)}))


@pytest.mark.clause("G4.2.10")
def test_accelerators_counted_no_errors(host, soak, decide):
    decide(errors.accelerators_well(soak(host.id)))


@pytest.mark.clause("G4.2.11")
def test_requests_were_answered(rack, soak, terms, decide):
    decide(errors.requests_answered({name: soak(name) for name in soaked(rack)}, terms["load"], terms["share"]))
