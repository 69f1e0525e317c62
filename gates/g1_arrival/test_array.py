"""G1.5  The array is built as ordered and whole; what is mounted is what was ordered, alive and large enough."""

from __future__ import annotations

import pytest

from checks.nvme import probes as nvme
from checks.raid import criteria, mounted, probes
from checks.raid.facts import Source


def _name(device):
    return device.rsplit("/", 1)[-1]


def _source(mount):
    """What was ordered below a mount that names no device: arm ``local`` means this host's own disks."""
    baseline = tuple(disk.serial for disk in mount.machine.disks if disk.role == "baseline")
    nqns = tuple(link.nqn for link in mount.machine.nvmeof)
    arrays = tuple(raid.device for raid in mount.machine.raid)
    if mount.arm == "local":
        return Source(serials=baseline)
    return Source(nqns=nqns) if nqns else Source(arrays=arrays)


def _array_addresses(rack):
    """Every address that was ordered for a storage port of an array."""
    ports = [port for host in rack.hosts.values() if host.role == "array" for port in host.nics]
    return [port.address.partition("/")[0] for port in ports if port.role == "storage" and port.address]


@pytest.mark.clause("G1.5.1")
def test_array_runs(raid, ask, decide):
    arrays, device = ask.all(raid.host, probes.arrays(), probes.resolved(raid.device))
    decide(criteria.running(arrays, _name(device)))


@pytest.mark.clause("G1.5.2")
def test_array_has_the_ordered_level(raid, ask, decide):
    arrays, device = ask.all(raid.host, probes.arrays(), probes.resolved(raid.device))
    decide(criteria.level(arrays, _name(device), ordered=raid.level))


@pytest.mark.clause("G1.5.3")
def test_array_has_all_its_members(raid, ask, decide):
    arrays, device = ask.all(raid.host, probes.arrays(), probes.resolved(raid.device))
    decide(criteria.whole(arrays, _name(device), ordered=raid.members))


@pytest.mark.clause("G1.5.4")
def test_array_has_the_ordered_chunk(raid, ask, decide):
    arrays, device = ask.all(raid.host, probes.arrays(), probes.resolved(raid.device))
    decide(criteria.chunk(arrays, _name(device), ordered=raid.chunk))


@pytest.mark.clause("G1.5.5")
def test_array_is_made_of_the_ordered_disks(raid, ask, decide):
    arrays, device, tree = ask.all(raid.host, probes.arrays(), probes.resolved(raid.device), nvme.controllers())
    serials = [disk.serial for disk in raid.machine.disks if disk.role == "member"]
    decide(criteria.ordered_disks(arrays, _name(device), tree, serials))


@pytest.mark.clause("G1.5.6")
def test_all_sources_say_that_the_array_is_well(raid, ask, decide):
    arrays, device, stat, detail = ask.all(
        raid.host,
        probes.arrays(),
        probes.resolved(raid.device),
        probes.mdstat_arrays(),
        probes.detail(raid.device),
    )
    decide(criteria.sources_agree(arrays, _name(device), stat, detail))


@pytest.mark.clause("G1.5.7")
def test_the_report_names_the_risk(raid, ask, decide):
    arrays, device = ask.all(raid.host, probes.arrays(), probes.resolved(raid.device))
    decide(criteria.risk_named(arrays, _name(device)))


@pytest.mark.clause("G1.5.8")
def test_is_mounted_from_what_was_ordered(mount, ask, decide):
    named = [probes.resolved(mount.device)] if mount.device else []
    mounts, tree, *device = ask.all(mount.host, probes.mounts(), nvme.controllers(), *named)
    if mount.filesystem in ("nfs", "nfs4"):
        decide(mounted.served(mounts, mount.path, _array_addresses(mount.rack)))
        return
    source = Source(device=(mount.device, *device)) if mount.device else _source(mount)
    decide(mounted.mounted(mounts, tree, mount.path, source))


@pytest.mark.clause("G1.5.9")
def test_is_the_ordered_filesystem(mount, ask, decide):
    decide(mounted.filesystem(ask(mount.host, probes.mounts()), mount.path, ordered=mount.filesystem))


@pytest.mark.clause("G1.5.10")
def test_is_mounted_with_the_agreed_options(mount, ask, decide):
    mounts = ask(mount.host, probes.mounts())
    decide(mounted.options(mounts, mount.path, wanted=mount.options, forbidden=mount.forbidden))


@pytest.mark.clause("G1.5.11")
def test_checks_its_metadata(mount, ask, decide):
    decide(mounted.checksummed(ask(mount.host, probes.geometry(mount.path))))


@pytest.mark.clause("G1.5.12")
def test_knows_the_stripes_below(mount, ask, decide):
    geometry = ask(mount.host, probes.geometry(mount.path))
    decide(mounted.striped(geometry, stripe=mount.stripe, chunk=mount.chunk))


@pytest.mark.clause("G1.5.13")
def test_answers(mount, ask, decide):
    statistics, spaces = ask.all(mount.host, probes.statistics(mount.path), probes.space(mount.path))
    decide(mounted.alive(statistics, spaces, mount.path))


@pytest.mark.clause("G1.5.14")
def test_is_large_enough(mount, ask, terms, decide):
    spaces = ask(mount.host, probes.space(mount.path))
    decide(mounted.large_enough(spaces, mount.path, ordered=mount.capacity, share=terms["share"]))


@pytest.mark.clause("G1.5.15")
def test_has_free_space(mount, ask, terms, decide):
    decide(mounted.space_free(ask(mount.host, probes.space(mount.path)), mount.path, least=terms["free"]))


@pytest.mark.clause("G1.5.16")
def test_has_free_inodes(mount, ask, terms, decide):
    decide(mounted.inodes_free(ask(mount.host, probes.space(mount.path)), mount.path, least=terms["free"]))
