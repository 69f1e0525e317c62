"""G2.1  What files on the local disk and on the array's volume carry, measured so that it can be compared."""

from __future__ import annotations

import pytest

from checks.block import criteria
from checks.block.patterns import Way
from checks.block.trials import version
from checks.serving import chunk
from checks.verdict import worst
from gates.g2_baseline.loads import (
    G,
    held,
    kv_block,
    load,
    reference,
    sequential,
    told,
    told_at_random,
)


@pytest.mark.clause("G2.1.1")
def test_every_node_measures_with_the_same_fio(rack, ask, decide):
    nodes = [name for name, host in rack.hosts.items() if host.role == "node" and host.access == "shell"]
    decide(criteria.same_version(ask.each(nodes, version())))


@pytest.mark.clause("G2.1.2")
def test_reads_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.READ))
    decide(told(mount, terms, criteria.carries(measured, reference(mount, "read"), terms["share"], held(mount, terms))))


@pytest.mark.clause("G2.1.3")
def test_writes_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.WRITE))
    verdict = criteria.carries(measured, reference(mount, "write"), terms["share"], held(mount, terms))
    decide(told(mount, terms, verdict))


def _kv_reads(mount, ask, measure, terms, decide):
    block = kv_block(mount, ask, terms)
    measured = measure(load(mount, terms, Way.RANDREAD, block.size, terms["depth"]))
    limits = (reference(mount, "read"), terms["share"], held(mount, terms, block.size), terms["least"] * G)
    verdict = told_at_random(mount, terms, criteria.carries(measured, *limits))
    decide(verdict if measured.broken else chunk.told(verdict, block))  # an error is one in blocks of any size


@pytest.mark.clause("G2.1.4")
def test_reads_single_kv_chunks_repeatably(mount, ask, measure, terms, decide):
    _kv_reads(mount, ask, measure, terms, decide)


@pytest.mark.clause("G2.1.5")
def test_reads_eight_kv_chunks_at_a_time_repeatably(mount, ask, measure, terms, decide):
    _kv_reads(mount, ask, measure, terms, decide)


@pytest.mark.clause("G2.1.6")
def test_reads_thirty_two_kv_chunks_at_a_time_repeatably(mount, ask, measure, terms, decide):
    _kv_reads(mount, ask, measure, terms, decide)


@pytest.mark.clause("G2.1.9")
def test_device_saw_what_fio_reports(mount, measure, terms, decide):
    both = [measure(sequential(mount, terms, way)) for way in (Way.READ, Way.WRITE)]
    limits = (terms["tolerance"], held(mount, terms))
    decide(told(mount, terms, worst([criteria.device_agrees(measured, *limits) for measured in both])))


@pytest.mark.clause("G2.1.10")
def test_client_is_not_what_was_measured(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.READ))
    decide(told(mount, terms, criteria.client_is_free(measured, terms["most"], held(mount, terms))))


@pytest.mark.clause("G2.1.11")
def test_reads_over_nfs_repeatably(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.READ))
    decide(criteria.repeatable(measured, held(mount, terms)))
