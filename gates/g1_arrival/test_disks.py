"""G1.2  The disks that arrived are the disks that were ordered, they are new, healthy and well connected."""

from __future__ import annotations

import pytest

from checks.nvme import criteria, facts, probes
from checks.pcie import criteria as pcie
from checks.pcie import probes as pcie_probes
from checks.probe import Interval
from checks.raid.probes import mounts as mount_table


@pytest.mark.clause("G1.2.1")
def test_is_there_and_live(disk, ask, decide):
    decide(criteria.present(ask(disk.host, probes.controllers()), disk.serial))


@pytest.mark.clause("G1.2.2")
def test_has_the_ordered_disks_and_no_other(host, ask, decide):
    ordered = [disk.serial for disk in host.disks]
    decide(criteria.nothing_unordered(ask(host.host, probes.controllers()), ordered))


@pytest.mark.clause("G1.2.3")
def test_is_of_the_ordered_model(disk, ask, decide):
    decide(criteria.model(ask(disk.host, probes.controllers()), disk.serial, ordered=disk.model))


@pytest.mark.clause("G1.2.4")
def test_runs_the_agreed_firmware(disk, ask, decide):
    decide(criteria.firmware(ask(disk.host, probes.controllers()), disk.serial, ordered=disk.firmware))


@pytest.mark.clause("G1.2.5")
def test_has_the_ordered_capacity(disk, ask, terms, decide):
    tree = ask(disk.host, probes.controllers())
    decide(criteria.capacity(tree, disk.serial, ordered=disk.capacity, tolerance=terms["tolerance"]))


@pytest.mark.clause("G1.2.6")
def test_leaves_no_capacity_unallocated(disk, ask, terms, decide):
    decide(criteria.wholly_allocated(ask(disk.host, probes.identity(disk.serial)), allowed=terms["unallocated"]))


@pytest.mark.clause("G1.2.7")
def test_is_formatted_as_ordered(disk, ask, decide):
    tree, form = ask.all(disk.host, probes.controllers(), probes.block_format(disk.serial))
    decide(criteria.block_size(tree, disk.serial, form, ordered=disk.lba))


@pytest.mark.clause("G1.2.8")
def test_gives_no_critical_warning(disk, ask, decide):
    health = ask(disk.host, probes.smart_log(disk.serial), otherwise=probes.smartctl(disk.serial))
    decide(criteria.no_warning(health))


@pytest.mark.clause("G1.2.9")
def test_has_lost_no_data(disk, ask, terms, decide):
    health = ask(disk.host, probes.smart_log(disk.serial), otherwise=probes.smartctl(disk.serial))
    decide(criteria.no_media_errors(health, allowed=terms["media_errors"]))


@pytest.mark.clause("G1.2.10")
def test_has_its_spare_blocks(disk, ask, terms, decide):
    health = ask(disk.host, probes.smart_log(disk.serial), otherwise=probes.smartctl(disk.serial))
    decide(criteria.spare_whole(health, least=terms["spare"]))


@pytest.mark.clause("G1.2.11")
def test_has_more_spare_than_its_own_threshold(disk, ask, decide):
    health = ask(disk.host, probes.smart_log(disk.serial), otherwise=probes.smartctl(disk.serial))
    decide(criteria.spare_above_threshold(health))


@pytest.mark.clause("G1.2.12")
def test_is_new(disk, ask, terms, decide):
    health = ask(disk.host, probes.smart_log(disk.serial), otherwise=probes.smartctl(disk.serial))
    limits = {name: terms[name] for name in ("used", "hours", "writes")}
    decide(criteria.new(health, disk.capacity, **limits))


@pytest.mark.clause("G1.2.13")
def test_is_cool_at_idle(disk, ask, terms, decide):
    health, identity = ask.all(disk.host, probes.smart_log(disk.serial), probes.identity(disk.serial))
    decide(criteria.cool(health, identity, margin=terms["margin"], assumed=terms["assumed_warning"]))


@pytest.mark.clause("G1.2.14")
def test_was_rarely_cut_from_power(disk, ask, terms, decide):
    health = ask(disk.host, probes.smart_log(disk.serial), otherwise=probes.smartctl(disk.serial))
    decide(criteria.few_unsafe_shutdowns(health, most=terms["unsafe_shutdowns"]))


@pytest.mark.clause("G1.2.15")
def test_passed_its_own_test(disk, ask, decide):
    decide(criteria.self_test_passed(ask(disk.host, probes.self_tests(disk.serial))))


@pytest.mark.clause("G1.2.16")
def test_sits_in_the_ordered_slot(disk, ask, decide):
    decide(criteria.slot(ask(disk.host, probes.controllers()), disk.serial, ordered=disk.bdf))


@pytest.mark.clause("G1.2.17")
def test_trained_to_the_ordered_speed(disk, ask, decide):
    link = facts.endpoint(ask(disk.host, probes.controllers()), disk.serial)
    decide(pcie.trained_speed(link, generation=disk.pcie.gen))


@pytest.mark.clause("G1.2.18")
def test_trained_to_the_ordered_lanes(disk, ask, decide):
    link = facts.endpoint(ask(disk.host, probes.controllers()), disk.serial)
    decide(pcie.trained_lanes(link, lanes=disk.pcie.lanes))


@pytest.mark.clause("G1.2.19")
def test_link_saw_no_uncorrected_errors(disk, ask, terms, decide):
    tree, service = ask.all(disk.host, probes.controllers(), pcie_probes.error_service())
    decide(pcie.no_uncorrected_errors(facts.endpoint(tree, disk.serial), service, allowed=terms["uncorrected"]))


@pytest.mark.clause("G1.2.20")
def test_link_corrects_no_errors_while_watched(disk, ask, terms, decide):
    trees, service = ask.twice(disk.host, probes.controllers()), ask(disk.host, pcie_probes.error_service())
    before, after = facts.endpoint(trees.before, disk.serial), facts.endpoint(trees.after, disk.serial)
    links = Interval(before, after, trees.seconds)
    decide(pcie.no_new_corrected_errors(links, service, allowed=terms["corrected"]))


@pytest.mark.clause("G1.2.21")
def test_may_move_large_packets(disk, ask, terms, decide):
    tree, endpoints = ask.all(disk.host, probes.controllers(), pcie_probes.disks())
    address = facts.address(tree, disk.serial)
    decide(pcie.payload(endpoints, address, least=terms["payload"], least_read=terms["read_request"]))


@pytest.mark.clause("G1.2.22")
def test_shares_a_numa_node_with_the_storage_port(disk, ask, decide):
    ports = [port.bdf for port in disk.machine.nics if port.role == "storage" and port.bdf]
    tree, devices = ask.all(disk.host, probes.controllers(), pcie_probes.devices(*ports))
    decide(pcie.same_node(facts.endpoint(tree, disk.serial), [devices.at(port) for port in ports]))


@pytest.mark.clause("G1.2.23")
def test_holds_nothing_unexpected(disk, ask, decide):
    tree, signatures, mounted = ask.all(disk.host, probes.controllers(), probes.signatures(disk.serial), mount_table())
    blocks = ask(disk.host, probes.blocks(), otherwise=probes.blocks_of_old())
    mounts = {mount.path: mount.filesystem for mount in disk.machine.mounts}
    array = {"linux_raid_member"} if disk.machine.raid and disk.role == "member" else set()
    expected = array or set(mounts.values())
    decide(criteria.no_leftover(tree, disk.serial, signatures, blocks, mounted, expected, mounts=list(mounts)))
