"""G4.4  What was stored is what is read, and the rack stands as it stood."""

from __future__ import annotations

import pytest

from checks.soak import arrival as arrivals
from checks.soak import integrity
from gates.g4_soak.test_covered import soaked


@pytest.mark.clause("G4.4.1")
def test_every_block_reads_as_written(rack, soak, terms, decide):
    soaks = {name: soak(name) for name in soaked(rack)}
    decide(integrity.verified(soaks, terms["load"], terms["least"]))


@pytest.mark.clause("G4.4.2")
def test_every_kv_file_keeps_its_digest(rack, soak, terms, decide):
    soaks = {name: soak(name) for name in soaked(rack)}
    decide(integrity.files_kept(soaks, terms["load"], terms["least"]))


@pytest.mark.clause("G4.4.3")
def test_canaries_answer_alike(rack, soak, terms, decide):
    soaks = {name: soak(name) for name in soaked(rack)}
    decide(integrity.answers_kept(soaks, terms["load"], terms["least"]))


@pytest.mark.clause("G4.4.4")
def test_ends_as_it_began(host, soak, terms, decide):
    decide(integrity.ends_as_it_began(soak(host.id), terms["streams"]))


@pytest.mark.clause("G4.4.5")
def test_is_as_it_arrived(rack, arrival, soak, terms, decide):
    found = arrival(terms["left_out"])
    decide(arrivals.as_it_arrived(found, {name: soak(name) for name in soaked(rack)}))
