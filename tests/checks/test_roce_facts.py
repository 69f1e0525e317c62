"""One shape of facts whichever tool told them, and refusals where joining them would guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.probe import NotOffered, UnreadableOutput
from checks.roce import facts, probes, treatment

DATA = Path(__file__).parent.parent / "parsers"
DCB = tuple(
    (DATA / name).read_text()
    for name in ("dcb-pfc/6.1--priority-3.txt", "dcb-app/6.1--all-dscp.txt", "dcb-ets/6.1--six-strict.txt")
)


def test_sysfs_rdma_and_devinfo_tell_the_same_port() -> None:
    port = facts.find(
        facts.ports_from_sysfs((DATA / "sysfs-infiniband/6.8--mlx5-roce-gids.txt").read_text()), "mlx5_0", 1
    )
    link = facts.find(facts.ports_from_rdma((DATA / "rdma/6.1--mlx5-active.txt").read_text()), "mlx5_0", 1)
    info = facts.find(facts.ports_from_devinfo((DATA / "ibv_devinfo/39--mlx5-mtu-4096.txt").read_text()), "mlx5_0", 1)
    assert port is not None
    assert link is not None
    assert info is not None
    assert (port.state, port.physical_state, port.netdev) == (link.state, link.physical_state, link.netdev)
    assert (port.gbps, port.width, port.link_layer) == (100.0, "4X EDR", info.link_layer)
    assert info.state == "ACTIVE"
    assert info.active_mtu == 4096


def test_a_lane_of_25_gigabit_is_read_as_25() -> None:
    port = facts.find(
        facts.ports_from_sysfs((DATA / "sysfs-infiniband/mlx5_0--25g-1x-with-retransmits.txt").read_text()), "mlx5_0", 1
    )
    assert port
    assert (port.gbps, port.width, port.link_layer, port.netdev) == (25.0, "1X EDR", "InfiniBand", None)


def test_the_kernel_and_the_vendor_tell_the_same_qos() -> None:
    mine = treatment.qos_from_mlnx((DATA / "mlnx_qos/ofed23.10--pfc-3-cnp-strict.txt").read_text())
    kernel = treatment.qos_from_dcb("".join(DCB))
    assert (mine.trust, mine.pfc, mine.dscp, mine.classes) == (kernel.trust, kernel.pfc, kernel.dscp, kernel.classes)
    assert dict(mine.tsa) == dict(kernel.tsa)
    assert mine.scheduling_of(6) == "strict"
    assert mine.scheduling_of(8) is None


def test_a_port_without_dscp_entries_trusts_pcp() -> None:
    assert treatment.qos_from_dcb(DCB[0] + "{}\n" + DCB[2]).trust == "pcp"
    assert treatment.qos_from_niccli((DATA / "niccli/230--minimal.txt").read_text()).trust == "pcp"
    assert treatment.qos_from_niccli((DATA / "niccli/230--pfc-3-dscp-26.txt").read_text()).priority_of(26) == 3


@pytest.mark.parametrize("text", ["", "\n", DCB[0], DCB[0] + DCB[1], DCB[1] + DCB[0] + DCB[2], "".join(DCB) + DCB[0]])
def test_fewer_more_or_misplaced_dcb_answers_are_refused(text: str) -> None:
    with pytest.raises(UnreadableOutput):
        treatment.qos_from_dcb(text)


def test_no_ecn_file_at_all_is_what_the_driver_does_not_offer_and_garbage_is_not() -> None:
    with pytest.raises(NotOffered):
        treatment.congestion("")
    with pytest.raises(UnreadableOutput) as refusal:
        treatment.congestion("Segmentation fault\n")
    assert not isinstance(refusal.value, NotOffered)


def test_every_driver_is_asked_by_its_own_tool_and_all_by_the_kernel() -> None:
    assert probes.qos("eth0", "mlx5_core", None).tool == "mlnx_qos"
    assert probes.qos("eth0", "bnxt_en", "0000:c1:00.0").command() == "niccli --dev 0000:c1:00.0 qos --ets --show"
    for driver in ("bnxt_en", "ionic", "hns3", "irdma"):
        assert probes.qos("eth0", driver, None) == probes.kernel_qos("eth0")
    assert probes.kernel_qos("eth0").tool == "dcb"
    assert "$(" not in probes.kernel_qos("$(reboot)").command().replace("'$(reboot)'", "")


def test_without_a_pci_address_no_debug_folder_is_asked_for() -> None:
    assert "debug" not in probes.ecn("eth0", None).command() + probes.congestion("eth0", "mlx5_0", 1, None).command()
