"""G2.1  What files on the local disk and on the array's volume carry, measured so that it can be compared."""

from __future__ import annotations

from functools import partial

import pytest

from checks.block import criteria
from checks.block.memory import beyond, from_its_disks
from checks.block.patterns import Pattern, Way
from checks.block.trials import on_file, version
from checks.phrase import say
from checks.verdict import Verdict
from kvgate.inventory.subjects import below, memory, promised, things

GIB, MIB, KIB, GB = 2**30, 2**20, 2**10, 10**9


def _size(mount, terms):
    return beyond(int(terms["size"] * GIB), memory(mount.rack, mount), terms.get("beyond", 0))


def _told(mount, terms, verdict):
    """With what the array's memory leaves open of it."""
    return from_its_disks(verdict, memory(mount.rack, mount), _size(mount, terms))


def _load(mount, terms, way, block, depth, jobs=1, **more):
    """A trial on one mount, a thing of the inventory or one of its host's other mounts."""
    serials = [disk.serial for disk in mount.machine.disks if disk.role == "baseline"]
    serial = serials[0] if below(mount) == "local" and len(serials) == 1 else None
    pattern = Pattern(way, block, depth, terms["seconds"], jobs)
    size = _size(mount, terms)
    return on_file(
        mount.host,
        mount.path,
        mount.filesystem,
        pattern,
        size,
        serial,
        terms.get("rounds", 1),
        **more,
    )


def _sequential(mount, terms, way):
    return _load(mount, terms, way, MIB, 32)


def _reference(mount, direction):
    """Bytes a second: what the data sheets promise, and for the array what the port can carry if that is less."""
    sheet = getattr(promised(mount.rack, mount.machine, mount.ordered), direction)
    if below(mount) == "local":
        return sheet
    mtu = mount.rack.fabric.roce_mtu if mount.rack.fabric else 1024
    ports = [nic.speed for nic in mount.machine.nics if nic.role == "storage"]
    return min(sheet, sum(criteria.payload_rate(speed, mtu) for speed in ports))


@pytest.mark.clause("G2.1.1")
def test_every_node_measures_with_the_same_fio(rack, ask, decide):
    nodes = [name for name, host in rack.hosts.items() if host.role == "node" and host.access == "shell"]
    decide(criteria.same_version(ask.each(nodes, version())))


@pytest.mark.clause("G2.1.2")
def test_reads_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(_sequential(mount, terms, Way.READ))
    decide(
        _told(mount, terms, criteria.carries(measured, _reference(mount, "read"), terms["share"], terms["variation"]))
    )


@pytest.mark.clause("G2.1.3")
def test_writes_as_fast_as_ordered(mount, measure, terms, decide):
    measured = measure(_sequential(mount, terms, Way.WRITE))
    decide(
        _told(mount, terms, criteria.carries(measured, _reference(mount, "write"), terms["share"], terms["variation"]))
    )


def _kv_reads(mount, measure, terms, decide):
    measured = measure(_load(mount, terms, Way.RANDREAD, int(terms["block"] * MIB), terms["depth"]))
    decide(_told(mount, terms, criteria.carries(measured, terms["least"] * GB, 1.0, terms["variation"])))


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
    measured = measure(_load(mount, terms, Way.RANDREAD, 4 * KIB, 1))
    decide(_told(mount, terms, criteria.answers_within(measured, terms["percent"], terms["most"], terms["variation"])))


@pytest.mark.clause("G2.1.8")
def test_comes_to_a_steady_state_of_random_writes(mount, measure, terms, decide):
    rule = {"range_percent": terms["range"], "rise_percent": terms["rise"], "window": terms["window"]}
    trial = _load(
        mount, {**terms, "rounds": terms["window"]}, Way.RANDWRITE, 4 * KIB, 32,
        at_most=terms["most_rounds"], enough=partial(criteria.steady, **rule),
    )  # fmt: skip
    decide(_told(mount, terms, criteria.settled(measure(trial), **rule)))


@pytest.mark.clause("G2.1.9")
def test_device_saw_what_fio_reports(mount, measure, terms, decide):
    measured = measure(_sequential(mount, terms, Way.READ))
    decide(_told(mount, terms, criteria.device_agrees(measured, terms["tolerance"])))


@pytest.mark.clause("G2.1.10")
def test_client_is_not_what_was_measured(mount, measure, terms, decide):
    measured = measure(_sequential(mount, terms, Way.READ))
    decide(criteria.client_is_free(measured, terms["most"]))


@pytest.mark.clause("G2.1.11")
def test_reads_over_nfs_repeatably(mount, measure, terms, decide):
    measured = measure(_sequential(mount, terms, Way.READ))
    decide(criteria.repeatable(measured, terms["variation"]))


@pytest.mark.clause("G2.1.12")
def test_adds_little_to_a_single_read(mount, measure, terms, decide):
    near = next(
        (one for one in things(mount.rack) if one.host == mount.host and dict(one.traits).get("below") == "local"), None
    )
    if near is None:
        decide(Verdict.undecided(say("{host} has no local disk in the inventory to compare with", host=mount.host)))
    else:
        local, remote = (measure(_load(one, terms, Way.RANDREAD, 4 * KIB, 1)) for one in (near, mount))
        verdict = criteria.added_latency(local, remote, terms["most"], terms["variation"])
        decide(_told(mount, terms, verdict))
