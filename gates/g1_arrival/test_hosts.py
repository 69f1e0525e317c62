"""G1.1  The hosts that arrived are the hosts that were ordered, and they are set up as agreed."""

import pytest

from checks.host import clock, clock_probes, criteria, drivers, log_probes, memory, probes, settings, upkeep
from checks.phrase import say


@pytest.mark.clause("G1.1.1")
def test_presents_the_pinned_host_key(host, ask, decide):
    decide(criteria.host_key_pinned(ask.host_key(host.host), pinned=host.host_key))


@pytest.mark.clause("G1.1.2")
def test_runs_the_kernel_ordered(host, ask, decide):
    decide(criteria.kernel_ordered(ask(host.host, probes.kernel()).release, ordered=host.system.kernel))


@pytest.mark.clause("G1.1.3")
def test_has_the_processors_ordered(host, ask, decide):
    cpu = host.system.cpu
    decide(criteria.processors_ordered(ask(host.host, probes.processors()), cpu.model, cpu.sockets, cpu.cores))


@pytest.mark.clause("G1.1.4")
def test_has_the_memory_ordered(host, ask, terms, decide):
    seen, firmware = ask.all(host.host, probes.memory(), probes.firmware())
    decide(memory.memory_ordered(seen, firmware, ordered=host.system.memory.size, usable=terms["usable"]))


@pytest.mark.clause("G1.1.5")
def test_has_the_memory_modules_ordered(host, ask, decide):
    decide(memory.modules_ordered(ask(host.host, probes.firmware()), ordered=host.system.memory.dimms))


@pytest.mark.clause("G1.1.6")
def test_runs_its_memory_at_the_speed_ordered(host, ask, decide):
    decide(memory.modules_at_speed(ask(host.host, probes.firmware()), ordered=host.system.memory.speed))


@pytest.mark.clause("G1.1.7")
def test_has_no_uncorrected_memory_errors(host, ask, terms, decide):
    errors = ask(host.host, probes.memory_errors())
    decide(memory.no_uncorrected_memory_errors(errors, allowed=terms["uncorrected"]))


@pytest.mark.clause("G1.1.8")
def test_corrects_no_memory_errors_while_watched(host, ask, terms, decide):
    watched = ask.twice(host.host, probes.memory_errors())
    decide(memory.no_new_corrected_memory_errors(watched, allowed=terms["corrected"]))


@pytest.mark.clause("G1.1.9")
def test_has_the_firmware_ordered(host, ask, decide):
    decide(criteria.firmware_ordered(ask(host.host, probes.firmware()), ordered=host.system.bios))


@pytest.mark.clause("G1.1.10")
def test_was_booted_with_the_words_agreed(host, ask, decide):
    decide(criteria.booted_with(ask(host.host, probes.command_line()), ordered=host.system.cmdline))


@pytest.mark.clause("G1.1.11")
def test_passes_storage_addresses_through_the_iommu(host, ask, decide):
    parts = (*host.disks, *(nic for nic in host.nics if nic.role == "storage"))
    devices = [part.bdf for part in parts if part.bdf]
    decide(settings.iommu_passes_through(ask(host.host, probes.iommu()), bdfs=devices))


@pytest.mark.clause("G1.1.12")
def test_balances_numa_as_agreed(host, ask, decide):
    found = ask(host.host, probes.settings(host.system.sysctl))
    decide(settings.numa_balancing_as_agreed(found, on=host.system.numa_balancing))


@pytest.mark.clause("G1.1.13")
def test_reserves_the_huge_pages_agreed(host, ask, decide):
    decide(memory.hugepages_reserved(ask(host.host, probes.memory()), ordered=host.system.hugepages))


@pytest.mark.clause("G1.1.14")
def test_runs_its_processors_at_full_clock(host, ask, terms, decide):
    decide(settings.governed_by(ask(host.host, probes.governors()), wanted=terms["governor"]))


@pytest.mark.clause("G1.1.15")
def test_lets_the_service_lock_memory_and_open_files(host, ask, decide):
    service = host.system.service
    limits = ask(host.host, probes.service_limits(service.unit))
    decide(settings.service_may(limits, memlock=service.memlock, nofile=service.nofile))


@pytest.mark.clause("G1.1.16")
def test_has_the_kernel_settings_agreed(host, ask, decide):
    found = ask(host.host, probes.settings(host.system.sysctl))
    decide(settings.settings_equal(found, ordered=host.system.sysctl))


@pytest.mark.clause("G1.1.17")
def test_has_loaded_the_driver_modules_agreed(host, ask, decide):
    found = ask(host.host, probes.modules(host.system.modules, host.system.kernel))
    decide(drivers.modules_loaded(found, ordered=host.system.modules))


@pytest.mark.clause("G1.1.18")
def test_mixes_no_driver_trees(host, ask, decide):
    found = ask(host.host, probes.modules(host.system.modules, host.system.kernel))
    decide(drivers.modules_of_one_tree(found, family=probes.RDMA_TREE))


@pytest.mark.clause("G1.1.19")
def test_follows_a_time_source(host, ask, terms, decide):
    found = ask(host.host, clock_probes.tracking(), otherwise=clock_probes.timesync())
    decide(clock.clock_synchronised(found, terms["offset"], terms["stratum"], terms["dispersion"]))


@pytest.mark.clause("G1.1.20")
def test_counts_its_clock_as_synchronised(host, ask, decide):
    decide(clock.kernel_clock_synchronised(ask(host.host, clock_probes.clock_state())))


@pytest.mark.clause("G1.1.21")
def test_reaches_its_time_source_at_every_poll(host, ask, decide):
    decide(clock.time_source_answers(ask(host.host, clock_probes.time_sources())))


@pytest.mark.clause("G1.1.22")
def test_all_hosts_agree_on_the_time(rack, ask, terms, decide):
    hosts = [name for name, host in rack.hosts.items() if host.access != "none"]
    decide(clock.clocks_agree(clock.spread({name: ask.clock(name) for name in hosts}), limit_ms=terms["spread"]))


@pytest.mark.clause("G1.1.23")
def test_has_room_for_logs(host, ask, terms, decide):
    decide(upkeep.room_for_logs(ask(host.host, log_probes.log_space()), at_least=terms["free"]))


@pytest.mark.clause("G1.1.24")
def test_keeps_its_journal_on_disk(host, ask, decide):
    decide(upkeep.journal_on_disk(ask(host.host, log_probes.journal())))


@pytest.mark.clause("G1.1.25")
def test_reports_healthy_power_and_cooling(host, ask, terms, decide):
    decide(upkeep.sensors_well(ask(host.host, probes.sensors()), supplies=terms["supplies"]))


def _like_nodes(rack):
    """Like nodes are compared: host -> kind, by the accelerators and processors that were ordered."""
    nodes = {name: host for name, host in rack.hosts.items() if host.role == "node" and host.access != "none"}
    return {
        name: (host.accelerators and host.accelerators.platform, host.system and host.system.cpu.model)
        for name, host in nodes.items()
    }


@pytest.mark.clause("G1.1.26")
def test_like_nodes_run_the_same_kernel(rack, ask, decide):
    kinds = _like_nodes(rack)
    found = ask.each(list(kinds), probes.kernel())
    decide(criteria.alike(say("kernel"), {name: kernel.release for name, kernel in found.items()}, kinds))


@pytest.mark.clause("G1.1.27")
def test_like_nodes_have_the_same_firmware(rack, ask, decide):
    kinds = _like_nodes(rack)
    found = ask.each(list(kinds), probes.firmware())
    decide(criteria.alike(say("firmware"), {name: firmware.version for name, firmware in found.items()}, kinds))


@pytest.mark.clause("G1.1.28")
def test_like_nodes_have_the_same_distribution(rack, ask, decide):
    kinds = _like_nodes(rack)
    found = ask.each(list(kinds), probes.distribution())
    decide(criteria.alike(say("distribution"), {name: system.pretty for name, system in found.items()}, kinds))


@pytest.mark.clause("G1.1.29")
def test_has_corrected_few_memory_errors(host, ask, terms, decide):
    errors = ask(host.host, probes.memory_errors())
    decide(memory.few_corrected_memory_errors(errors, allowed=terms["corrected"]))
