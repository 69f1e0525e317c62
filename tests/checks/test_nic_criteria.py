"""Identity, slot, link, MTU and addresses of a port: at the bound, one step to either side, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.nic import criteria, facts
from checks.nic.facts import Link
from checks.parsers.ethtool import Settings
from checks.parsers.ethtool_a import Pause
from checks.parsers.ethtool_g import Rings
from checks.parsers.ethtool_i import DriverInfo
from checks.parsers.ethtool_show_fec import Fec
from checks.parsers.ip_addr import Address
from checks.parsers.ip_link import Interface
from checks.parsers.lldpctl import Neighbour
from checks.parsers.od_pci_config import PciConfig
from checks.parsers.ping import Echoes
from checks.parsers.sysfs_net import Lanes
from checks.verdict import Outcome, Verdict

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
GIGA = 10**9
MAC = "b8:3f:d2:10:00:0a"


def port(
    name: str = "ens1f0np0", mac: str | None = MAC, master: str | None = None, lower: str | None = None
) -> Interface:
    return Interface(name, mac, 9000, "UP", (), None, master, lower)


# ---- identity


@pytest.mark.parametrize(
    ("interfaces", "outcome"),
    [
        ([port()], PASS),
        ([port(mac=MAC.upper())], PASS),
        ([port(mac="b8:3f:d2:10:00:0b")], STOP),
        ([port("ens2")], STOP),
        ([port(mac="b8:3f:d2:10:00:0b"), port("ens2")], STOP),
        ([], STOP),
        ([port(mac=None)], UNDECIDED),
        ([port(), port("ens1f0np0.100", lower="ens1f0np0")], PASS),
    ],
)
def test_the_name_alone_is_not_the_card(interfaces: list[Interface], outcome: Outcome) -> None:
    assert criteria.present(interfaces, "ens1f0np0", MAC).outcome is outcome


@pytest.mark.parametrize(
    ("firmware", "outcome"),
    [
        ("22.39.2048", PASS),
        ("22.39.2048 (MT_0000000359)", PASS),
        ("229.0.1.0/pkg 22.39.2048", PASS),
        ("22.39.20480 (MT_0000000359)", STOP),
        ("22.39.204", STOP),
        ("122.39.2048", STOP),
        ("", UNDECIDED),
        (None, UNDECIDED),
    ],
)
def test_firmware_is_compared_as_a_whole_word(firmware: str | None, outcome: Outcome) -> None:
    assert criteria.firmware_is(firmware, "22.39.2048").outcome is outcome


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ({"a": "1", "b": "1"}, PASS),
        ({"a": "1"}, PASS),
        ({"a": "1", "b": "2"}, STOP),
        ({"a": "1", "b": "2", "c": None}, STOP),
        ({"a": "1", "b": None}, UNDECIDED),
        ({}, UNDECIDED),
    ],
)
def test_one_firmware_for_all(found: dict[str, str | None], outcome: Outcome) -> None:
    cards = {port: DriverInfo("mlx5_core", None, firmware, None) for port, firmware in found.items()}
    assert criteria.firmware_alike(cards).outcome is outcome


def test_another_kind_of_card_has_another_firmware() -> None:
    cards = {
        "array": DriverInfo("bnxt_en", None, "229.0.154.0/pkg 229.1.123.0", None),
        "node-01": DriverInfo("mlx5_core", None, "22.39.2048 (MT_0000000359)", None),
        "node-02": DriverInfo("mlx5_core", None, "28.39.2048 (MT_0000000834)", None),
    }
    assert criteria.firmware_alike(cards).outcome is PASS
    cards["node-03"] = DriverInfo("mlx5_core", None, "28.41.1000 (MT_0000000834)", None)
    verdict = criteria.firmware_alike(cards)
    assert verdict.outcome is STOP
    assert "28.41.1000 (MT_0000000834): node-03" in str(verdict.measured)
    assert "bnxt" not in str(verdict.measured)


def test_an_empty_driver_is_not_told() -> None:
    assert criteria.driven_by(None, "mlx5_core").outcome is UNDECIDED
    assert criteria.driven_by("mlx5_core", "mlx5_core").outcome is PASS
    assert criteria.driven_by("mlx5", "mlx5_core").outcome is STOP


# ---- slot


@pytest.mark.parametrize(
    ("gts", "width", "mbps"),
    [
        (2.5, 16, 32_000),
        (5.0, 16, 64_000),
        (8.0, 8, 63_008),
        (8.0, 16, 126_016),
        (16.0, 8, 126_024),
        (16.0, 16, 252_048),
        (32.0, 16, 504_112),
        (64.0, 16, 1_024_000),
        (None, 16, None),
        (16.0, None, None),
        (17.0, 16, None),
    ],
)
def test_bandwidth_is_what_the_kernel_says(gts: float | None, width: int | None, mbps: int | None) -> None:
    assert facts.bandwidth_mbps(Lanes(gts, width)) == mbps


@pytest.mark.parametrize(
    ("links", "outcome"),
    [
        ([Lanes(8.0, 16)], PASS),
        ([Lanes(16.0, 8)], PASS),
        ([Lanes(8.0, 8)], STOP),
        ([Lanes(16.0, 4)], STOP),
        ([Lanes(16.0, 16), Lanes(8.0, 8)], STOP),
        ([Lanes(16.0, 16), Lanes(None, 16)], UNDECIDED),
        ([Lanes(8.0, 8), Lanes(None, 16)], STOP),
        ([Lanes(None, None)], UNDECIDED),
        ([], UNDECIDED),
    ],
)
def test_the_slot_carries_a_hundred_gigabit_port(links: list[Lanes], outcome: Outcome) -> None:
    assert criteria.slot_carries(links, 100 * GIGA, 1.2).outcome is outcome


def test_the_bound_of_the_slot_is_met_exactly() -> None:
    assert criteria.slot_carries([Lanes(8.0, 16)], 126_016 * 10**6, 1.0).outcome is PASS
    assert criteria.slot_carries([Lanes(8.0, 16)], 126_017 * 10**6, 1.0).outcome is STOP


@pytest.mark.parametrize(
    ("links", "outcome"),
    [
        ([Lanes(16.0, 16)], PASS),
        ([Lanes(32.0, 16)], PASS),
        ([Lanes(8.0, 16)], STOP),
        ([Lanes(16.0, 8)], STOP),
        ([Lanes(16.0, 16), Lanes(8.0, 4)], PASS),
        ([Lanes(None, 16)], UNDECIDED),
        ([], UNDECIDED),
    ],
)
def test_the_card_itself_is_judged_by_the_order(links: list[Lanes], outcome: Outcome) -> None:
    assert criteria.trained(links, 4, 16).outcome is outcome


@pytest.mark.parametrize(
    ("register", "payload", "read_request", "outcome"),
    [
        ("36 59", 256, 4096, PASS),
        ("56 59", 512, 4096, PASS),
        ("16 59", 128, 4096, STOP),
        ("36 49", 256, 2048, STOP),
        ("f6 59", None, 4096, UNDECIDED),
        ("36 79", 256, None, UNDECIDED),
    ],
)
def test_packet_sizes_are_read_from_the_register(
    register: str, payload: int | None, read_request: int | None, outcome: Outcome
) -> None:
    config = PciConfig("b3 15", "1d 10", register)
    assert facts.packet_sizes(config) == (payload, read_request)
    assert criteria.moves_large_packets(config, 256, 4096).outcome is outcome


@pytest.mark.parametrize(("node", "outcome"), [(1, PASS), (0, STOP), (2, STOP), (None, UNDECIDED)])
def test_the_numa_node_is_the_ordered_one(node: int | None, outcome: Outcome) -> None:
    assert criteria.numa_is(node, 1).outcome is outcome


# ---- link


UP = Link(True, 100_000, "full", None)


@pytest.mark.parametrize(
    ("link", "outcome"),
    [
        (UP, PASS),
        (replace(UP, speed_mbps=99_999), STOP),
        (replace(UP, speed_mbps=100_001), STOP),
        (replace(UP, speed_mbps=40_000), STOP),
        (replace(UP, duplex="half"), STOP),
        (replace(UP, up=False), STOP),
        (Link(False, None, None, "No cable"), STOP),
        (replace(UP, speed_mbps=None), UNDECIDED),
        (replace(UP, duplex=None), UNDECIDED),
        (replace(UP, up=None), UNDECIDED),
    ],
)
def test_up_at_the_ordered_speed(link: Link, outcome: Outcome) -> None:
    assert criteria.runs_at(link, 100 * GIGA).outcome is outcome


def test_ethtool_says_full_and_sysfs_says_full() -> None:
    told = Settings("eth0", 100_000, "Full", "on", "FIBRE", 4, True, None)
    assert criteria.runs_at(facts.link(told), 100 * GIGA).outcome is PASS


@pytest.mark.parametrize(
    ("mtu", "outcome"), [(9000, PASS), (8999, STOP), (9001, STOP), (1500, STOP), (None, UNDECIDED)]
)
def test_the_mtu_is_exact(mtu: int | None, outcome: Outcome) -> None:
    assert criteria.mtu_is(mtu, 9000).outcome is outcome


@pytest.mark.parametrize(
    ("active", "ordered", "outcome"),
    [
        (("RS",), "rs", PASS),
        (("BaseR",), "baser", PASS),
        (("BASER",), "baser", PASS),
        (("Off",), "off", PASS),
        (("None",), "off", PASS),
        (("Off",), "rs", STOP),
        (("BaseR",), "rs", STOP),
        (("RS", "BaseR"), "rs", STOP),
        (("LLRS",), "rs", STOP),
        (("RS",), "off", STOP),
        (("Auto",), "rs", UNDECIDED),
        ((), "rs", UNDECIDED),
        ((), "off", UNDECIDED),
    ],
)
def test_the_active_error_correction_counts(active: tuple[str, ...], ordered: str, outcome: Outcome) -> None:
    assert criteria.corrects_with(Fec("eth0", ("RS",), active, None, None), ordered).outcome is outcome


@pytest.mark.parametrize(
    ("heard", "outcome"),
    [
        ([Neighbour("eth0", "leaf-1", "aa", "Ethernet1", None)], PASS),
        ([Neighbour("eth0", "LEAF-1.rack.example", "aa", "Ethernet1", None)], PASS),
        ([Neighbour("eth0", "leaf-1", "aa", "44:38:39:ff:00:01", "Ethernet1")], PASS),
        ([Neighbour("eth0", "leaf-1", "aa", "Ethernet11", None)], STOP),
        ([Neighbour("eth0", "leaf-11", "aa", "Ethernet1", None)], STOP),
        ([Neighbour("eth0", "nic", "bb", "p0", None), Neighbour("eth0", "leaf-1", "aa", "Ethernet1", None)], PASS),
        ([Neighbour("eth1", "leaf-1", "aa", "Ethernet1", None)], UNDECIDED),
        ([Neighbour("eth0", None, "aa", "Ethernet1", None)], UNDECIDED),
        ([Neighbour("eth0", "leaf-1", "aa", None, None)], UNDECIDED),
        ([], UNDECIDED),
    ],
)
def test_the_planned_switch_port_is_heard(heard: list[Neighbour], outcome: Outcome) -> None:
    assert criteria.cabled_to(heard, "eth0", "leaf-1", "Ethernet1").outcome is outcome


# ---- packets


def echoes(
    sent: int | None = 3, received: int | None = 3, local: int | None = None, remote: int | None = None
) -> Echoes:
    refused = "ping: connect: Network is unreachable" if sent is None else None
    return Echoes("192.168.100.10", 8972, sent, received, None, None, local, remote, refused)


def path(small: Echoes, full: Echoes, every: bool = True) -> Verdict:
    return criteria.packets_pass([("192.168.100.10", small, full)], 9000, every)


@pytest.mark.parametrize(
    ("small", "full", "outcome"),
    [
        (echoes(), echoes(), PASS),
        (echoes(received=2), echoes(), PASS),
        (echoes(), echoes(received=2), STOP),
        (echoes(), echoes(received=0), STOP),
        (echoes(), echoes(received=0, local=1500), STOP),
        (echoes(), echoes(received=0, remote=8999), STOP),
        (echoes(received=0), echoes(received=0, local=1500), STOP),
        (echoes(received=0), echoes(received=0), UNDECIDED),
        (echoes(None, None), echoes(None, None), UNDECIDED),
        (echoes(), echoes(None, None), UNDECIDED),
    ],
)
def test_a_narrow_path_is_told_from_a_silent_peer(small: Echoes, full: Echoes, outcome: Outcome) -> None:
    assert path(small, full).outcome is outcome


def test_a_port_with_nobody_to_reach_proves_nothing() -> None:
    assert criteria.packets_pass([], 9000, True).outcome is UNDECIDED
    assert criteria.packets_pass([], 9000, False).outcome is UNDECIDED


def test_one_of_several_ports_need_not_reach_every_peer_but_one() -> None:
    silent = ("192.168.101.10", echoes(received=0), echoes(received=0))
    proved = ("192.168.100.10", echoes(), echoes())
    narrow = ("192.168.102.10", echoes(), echoes(received=0))
    assert criteria.packets_pass([silent, proved], 9000, False).outcome is PASS
    assert criteria.packets_pass([silent, proved], 9000, True).outcome is UNDECIDED
    assert criteria.packets_pass([silent], 9000, False).outcome is UNDECIDED
    assert criteria.packets_pass([proved, narrow], 9000, False).outcome is STOP


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, PASS),
        ({"autonegotiate": True}, PASS),
        ({"rx": True}, STOP),
        ({"tx": True}, STOP),
        ({"autonegotiate": True, "rx_negotiated": True}, STOP),
        ({"rx_negotiated": False, "tx_negotiated": False}, PASS),
    ],
)
def test_plain_pause_is_off_both_ways(change: dict[str, bool], outcome: Outcome) -> None:
    pause = replace(Pause("eth0", False, False, False, None, None), **change)  # type: ignore[arg-type]
    assert criteria.no_global_pause(pause, pfc=True).outcome is outcome
    assert criteria.no_global_pause(pause, pfc=False).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("now", "largest", "outcome"),
    [(8192, 8192, PASS), (8191, 8192, STOP), (None, 8192, UNDECIDED), (8192, None, UNDECIDED)],
)
def test_the_receive_ring_is_full(now: int | None, largest: int | None, outcome: Outcome) -> None:
    assert criteria.rings_full(Rings("eth0", now, largest, 1024, 8192)).outcome is outcome


ADDRESS = Address("ens1f0np0", "inet", "192.168.100.11", 16, "global")


@pytest.mark.parametrize(
    ("addresses", "ordered", "outcome"),
    [
        ([ADDRESS], "192.168.100.11", PASS),
        ([ADDRESS], "192.168.100.11/16", PASS),
        ([ADDRESS], "192.168.100.11/24", STOP),
        ([replace(ADDRESS, local="192.168.100.1")], "192.168.100.11", STOP),
        ([replace(ADDRESS, interface="eno1")], "192.168.100.11", STOP),
        ([replace(ADDRESS, interface="bond0")], "192.168.100.11", PASS),
        ([replace(ADDRESS, interface="vlan100")], "192.168.100.11", PASS),
        ([replace(ADDRESS, family="inet6", local="fd00::b")], "fd00:0:0::000b", PASS),
        ([], "192.168.100.11", STOP),
        ([ADDRESS], None, UNDECIDED),
        ([ADDRESS], "storage", UNDECIDED),
    ],
)
def test_the_address_stands_on_the_port_its_bond_or_vlan(
    addresses: list[Address], ordered: str | None, outcome: Outcome
) -> None:
    interfaces = [
        port(master="bond0"),
        port("bond0"),
        port("vlan100", lower="bond0"),
        port("eno1", "aa:aa:aa:aa:aa:aa"),
    ]
    assert criteria.addressed(addresses, interfaces, "ens1f0np0", ordered).outcome is outcome


def test_what_driver_or_firmware_keeps_to_itself_may_be_declared() -> None:
    assert criteria.numa_is(None, 0).declarable
    assert criteria.corrects_with(Fec("eth0", (), (), None, None), "rs").declarable
    assert not criteria.runs_at(facts.Link(None, None, None, None), 10**11).declarable


def test_a_series_that_was_refused_is_no_series_of_lost_packets() -> None:
    refused = Echoes("192.168.100.10", 8972, 3, 0, None, None, None, None, "ping: sendmsg: Invalid argument")
    small = Echoes("192.168.100.10", 56, 3, 3, None, None, None, None, None)
    verdict = criteria.packets_pass([("192.168.100.10", small, refused)], 9000, True)
    assert verdict.outcome is UNDECIDED
    assert "Invalid argument" in str(verdict.note)


def test_an_address_on_another_port_is_not_on_this_one_for_want_of_a_master() -> None:
    ports = [Interface(name, None, 9000, "UP", (), None, None, None) for name in ("ens1f0np0", "eno1")]
    here = [Address("eno1", "inet", "192.168.100.10", 24, "global")]
    assert criteria.addressed(here, ports, "ens1f0np0", "192.168.100.10").outcome is STOP
    assert criteria.addressed(here, ports, "eno1", "192.168.100.10").outcome is PASS
