"""G2.2  What the fabric carries between a node's storage port and the array's, and how nodes share the array's port."""

from __future__ import annotations

import pytest

from checks.block.patterns import Way
from checks.fabric import carrying
from checks.fabric.perftest import End, Kind, Run
from checks.fabric.trials import between, latency, together
from checks.phrase import say
from checks.verdict import Verdict
from gates.g2_baseline.loads import G, disks, held, sequential, told

#: perftest's words for the memory of an accelerator.
CARD = {"rocm": "--use_rocm=0", "nvidia": "--use_cuda=0", "ascend": ""}


def _ends(rack, role, but=""):
    """Storage ports that perftest can run on, one a host, in the order of the inventory."""
    found = []
    for name, host in rack.hosts.items():
        ports = [nic for nic in host.nics if nic.role == "storage" and nic.rdma and nic.address]
        if host.role == role and host.access == "shell" and name != but:
            found += [_end(name, nic) for nic in ports[:1]]
    return found


def _end(host, nic):
    return End(host, nic.name, nic.driver, nic.rdma, nic.rdma_port, nic.address, nic.speed)


def _peer(nic):
    """Return the array's port; where the array lets nobody run perftest, another node's."""
    return next(iter((*_ends(nic.rack, "array"), *_ends(nic.rack, "node", nic.host))), None)


def _run(rack, kind, seconds, gpu=""):
    fabric = rack.fabric
    agreed = 0 if fabric is None else fabric.dscp * 4 + 2 if fabric.traffic_class is None else fabric.traffic_class
    return Run(kind, seconds, agreed, gpu)


def _pair(nic, terms, kind, gpu=""):
    here, there = _end(nic.host, nic.ordered), _peer(nic)
    return None if there is None else between(here, there, _run(nic.rack, kind, terms["seconds"], gpu), terms["rounds"])


def _speed(nic):
    there = _peer(nic)
    return min(nic.speed, there.speed) if there else nic.speed


def _alone(nic):
    return Verdict.not_offered(say("{host}: no other host of the inventory can run perftest", host=nic.host))


def _rate(nic, measure, terms, decide, kind, directions=1):
    if (trial := _pair(nic, terms, kind)) is None:
        decide(_alone(nic))
    else:
        limits = (terms["share"], terms["agreement"], terms["drift"], directions)
        decide(carrying.carries(measure(trial), _speed(nic), *limits))


@pytest.mark.clause("G2.2.1")
def test_writes_over_the_fabric_at_the_ports_rate(nic, measure, terms, decide):
    _rate(nic, measure, terms, decide, Kind.WRITE)


@pytest.mark.clause("G2.2.2")
def test_reads_over_the_fabric_at_the_ports_rate(nic, measure, terms, decide):
    _rate(nic, measure, terms, decide, Kind.READ)


@pytest.mark.clause("G2.2.3")
def test_sends_and_receives_at_once(nic, measure, terms, decide):
    _rate(nic, measure, terms, decide, Kind.BOTH, directions=2)


@pytest.mark.clause("G2.2.4")
def test_answers_a_single_read_over_the_fabric_in_time(nic, measure, terms, decide):
    here, there = _end(nic.host, nic.ordered), _peer(nic)
    if there is None:
        decide(_alone(nic))
    else:
        trial = latency(here, there, _run(nic.rack, Kind.LATENCY, 0), terms["rounds"])
        limits = (terms["typical"], terms["late"], terms["variation"], terms["drift"])
        decide(carrying.answers_within(measure(trial), *limits))


@pytest.mark.clause("G2.2.5")
def test_reads_into_the_memory_of_accelerators_as_fast(nic, measure, terms, decide):
    word = CARD[nic.machine.accelerators.platform]
    if not word:
        decide(Verdict.not_offered(say("perftest knows no memory of these accelerators")))
    elif _peer(nic) is None:
        decide(_alone(nic))
    else:
        host, card = (measure(_pair(nic, terms, Kind.READ, gpu)) for gpu in ("", word))
        limits = (terms["share"], terms["agreement"], terms["drift"])
        decide(carrying.as_fast_from_accelerators(host, card, _speed(nic), *limits))


@pytest.mark.clause("G2.2.6")
def test_loses_nothing_under_load(nic, measure, terms, decide):
    if _peer(nic) is None:
        decide(_alone(nic))
    else:
        rounds = [measure(_pair(nic, terms, kind)) for kind in (Kind.WRITE, Kind.READ, Kind.BOTH)]
        decide(carrying.nothing_lost(rounds, terms["allowed"]))


@pytest.mark.clause("G2.2.7")
def test_holds_two_senders_back_without_losing_packets(nic, measure, terms, decide):
    senders = _ends(nic.rack, "node")[:2]
    if nic.machine.access != "shell" or len(senders) < 2:
        decide(Verdict.not_offered(say("an incast needs the array and two nodes that can run perftest")))
    else:
        run = _run(nic.rack, Kind.WRITE, terms["seconds"])
        measured = measure(together(senders, _end(nic.host, nic.ordered), run, terms["rounds"]))
        decide(carrying.congestion_controlled(measured, nic.speed, terms["least"] * G, terms["allowed"]))


@pytest.mark.clause("G2.2.8")
def test_shares_the_arrays_port_fairly(nic, measure, terms, decide):
    readers = _ends(nic.rack, "node")
    if nic.machine.access != "shell" or len(readers) < 2:
        decide(Verdict.not_offered(say("sharing needs the array and two nodes that can run perftest")))
    else:
        run = _run(nic.rack, Kind.READ, terms["seconds"])
        measured = measure(together(readers, _end(nic.host, nic.ordered), run, terms["rounds"]))
        limits = (terms["total"], terms["fair"], terms["agreement"], terms["drift"])
        decide(carrying.shared_fairly(measured, nic.speed, *limits))


@pytest.mark.clause("G2.2.9")
def test_names_what_limits_the_volume(mount, measure, terms, decide):
    here, there = _ends(mount.rack, "node"), _ends(mount.rack, "array")
    here = [one for one in here if one.host == mount.host]
    if not here or not there:
        decide(_alone(mount))
    else:
        run = _run(mount.rack, Kind.READ, terms["seconds_network"])
        network = measure(between(here[0], there[0], run, terms["rounds"]))
        volume = measure(sequential(mount, terms, Way.READ))
        narrower = min(here[0].speed, there[0].speed)
        limits = (terms["share"], terms["agreement"], held(mount, terms))
        verdict = carrying.bottleneck(network, volume, disks(mount), narrower, *limits)
        decide(told(mount, terms, verdict))
