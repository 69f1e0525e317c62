"""When one RDMA port is good enough: at the bound, a step to each side, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.parsers.cma_roce import CmaRoce
from checks.parsers.sysfs_infiniband import IbPort
from checks.probe import Interval
from checks.roce import criteria, losses
from checks.roce.facts import ROCE_V2, GidSlot, Port, gid_of
from checks.verdict import Outcome, Verdict

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
ADDRESS = "192.168.100.11"
GOOD = Port(
    device="mlx5_0", number=1, state="ACTIVE", physical_state="LINK_UP", link_layer="Ethernet", netdev="ens1f0np0",
    gbps=100.0, width="4X EDR", active_mtu=4096,
)  # fmt: skip


def slot(index: int, kind: str | None = ROCE_V2, netdev: str | None = "ens1f0np0", address: str = ADDRESS) -> GidSlot:
    gid = gid_of(address)
    assert gid is not None
    return GidSlot(index, gid, kind, netdev)


@pytest.mark.parametrize(
    "state, physical, outcome",
    [
        ("ACTIVE", "LINK_UP", PASS),
        ("DOWN", "DISABLED", STOP),
        ("ACTIVE", "POLLING", STOP),
        ("INIT", "LINK_UP", STOP),
        ("DOWN", None, STOP),
        (None, "LINK_UP", UNDECIDED),
        ("ACTIVE", None, UNDECIDED),
        ("ACTIVE", "ACTIVE", UNDECIDED),  # a word that no kernel prints there
    ],
)
def test_a_port_is_active_when_both_states_say_so(state: str | None, physical: str | None, outcome: Outcome) -> None:
    port = replace(GOOD, state=state, physical_state=physical)
    assert criteria.active((port,), "mlx5_0", 1).outcome is outcome


def test_a_host_without_the_rdma_device_stops_and_names_what_is_there() -> None:
    assert criteria.active((), "mlx5_0", 1).outcome is STOP
    other = criteria.active((replace(GOOD, device="mlx5_1"), replace(GOOD, number=2)), "mlx5_0", 1)
    assert other.outcome is STOP
    assert "mlx5_1/1, mlx5_0/2" in str(other.measured)


@pytest.mark.parametrize(
    "gbps, layer, outcome",
    [
        (100.0, "Ethernet", PASS),
        (25.0, "Ethernet", STOP),
        (99.0, "Ethernet", STOP),
        (200.0, "Ethernet", STOP),
        (100.0, "InfiniBand", STOP),
        (None, "Ethernet", UNDECIDED),
        (100.0, None, UNDECIDED),
    ],
)
def test_the_rate_is_the_ordered_one_on_ethernet(gbps: float | None, layer: str | None, outcome: Outcome) -> None:
    port = replace(GOOD, gbps=gbps, link_layer=layer)
    assert criteria.ethernet_at((port,), "mlx5_0", 1, ordered=100 * 10**9).outcome is outcome


@pytest.mark.parametrize(
    "netdev, outcome", [("ens1f0np0", PASS), ("ens1f0np", STOP), ("ens1f1np1", STOP), (None, UNDECIDED)]
)
def test_the_port_belongs_to_the_interface(netdev: str | None, outcome: Outcome) -> None:
    assert criteria.bound_to((replace(GOOD, netdev=netdev),), "mlx5_0", 1, "ens1f0np0").outcome is outcome


def gids(*slots: GidSlot, address: str | None = ADDRESS) -> Verdict:
    return criteria.one_storage_gid((replace(GOOD, gids=slots),), "mlx5_0", 1, address, "ens1f0np0", wanted=1)


def test_one_roce_v2_gid_with_the_storage_address_passes_at_any_index() -> None:
    for index in (1, 3, 5):
        verdict = gids(slot(0, "IB/RoCE v1"), slot(index))
        assert verdict.outcome is PASS
        assert str(verdict.measured).startswith(f"index {index}:")


@pytest.mark.parametrize(
    "slots, outcome",
    [
        ((slot(2, "IB/RoCE v1"),), STOP),
        ((slot(1, address="10.0.0.5"),), STOP),
        ((slot(3), slot(5)), STOP),
        ((slot(3), slot(5, netdev="ens1f0.100")), STOP),
        ((slot(3, netdev="ens1f1np1"),), STOP),
        ((slot(3, netdev=None),), UNDECIDED),
        ((slot(3, netdev=None), slot(5, netdev=None)), STOP),
        ((slot(3, kind=None),), UNDECIDED),
        ((), UNDECIDED),
    ],
)
def test_a_storage_gid_of_another_kind_place_or_number_does_not_pass(
    slots: tuple[GidSlot, ...], outcome: Outcome
) -> None:
    assert gids(*slots).outcome is outcome


@pytest.mark.parametrize("address", [None, "", "fx100-a", "192.168.100"])
def test_without_an_ip_address_in_the_order_no_gid_can_be_judged(address: str | None) -> None:
    assert gids(slot(3), address=address).outcome is UNDECIDED


def test_a_prefix_length_in_the_order_does_no_harm_and_ipv6_stays_itself() -> None:
    assert gids(slot(3), address=f"{ADDRESS}/24").outcome is PASS
    assert str(gid_of("fd00::1")) == "fd00::1"


@pytest.mark.parametrize("mode, outcome", [("RoCE v2", PASS), ("IB/RoCE v1", STOP), (None, UNDECIDED)])
def test_the_connection_manager_uses_roce_v2(mode: str | None, outcome: Outcome) -> None:
    assert criteria.connects_by_v2(CmaRoce(mode, 106)).outcome is outcome


@pytest.mark.parametrize(
    "tos, agreed, dscp, outcome",
    [
        (106, 106, 26, PASS),
        (105, 106, 26, STOP),
        (107, 106, 26, STOP),
        (0, 106, 26, STOP),
        (104, None, 26, PASS),
        (107, None, 26, PASS),
        (103, None, 26, STOP),
        (108, None, 26, STOP),
        (None, 106, 26, UNDECIDED),
        (106, None, None, UNDECIDED),
    ],
)
def test_connections_carry_the_agreed_mark(
    tos: int | None, agreed: int | None, dscp: int | None, outcome: Outcome
) -> None:
    assert criteria.connects_marked(CmaRoce("RoCE v2", tos), agreed, dscp).outcome is outcome


def test_a_traffic_class_never_set_stops_only_where_the_driver_has_the_setting() -> None:
    assert criteria.classified(106, True, 106, 26).outcome is PASS
    assert criteria.classified(160, True, 106, 26).outcome is STOP
    assert criteria.classified(None, True, 106, 26).outcome is STOP
    assert criteria.classified(None, False, 106, 26).outcome is UNDECIDED


@pytest.mark.parametrize("mtu, outcome", [(4096, PASS), (2048, STOP), (1024, STOP), (None, UNDECIDED)])
def test_the_roce_mtu_is_the_agreed_one(mtu: int | None, outcome: Outcome) -> None:
    assert criteria.carries_mtu((replace(GOOD, active_mtu=mtu),), "mlx5_0", 1, 4096).outcome is outcome
    assert criteria.carries_mtu((GOOD,), "mlx5_0", 1, None).outcome is UNDECIDED
    assert criteria.carries_mtu((), "mlx5_0", 1, 4096).outcome is UNDECIDED


COUNTED = {"out_of_sequence": 2, "packet_seq_err": 131, "local_ack_timeout_err": 7, "rnr_nak_retry_err": 0}


def errors(before: dict[str, int], after: dict[str, int], driver: str = "mlx5_core", allowed: int = 0) -> Verdict:
    first, second = ((IbPort("mlx5_0", 1, None, None, None, None, (), {}, table),) for table in (before, after))
    return losses.no_new_errors(Interval(first, second, 4.0), "mlx5_0", 1, driver, allowed)


def test_old_errors_do_not_count_and_new_ones_do() -> None:
    assert errors(COUNTED, COUNTED).outcome is PASS
    grown = errors(COUNTED, COUNTED | {"packet_seq_err": 132})
    assert grown.outcome is STOP
    assert str(grown.measured) == "packet_seq_err +1 in 4.0 s"
    assert errors(COUNTED, COUNTED | {"packet_seq_err": 132}, allowed=1).outcome is PASS
    assert errors(COUNTED, COUNTED | {"packet_seq_err": 133}, allowed=1).outcome is STOP


def test_a_counter_that_went_backwards_is_missing_or_unknown_is_undecided() -> None:
    assert errors(COUNTED, COUNTED | {"out_of_sequence": 1}).outcome is UNDECIDED
    assert errors(COUNTED, {k: v for k, v in COUNTED.items() if k != "out_of_sequence"}).outcome is UNDECIDED
    assert errors({}, {}).outcome is UNDECIDED
    assert errors(COUNTED, COUNTED, driver="hns3").outcome is UNDECIDED


def test_soft_roce_is_told_by_its_counters_whatever_port_it_runs_over() -> None:
    names = ("out_of_seq_request", "rcvd_seq_err", "completer_retry_err", "retry_exceeded_err", "duplicate_request")
    idle = dict.fromkeys((*names, "sent_pkts", "ack_deferred"), 7)
    assert errors(idle, idle | {"sent_pkts": 900, "ack_deferred": 9}, driver="virtio_net").outcome is PASS
    lost = errors(idle, idle | {"completer_retry_err": 9, "duplicate_request": 8}, driver="virtio_net")
    assert lost.outcome is STOP
    assert str(lost.measured) == "completer_retry_err +2, duplicate_request +1 in 4.0 s"
    part = {name: count for name, count in idle.items() if name != "rcvd_seq_err"}
    assert errors(part, part, driver="virtio_net").outcome is UNDECIDED
    assert errors(idle, idle, driver="mlx5_core").outcome is UNDECIDED


def test_flushed_completions_are_no_errors_and_optional_counters_count_where_present() -> None:
    assert errors(COUNTED | {"req_cqe_flush_error": 1}, COUNTED | {"req_cqe_flush_error": 900}).outcome is PASS
    assert errors(COUNTED | {"roce_adp_retrans": 1}, COUNTED | {"roce_adp_retrans": 2}).outcome is STOP
