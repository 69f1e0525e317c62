"""G1.3  The Ethernet ports that arrived are those that were ordered; their links, light and slots carry what they must."""

from __future__ import annotations

import pytest

from checks.nic import criteria, facts, optics, probes, steadiness
from checks.pcie.probes import error_service

SMALL = 84  # bytes of a packet that every path carries


@pytest.mark.clause("G1.3.1")
def test_is_the_card_ordered(nic, ask, decide):
    interfaces = ask(nic.host, probes.interfaces())
    decide(criteria.present(interfaces, nic.name, nic.mac))


@pytest.mark.clause("G1.3.2")
def test_is_driven_by_the_ordered_driver(nic, ask, decide):
    found = ask(nic.host, probes.driver(nic.name), otherwise=probes.device(nic.name))
    decide(criteria.driven_by(facts.driver_name(found), nic.driver))


@pytest.mark.clause("G1.3.3")
def test_runs_the_ordered_firmware(nic, ask, decide):
    decide(criteria.firmware_is(ask(nic.host, probes.driver(nic.name)).firmware, nic.firmware))


@pytest.mark.clause("G1.3.4")
def test_all_storage_ports_run_one_firmware(rack, ask, decide):
    ports = [(name, nic.name) for name, host in rack.hosts.items() for nic in host.nics if nic.role == "storage"]
    found = {f"{host}:{port}": ask(host, probes.driver(port)) for host, port in ports}
    decide(criteria.firmware_alike(found))


@pytest.mark.clause("G1.3.5")
def test_slot_carries_the_port(nic, ask, terms, decide):
    decide(criteria.slot_carries(ask(nic.host, probes.device(nic.name)).links, nic.speed, terms["ratio"]))


@pytest.mark.clause("G1.3.6")
def test_trains_to_the_generation_and_lanes_ordered(nic, ask, decide):
    decide(criteria.trained(ask(nic.host, probes.device(nic.name)).links, nic.pcie.gen, nic.pcie.lanes))


@pytest.mark.clause("G1.3.7")
def test_link_is_up_at_the_ordered_speed(nic, ask, decide):
    found = ask(nic.host, probes.settings(nic.name), otherwise=probes.device(nic.name))
    decide(criteria.runs_at(facts.link(found), nic.speed))


@pytest.mark.clause("G1.3.8")
def test_mtu_is_the_ordered_one(nic, ask, decide):
    decide(criteria.mtu_is(ask(nic.host, probes.device(nic.name)).mtu, nic.mtu))


@pytest.mark.clause("G1.3.9")
def test_full_size_packets_reach_the_peers(nic, ask, decide):
    peers = _peers(nic)
    series = [
        (peer, *ask.all(nic.host, probes.echoes(nic.name, peer, SMALL), probes.echoes(nic.name, peer, nic.mtu)))
        for peer in peers
    ]
    alone = sum(port.role == "storage" for port in nic.machine.nics) == 1
    decide(criteria.packets_pass(series, nic.mtu, every=alone))


@pytest.mark.clause("G1.3.10")
def test_uses_the_ordered_error_correction(nic, ask, decide):
    decide(criteria.corrects_with(ask(nic.host, probes.fec(nic.name)), nic.fec))


@pytest.mark.clause("G1.3.11")
def test_error_correction_mends_every_block(nic, ask, decide):
    seen = ask.twice(nic.host, probes.fec_blocks(nic.name))
    decide(steadiness.no_uncorrectable_blocks(seen.before, seen.after, seen.seconds))


@pytest.mark.clause("G1.3.12")
def test_every_lane_has_light_to_spare(nic, ask, terms, decide):
    decide(optics.levels_within(ask.twice(nic.host, probes.module(nic.name)).after, terms["margin_db"]))


@pytest.mark.clause("G1.3.13")
def test_module_is_cool(nic, ask, terms, decide):
    decide(optics.cool(ask.twice(nic.host, probes.module(nic.name)).after, terms["margin"]))


@pytest.mark.clause("G1.3.14")
def test_module_raises_no_flag(nic, ask, decide):
    decide(optics.no_flags(ask.twice(nic.host, probes.module(nic.name)).after))  # the first reading clears old flags


@pytest.mark.clause("G1.3.15")
def test_plain_pause_is_off(nic, ask, decide):
    decide(criteria.no_global_pause(ask(nic.host, probes.pause(nic.name)), pfc=nic.rack.fabric is not None))


@pytest.mark.clause("G1.3.16")
def test_receive_ring_is_full_size(nic, ask, decide):
    decide(criteria.rings_full(ask(nic.host, probes.rings(nic.name))))


@pytest.mark.clause("G1.3.17")
def test_no_error_counter_rises(nic, ask, decide):
    seen = ask.twice(nic.host, probes.counters(nic.name))
    decide(steadiness.no_errors(seen.before, seen.after, nic.driver, seen.seconds))


@pytest.mark.clause("G1.3.18")
def test_link_does_not_flap(nic, ask, decide):
    seen = ask.twice(nic.host, probes.device(nic.name))
    decide(steadiness.no_flaps(seen.before, seen.after, seen.seconds))


@pytest.mark.clause("G1.3.19")
def test_hangs_on_the_ordered_numa_node(nic, ask, decide):
    decide(criteria.numa_is(ask(nic.host, probes.device(nic.name)).numa, nic.numa))


@pytest.mark.clause("G1.3.20")
def test_card_reports_no_pcie_error(nic, ask, terms, decide):
    seen, service = ask.twice(nic.host, probes.device(nic.name)), ask(nic.host, error_service())
    decide(steadiness.no_aer(seen.before, seen.after, service, terms["correctable"], seen.seconds))


@pytest.mark.clause("G1.3.21")
def test_is_cabled_as_planned(nic, ask, decide):
    decide(criteria.cabled_to(ask(nic.host, probes.neighbours(nic.name)), nic.name, nic.switch, nic.switch_port))


@pytest.mark.clause("G1.3.22")
def test_carries_the_ordered_address(nic, ask, decide):
    addresses, interfaces = ask.all(nic.host, probes.addresses(), probes.interfaces())
    decide(criteria.addressed(addresses, interfaces, nic.name, nic.address))


@pytest.mark.clause("G1.3.23")
def test_card_moves_large_packets(nic, ask, terms, decide):
    config = ask(nic.host, probes.pci_config(nic.name))
    decide(criteria.moves_large_packets(config, terms["payload"], terms["request"]))


def _peers(nic):
    """Addresses that a port must reach: of the arrays it is connected to; from an array, of the first node."""
    if nic.machine.nvmeof:
        return sorted({link.address for link in nic.machine.nvmeof})
    others = [
        port.address.partition("/")[0]
        for name, host in nic.rack.hosts.items()
        if name != nic.host and host.role == "node"
        for port in host.nics
        if port.role == "storage" and port.address
    ]
    return others[:1]
