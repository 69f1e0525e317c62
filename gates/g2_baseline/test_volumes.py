"""G2.1  What files on the local disk and on the array's volume carry, measured so that it can be compared."""

from __future__ import annotations

import pytest

from checks.block import criteria
from checks.block.patterns import Way
from checks.block.trials import version
from checks.phrase import say
from checks.verdict import Verdict, worst
from gates.g2_baseline.loads import (
    KIB,
    MIB,
    G,
    held,
    load,
    random_reads,
    random_writes,
    reference,
    sequential,
    settling,
    share_of,
)
from kvgate.inventory.subjects import things


@pytest.mark.clause("G2.1.1")
def test_every_node_measures_with_the_same_fio(rack, ask, decide):
    nodes = [name for name, host in rack.hosts.items() if host.role == "node" and host.access == "shell"]
    decide(criteria.same_version(ask.each(nodes, version())))


@pytest.mark.clause("G2.1.2")
def test_reads_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.READ))
    decide(criteria.carries(measured, reference(mount, "read"), terms["share"], held(mount, terms)))


@pytest.mark.clause("G2.1.3")
def test_writes_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.WRITE))
    decide(criteria.carries(measured, reference(mount, "write"), terms["share"], held(mount, terms)))


def _kv_reads(mount, measure, terms, decide):
    block = int(terms["block"] * MIB)
    measured = measure(load(mount, terms, Way.RANDREAD, block, terms["depth"]))
    limits = (reference(mount, "read"), terms["share"], held(mount, terms, block), terms["least"] * G)
    decide(criteria.carries(measured, *limits))


@pytest.mark.clause("G2.1.4")
def test_reads_single_kv_chunks_repeatably(mount, measure, terms, decide):
    _kv_reads(mount, measure, terms, decide)


@pytest.mark.clause("G2.1.5")
def test_reads_eight_kv_chunks_at_a_time_repeatably(mount, measure, terms, decide):
    _kv_reads(mount, measure, terms, decide)


@pytest.mark.clause("G2.1.6")
def test_reads_thirty_two_kv_chunks_at_a_time_repeatably(mount, measure, terms, decide):
    _kv_reads(mount, measure, terms, decide)


@pytest.mark.clause("G2.1.7")
def test_answers_a_single_read_in_time(mount, measure, terms, decide):
    measured = measure(load(mount, terms, Way.RANDREAD, 4 * KIB, 1))
    decide(criteria.answers_within(measured, terms["percent"], terms["most"], held(mount, terms, 4 * KIB)))


@pytest.mark.clause("G2.1.8")
def test_comes_to_a_steady_state_of_random_writes(mount, measure, terms, decide):
    measured = measure(random_writes(mount, terms))
    decide(criteria.settled(measured, held(mount, terms, 4 * KIB), settling(terms)))


@pytest.mark.clause("G2.1.9")
def test_device_saw_what_fio_reports(mount, measure, terms, decide):
    both = [measure(sequential(mount, terms, way)) for way in (Way.READ, Way.WRITE)]
    limits = (terms["tolerance"], held(mount, terms))
    decide(worst([criteria.device_agrees(measured, *limits) for measured in both]))


@pytest.mark.clause("G2.1.10")
def test_client_is_not_what_was_measured(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.READ))
    decide(criteria.client_is_free(measured, terms["most"], held(mount, terms)))


@pytest.mark.clause("G2.1.11")
def test_reads_over_nfs_repeatably(mount, measure, terms, decide):
    measured = measure(sequential(mount, terms, Way.READ))
    decide(criteria.repeatable(measured, held(mount, terms)))


@pytest.mark.clause("G2.1.12")
def test_adds_little_to_a_single_read(mount, measure, terms, decide):
    near = next(
        (one for one in things(mount.rack) if one.host == mount.host and dict(one.traits).get("below") == "local"), None
    )
    if near is None:
        decide(Verdict.undecided(say("{host} has no local disk in the inventory to compare with", host=mount.host)))
    else:
        local, remote = (measure(load(one, terms, Way.RANDREAD, 4 * KIB, 1)) for one in (near, mount))
        both = {"near": held(near, terms, 4 * KIB), "far": held(mount, terms, 4 * KIB)}
        decide(criteria.added_latency(local, remote, terms["most"], both))


@pytest.mark.clause("G2.1.14")
def test_reads_at_random_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(random_reads(mount, terms))
    share = share_of(mount, terms)
    decide(criteria.carries(measured, reference(mount, "random_read"), share, held(mount, terms, 4 * KIB)))


@pytest.mark.clause("G2.1.15")
def test_writes_at_random_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(random_writes(mount, terms))
    limits = (share_of(mount, terms), held(mount, terms, 4 * KIB), settling(terms))
    decide(criteria.carries_settled(measured, reference(mount, "random_write"), *limits))
