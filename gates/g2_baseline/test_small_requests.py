"""G2.1  Small requests: how soon one is answered, what the fabric adds to it, and how many the disks and the port carry."""

from __future__ import annotations

import pytest

from checks.block import criteria
from checks.block.patterns import Way
from checks.phrase import say
from checks.verdict import Verdict
from gates.g2_baseline.loads import (
    KIB,
    held,
    load,
    random_reads,
    random_writes,
    reference,
    settling,
    share_of,
    told,
    told_at_random,
)
from kvgate.inventory.subjects import things


@pytest.mark.clause("G2.1.7")
def test_answers_a_single_read_in_time(mount, measure, terms, decide):
    measured = measure(load(mount, terms, Way.RANDREAD, 4 * KIB, 1))
    verdict = criteria.answers_within(measured, terms["percent"], terms["most"], held(mount, terms, 4 * KIB))
    decide(told(mount, terms, verdict))


@pytest.mark.clause("G2.1.8")
def test_comes_to_a_steady_state_of_random_writes(mount, measure, terms, decide):
    measured = measure(random_writes(mount, terms))
    decide(told(mount, terms, criteria.settled(measured, held(mount, terms, 4 * KIB), settling(terms))))


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
        decide(told(mount, terms, criteria.added_latency(local, remote, terms["most"], both)))


@pytest.mark.clause("G2.1.14")
def test_reads_at_random_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(random_reads(mount, terms))
    share = share_of(mount, terms)
    verdict = criteria.carries(measured, reference(mount, "random_read"), share, held(mount, terms, 4 * KIB))
    decide(told_at_random(mount, terms, verdict))


@pytest.mark.clause("G2.1.15")
def test_writes_at_random_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(random_writes(mount, terms))
    limits = (share_of(mount, terms), held(mount, terms, 4 * KIB), settling(terms))
    decide(told(mount, terms, criteria.carries_settled(measured, reference(mount, "random_write"), *limits)))
