"""G4.1  The time that was agreed is covered, and known minute by minute."""

from __future__ import annotations

import pytest

from checks.soak import covered
from checks.soak import starts as begun


@pytest.mark.clause("G4.1.1")
def test_covers_the_hours_that_were_agreed(host, soak, terms, decide):
    decide(covered.qualified(soak(host.id), terms["hours"], host.rack.simulated))


@pytest.mark.clause("G4.1.2")
def test_was_not_interrupted_by_the_rack(host, soak, decide):
    decide(covered.uninterrupted(soak(host.id)))


@pytest.mark.clause("G4.1.3")
def test_was_sampled_without_holes(host, soak, terms, decide):
    decide(covered.sampled(soak(host.id), terms["streams"], terms["share"]))


@pytest.mark.clause("G4.1.4")
def test_kept_its_clock(host, soak, terms, decide):
    decide(covered.clocks(soak(host.id), terms["offset"], terms["jump"]))


@pytest.mark.clause("G4.1.5")
def test_was_watched_cheaply(host, soak, terms, decide):
    decide(covered.watched_cheaply(soak(host.id), terms["share"]))


@pytest.mark.clause("G4.1.6")
def test_all_hosts_were_soaked_at_once(rack, soak, terms, decide):
    decide(covered.together({name: soak(name) for name in soaked(rack)}, terms["hours"]))


@pytest.mark.clause("G4.1.7")
def test_was_written_down_before_it_began(rack, soak, starts, terms, decide):
    decide(begun.written_down(starts(), {name: soak(name) for name in soaked(rack)}, terms["apart"]))


def soaked(rack):
    """Hosts that a worker runs on."""
    return [name for name, host in rack.hosts.items() if host.access == "shell"]
