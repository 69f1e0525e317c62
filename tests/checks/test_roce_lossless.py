"""When ports keep storage traffic lossless, each and all alike: twins of good and bad settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.parsers import hccn_tool
from checks.parsers.ethtool_S import Counters
from checks.parsers.rdma_qos import EcnSwitch, RdmaQos
from checks.probe import Interval
from checks.roce import equality, losses, lossless
from checks.roce import npu as npu_ports
from checks.roce.treatment import Qos
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
GOOD = Qos(
    tool="mlnx_qos", trust="dscp", pfc=(3,), dscp=((26, 3), (48, 6)), classes=((3, 3), (6, 6)),
    tsa=((3, "vendor"), (6, "strict")),
)  # fmt: skip
PCP = Qos("mlnx_qos", "pcp", (), (), (), ())


@pytest.mark.parametrize("trust, outcome", [("dscp", PASS), ("pcp", STOP), ("both", STOP), (None, UNDECIDED)])
def test_only_dscp_is_trusted(trust: str | None, outcome: Outcome) -> None:
    assert lossless.trusts_dscp(replace(GOOD, trust=trust)).outcome is outcome


@pytest.mark.parametrize(
    "pfc, on, alone",
    [((3,), PASS, PASS), ((), STOP, PASS), ((2,), STOP, STOP), ((4,), STOP, STOP), ((3, 4), PASS, STOP)],
)
def test_pfc_is_on_the_agreed_priority_and_on_no_other(pfc: tuple[int, ...], on: Outcome, alone: Outcome) -> None:
    qos = replace(GOOD, pfc=pfc)
    assert lossless.pfc_on(qos, 3).outcome is on
    assert lossless.pfc_on_no_other(qos, 3).outcome is alone
    assert lossless.pfc_on(qos, None).outcome is UNDECIDED
    assert lossless.pfc_on_no_other(qos, None).outcome is UNDECIDED


@pytest.mark.parametrize(
    "qos, outcome",
    [
        (GOOD, PASS),
        (replace(GOOD, dscp=((26, 2),)), STOP),
        (replace(GOOD, dscp=((26, 4),)), STOP),
        (replace(GOOD, dscp=((25, 3), (27, 3))), STOP),
        (PCP, STOP),
        (replace(GOOD, dscp=()), UNDECIDED),
    ],
)
def test_the_storage_dscp_gets_the_storage_priority(qos: Qos, outcome: Outcome) -> None:
    assert lossless.maps_to(qos, 26, 3).outcome is outcome
    assert lossless.maps_to(qos, None, 3).outcome is UNDECIDED
    assert lossless.maps_to(qos, 26, None).outcome is UNDECIDED


@pytest.mark.parametrize(
    "qos, outcome",
    [
        (GOOD, PASS),
        (replace(GOOD, tsa=((3, "vendor"), (6, "ets"))), STOP),
        (replace(GOOD, dscp=((26, 3), (48, 3)), tsa=((3, "strict"),)), STOP),  # strict, and behind the data
        (replace(GOOD, dscp=((26, 3),)), STOP),
        (PCP, STOP),
        (replace(GOOD, tsa=()), UNDECIDED),
        (replace(GOOD, classes=()), UNDECIDED),
        (replace(GOOD, dscp=()), UNDECIDED),
    ],
)
def test_congestion_notifications_are_served_first(qos: Qos, outcome: Outcome) -> None:
    assert lossless.serves_cnp_strictly(qos, 48, 3).outcome is outcome
    assert lossless.serves_cnp_strictly(qos, None, 3).outcome is UNDECIDED


def seen(*switches: EcnSwitch, **settings: int) -> RdmaQos:
    return RdmaQos(switches, {key.replace("__", "/"): value for key, value in settings.items()}, None, None, None, None)


NP, RP = EcnSwitch("np", 3, True), EcnSwitch("rp", 3, True)


@pytest.mark.parametrize(
    "dump, outcome",
    [
        (seen(NP, RP), PASS),
        (seen(replace(NP, on=False), RP), STOP),
        (seen(NP, replace(RP, on=False)), STOP),
        (seen(NP), UNDECIDED),
        (seen(replace(NP, priority=4), replace(RP, priority=4)), UNDECIDED),
        (seen(roce_np__cnp_dscp=48), UNDECIDED),
        (seen(cc_config__enable_cc=1, cc_config__tos_ecn=1), PASS),
        (seen(cc_config__enable_cc=0, cc_config__tos_ecn=1), STOP),
        (seen(cc_config__enable_cc=1, cc_config__tos_ecn=0), STOP),
        (seen(cc_config__enable_cc=1), UNDECIDED),
    ],
)
def test_both_sides_of_ecn_are_on(dump: RdmaQos, outcome: Outcome) -> None:
    assert lossless.ecn_as_agreed(dump, 3, True).outcome is outcome


def test_ecn_agreed_off_must_be_off_and_unagreed_is_undecided() -> None:
    assert lossless.ecn_as_agreed(seen(NP, RP), 3, False).outcome is STOP
    assert lossless.ecn_as_agreed(seen(replace(NP, on=False), replace(RP, on=False)), 3, False).outcome is PASS
    assert lossless.ecn_as_agreed(seen(NP, RP), None, True).outcome is UNDECIDED
    assert lossless.ecn_as_agreed(seen(NP, RP), 3, None).outcome is UNDECIDED


@pytest.mark.parametrize("name", ["roce_np__cnp_dscp", "cc_params__np_cnp_dscp", "cc_config__alt_vlan_dscp"])
def test_the_mark_of_congestion_notifications_is_found_in_every_driver(name: str) -> None:
    for value, outcome in ((48, PASS), (47, STOP), (49, STOP)):
        assert lossless.cnp_marked(seen(**{name: value}), 48).outcome is outcome
    assert lossless.cnp_marked(seen(NP, RP), 48).outcome is UNDECIDED
    assert lossless.cnp_marked(seen(**{name: 48}), None).outcome is UNDECIDED


def test_what_the_driver_does_not_show_may_be_declared_and_what_was_not_agreed_may_not() -> None:
    assert lossless.cnp_marked(seen(NP, RP), 48).declarable
    assert lossless.ecn_as_agreed(seen(NP), 3, True).declarable
    assert not lossless.cnp_marked(seen(NP, RP), None).declarable
    assert not lossless.ecn_as_agreed(seen(NP, RP), None, True).declarable


@pytest.mark.parametrize(
    "before, after, outcome",
    [(0, 0, PASS), (7, 7, PASS), (0, 1, STOP), (2, 1, UNDECIDED), (None, 0, UNDECIDED), (0, None, UNDECIDED)],
)
def test_pause_storms_count_by_difference(before: int | None, after: int | None, outcome: Outcome) -> None:
    first, second = (
        Counters((("tx_pause_storm_warning_events", 0), ("tx_pause_storm_error_events", value)), ())
        for value in (before, after)
    )
    interval = Interval(first, second, 4.0)
    assert losses.no_pause_storm(interval, "mlx5_core", 0).outcome is outcome
    assert losses.no_pause_storm(interval, "ionic", 0).outcome is UNDECIDED


def test_one_lossy_port_among_many_is_named_and_no_port_answers_for_another() -> None:
    ports = {f"node-{number:02d}": GOOD for number in range(1, 9)}
    assert equality.same_qos(ports, 26, 48).outcome is PASS
    verdict = equality.same_qos(ports | {"node-05": PCP}, 26, 48)
    assert verdict.outcome is STOP
    assert "node-05: trust pcp, 7 others dscp" in str(verdict.measured)
    assert "node-05: PFC none, 7 others 3" in str(verdict.measured)
    assert equality.same_qos({}, 26, 48).outcome is UNDECIDED


def test_other_tools_are_compared_by_what_becomes_of_traffic_not_by_their_tables() -> None:
    broadcom = Qos(
        "niccli", "dscp", (3,), ((26, 3), (48, 7)), ((3, 1), (7, 2)), ((0, "ets"), (1, "ets"), (2, "strict"))
    )
    assert equality.same_qos({"a": GOOD, "b": broadcom}, 26, 48).outcome is PASS
    assert equality.same_qos({"a": GOOD, "b": replace(broadcom, pfc=(4,))}, 26, 48).outcome is STOP
    assert equality.same_qos({"a": GOOD, "b": replace(GOOD, classes=((3, 4), (6, 6)))}, 26, 48).outcome is STOP


def test_dcqcn_figures_are_equal_within_one_driver() -> None:
    mine, other = seen(roce_rp__rpg_ai_rate=5), seen(roce_rp__rpg_ai_rate=50)
    assert equality.same_dcqcn({"a": ("mlx5_core", mine), "b": ("mlx5_core", mine)}).outcome is PASS
    assert equality.same_dcqcn({"a": ("mlx5_core", mine), "b": ("mlx5_core", other)}).outcome is STOP
    broadcom = seen(cc_config__rtt=40)
    assert equality.same_dcqcn({"a": ("mlx5_core", mine), "b": ("bnxt_en", broadcom)}).outcome is PASS
    assert equality.same_dcqcn({"a": ("mlx5_core", mine), "b": ("mlx5_core", seen(NP))}).outcome is UNDECIDED
    assert equality.same_dcqcn({}).outcome is UNDECIDED


def test_a_figure_shown_on_one_port_alone_cannot_be_compared_but_a_difference_beside_it_stops() -> None:
    mine = seen(roce_rp__rpg_ai_rate=5)
    newer = seen(roce_rp__rpg_ai_rate=5, roce_rp__rpg_max_rate=0)
    wrong = seen(roce_rp__rpg_ai_rate=50, roce_rp__rpg_max_rate=0)
    assert equality.same_dcqcn({"a": ("mlx5_core", mine), "b": ("mlx5_core", newer)}).outcome is UNDECIDED
    assert equality.same_dcqcn({"a": ("mlx5_core", mine), "b": ("mlx5_core", wrong)}).outcome is STOP


def npu(*enabled: tuple[int, ...], classes: tuple[tuple[int, int], ...] = ((34, 1),)) -> tuple[hccn_tool.Reply, ...]:
    flows = [hccn_tool.Reply(device, "pfc", hccn_tool.Pfc(bits)) for device, bits in enumerate(enabled)]
    maps = [hccn_tool.Reply(device, "dscp_to_tc", hccn_tool.DscpToTc(classes)) for device in range(len(enabled))]
    return (*flows, *maps)


@pytest.mark.parametrize(
    "enabled, outcome",
    [(((4,), (4,)), PASS), (((4,), (3,)), STOP), (((), ()), STOP), (((3, 4), (3, 4)), STOP), (((4,),), UNDECIDED)],
)
def test_npu_ports_have_pfc_on_one_and_the_same_priority(
    enabled: tuple[tuple[int, ...], ...], outcome: Outcome
) -> None:
    assert npu_ports.same_npu_qos(npu(*enabled), range(2)).outcome is outcome


def test_an_npu_with_another_dscp_map_is_named() -> None:
    replies = (*npu((4,), (4,))[:3], hccn_tool.Reply(1, "dscp_to_tc", hccn_tool.DscpToTc(((34, 0),))))
    verdict = npu_ports.same_npu_qos(replies, range(2))
    assert verdict.outcome is STOP
    assert "NPU 1: class of DSCP 34 0" in str(verdict.measured)
