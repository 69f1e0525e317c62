"""G1.4  The storage ports speak RoCE v2 and keep storage traffic lossless, each of them and all alike."""

from __future__ import annotations

from typing import Any

import pytest

from checks.nic.probes import counters as port_counters
from checks.roce import criteria, equality, losses, lossless, npu, probes


def _agreed(thing: Any, key: str) -> Any:
    """Return what was agreed for the storage network, None where the inventory does not say."""
    return getattr(thing.rack.fabric, key, None)


def _ports(rack: Any) -> list[tuple[str, Any]]:
    """Every storage port with RDMA of the rack, with its host's name."""
    hosts = rack.hosts.items()
    return [(name, nic) for name, host in hosts for nic in host.nics if nic.role == "storage" and nic.rdma is not None]


def _qos(ask: Any, host: str, nic: Any) -> Any:
    return ask(host, probes.qos(nic.name, nic.driver, nic.bdf), otherwise=probes.kernel_qos(nic.name))


def _congestion(ask: Any, host: str, nic: Any) -> Any:
    return ask(host, probes.congestion(nic.name, nic.rdma, nic.rdma_port, nic.bdf))


@pytest.mark.clause("G1.4.1")
def test_rdma_port_is_active(nic, ask, decide):
    ports = ask(nic.host, probes.links(), otherwise=probes.port(nic.rdma, nic.rdma_port))
    decide(criteria.active(ports, nic.rdma, nic.rdma_port))


@pytest.mark.clause("G1.4.2")
def test_speaks_ethernet_at_the_rate_ordered(nic, ask, decide):
    ports = ask(nic.host, probes.port(nic.rdma, nic.rdma_port))
    decide(criteria.ethernet_at(ports, nic.rdma, nic.rdma_port, ordered=nic.speed))


@pytest.mark.clause("G1.4.3")
def test_belongs_to_the_storage_interface(nic, ask, decide):
    ports = ask(nic.host, probes.links(), otherwise=probes.port(nic.rdma, nic.rdma_port))
    decide(criteria.bound_to(ports, nic.rdma, nic.rdma_port, netdev=nic.name))


@pytest.mark.clause("G1.4.4")
def test_has_one_roce_v2_gid_with_the_storage_address(nic, ask, terms, decide):
    ports = ask(nic.host, probes.port(nic.rdma, nic.rdma_port), otherwise=probes.devinfo(nic.rdma, nic.rdma_port))
    decide(criteria.one_storage_gid(ports, nic.rdma, nic.rdma_port, nic.address, nic.name, wanted=terms["gids"]))


@pytest.mark.clause("G1.4.5")
def test_connects_by_roce_v2(nic, ask, decide):
    defaults = ask(nic.host, probes.cm_defaults(nic.rdma, nic.rdma_port))
    decide(criteria.connects_by_v2(defaults))


@pytest.mark.clause("G1.4.6")
def test_connects_with_the_agreed_mark(nic, ask, decide):
    defaults = ask(nic.host, probes.cm_defaults(nic.rdma, nic.rdma_port))
    decide(criteria.connects_marked(defaults, _agreed(nic, "traffic_class"), _agreed(nic, "dscp")))


@pytest.mark.clause("G1.4.7")
def test_carries_the_roce_mtu_agreed(nic, ask, decide):
    ports = ask(nic.host, probes.devinfo(nic.rdma, nic.rdma_port))
    decide(criteria.carries_mtu(ports, nic.rdma, nic.rdma_port, _agreed(nic, "roce_mtu")))


@pytest.mark.clause("G1.4.8")
def test_trusts_dscp(nic, ask, decide):
    decide(lossless.trusts_dscp(_qos(ask, nic.host, nic)))


@pytest.mark.clause("G1.4.9")
def test_has_pfc_on_the_priority_agreed(nic, ask, decide):
    decide(lossless.pfc_on(_qos(ask, nic.host, nic), _agreed(nic, "pfc_priority")))


@pytest.mark.clause("G1.4.10")
def test_has_pfc_on_no_other_priority(nic, ask, decide):
    decide(lossless.pfc_on_no_other(_qos(ask, nic.host, nic), _agreed(nic, "pfc_priority")))


@pytest.mark.clause("G1.4.11")
def test_maps_the_storage_dscp_to_that_priority(nic, ask, decide):
    decide(lossless.maps_to(_qos(ask, nic.host, nic), _agreed(nic, "dscp"), _agreed(nic, "pfc_priority")))


@pytest.mark.clause("G1.4.12")
def test_serves_congestion_notifications_first(nic, ask, decide):
    qos = _qos(ask, nic.host, nic)
    decide(lossless.serves_cnp_strictly(qos, _agreed(nic, "cnp_dscp"), _agreed(nic, "pfc_priority")))


@pytest.mark.clause("G1.4.13")
def test_uses_ecn_on_the_storage_priority(nic, ask, decide):
    seen = ask(nic.host, probes.ecn(nic.name, nic.bdf))
    decide(lossless.ecn_as_agreed(seen, _agreed(nic, "pfc_priority"), _agreed(nic, "ecn")))


@pytest.mark.clause("G1.4.14")
def test_marks_congestion_notifications_as_agreed(nic, ask, decide):
    decide(lossless.cnp_marked(_congestion(ask, nic.host, nic), _agreed(nic, "cnp_dscp")))


@pytest.mark.clause("G1.4.15")
def test_gives_unmarked_traffic_the_agreed_class(nic, ask, decide):
    seen = _congestion(ask, nic.host, nic)
    agreed = _agreed(nic, "traffic_class"), _agreed(nic, "dscp")
    decide(criteria.classified(seen.traffic_class, lossless.offers_traffic_class(seen), *agreed))


@pytest.mark.clause("G1.4.16")
def test_loses_and_repeats_no_packet(nic, ask, terms, decide):
    interval = ask.twice(nic.host, probes.counters(nic.rdma, nic.rdma_port))
    decide(losses.no_new_errors(interval, nic.rdma, nic.rdma_port, nic.driver, allowed=terms["errors"]))


@pytest.mark.clause("G1.4.17")
def test_sees_no_pause_storm(nic, ask, terms, decide):
    interval = ask.twice(nic.host, port_counters(nic.name))
    decide(losses.no_pause_storm(interval, nic.driver, allowed=terms["storms"]))


@pytest.mark.clause("G1.4.18")
def test_all_ports_treat_traffic_alike(rack, ask, decide):
    ports = {f"{host}:{nic.name}": _qos(ask, host, nic) for host, nic in _ports(rack)}
    decide(equality.same_qos(ports, _agreed(rack, "dscp"), _agreed(rack, "cnp_dscp")))


@pytest.mark.clause("G1.4.19")
def test_all_ports_react_to_congestion_alike(rack, ask, decide):
    ports = {f"{host}:{nic.name}": (nic.driver, _congestion(ask, host, nic)) for host, nic in _ports(rack)}
    decide(equality.same_dcqcn(ports))


@pytest.mark.clause("G1.4.30")
def test_npu_ports_of_a_node_treat_traffic_alike(accelerators, ask, decide):
    devices = range(accelerators.count)
    decide(npu.same_npu_qos(ask(accelerators.host, probes.npu_qos(devices)), devices))


@pytest.mark.clause("G1.4.20")
def test_switch_has_pfc_on_the_priority_agreed(rack, declared, decide):
    decide(declared())


@pytest.mark.clause("G1.4.21")
def test_switch_marks_ecn_at_the_thresholds_agreed(rack, declared, decide):
    decide(declared())


@pytest.mark.clause("G1.4.22")
def test_switch_carries_the_mtu_on_all_ports(rack, declared, decide):
    decide(declared())


@pytest.mark.clause("G1.4.23")
def test_switch_trusts_dscp(rack, declared, decide):
    decide(declared())


@pytest.mark.clause("G1.4.24")
def test_switch_has_buffer_and_headroom(rack, declared, decide):
    decide(declared())


@pytest.mark.clause("G1.4.25")
def test_switch_drops_nothing_on_storage_ports(rack, declared, decide):
    decide(declared())
