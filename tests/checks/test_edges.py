"""Ways out of a criterion that only a mutated bound or a dropped condition would miss: each once, with its neighbour."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.fabric import criteria as fabric
from checks.nic import criteria as nic
from checks.nic import optics, steadiness
from checks.nic.facts import Link
from checks.nvme import criteria as nvme
from checks.parsers.ethtool_show_fec import Fec
from checks.parsers.hccn_tool import DscpToTc
from checks.parsers.lldpctl import Neighbour
from checks.parsers.lspci import PciEndpoint
from checks.parsers.ping import Echoes
from checks.parsers.sysfs_net import Lanes
from checks.parsers.sysfs_nvme import NvmeTree
from checks.parsers.wipefs import Signature
from checks.pcie import criteria as pcie
from checks.raid import mounted
from checks.roce import criteria as roce
from checks.roce import equality, lossless, npu
from checks.verdict import Outcome
from tests.checks import test_fabric_criteria as of_fabric
from tests.checks import test_nic_criteria as of_nic
from tests.checks import test_nic_optics as of_optics
from tests.checks import test_nic_steadiness as of_steady
from tests.checks import test_nvme_criteria as of_nvme
from tests.checks import test_raid_criteria as of_raid
from tests.checks import test_roce_criteria as of_roce
from tests.checks import test_roce_lossless as of_lossless

PASS, STOP, UNDECIDED = Outcome
TREE, S3, SIZE = of_nvme.ARRAY, of_nvme.S3, of_nvme.SIZE


def one(**change: object) -> NvmeTree:
    """Return the array's tree with its third disk changed."""
    disks = [replace(disk, **change) if disk.serial == S3 else disk for disk in TREE.controllers]
    return replace(TREE, controllers=tuple(disks))


def test_a_disk_in_a_state_that_nobody_knows_is_undecided() -> None:
    assert nvme.present(one(state="suspended"), S3).outcome is UNDECIDED
    assert nvme.present(one(state="resetting"), S3).outcome is STOP


def test_a_local_controller_without_serial_is_not_passed_over() -> None:
    assert nvme.nothing_unordered(one(serial=None), of_nvme.SERIALS).outcome is UNDECIDED


def test_firmware_and_slot_of_a_disk_that_is_and_is_not_there() -> None:
    disk = TREE.controller(S3)
    assert disk is not None
    assert disk.firmware is not None
    assert disk.address is not None
    assert nvme.firmware(TREE, S3, disk.firmware).outcome is PASS
    assert nvme.slot(TREE, S3, disk.address).outcome is PASS
    assert nvme.firmware(TREE, "S-X", disk.firmware).outcome is UNDECIDED
    assert nvme.slot(TREE, "S-X", disk.address).outcome is UNDECIDED


def test_capacity_of_what_is_absent_empty_or_silent() -> None:
    assert nvme.capacity(TREE, "S-X", SIZE, 0.1).outcome is UNDECIDED
    bare = replace(one(namespaces=()), subsystems=())
    assert nvme.capacity(bare, S3, SIZE, 0.1).outcome is STOP
    disk = TREE.controller(S3)
    assert disk is not None
    silent = tuple(replace(space, sectors=None) for space in TREE.namespaces(disk))
    assert nvme.capacity(replace(one(namespaces=silent), subsystems=()), S3, SIZE, 0.1).outcome is UNDECIDED


def test_capacity_on_its_bound() -> None:
    assert nvme.capacity(TREE, S3, SIZE * 2, 50).outcome is PASS
    assert nvme.capacity(TREE, S3, SIZE * 2 + 2, 50).outcome is STOP


def test_wear_without_an_ordered_capacity_is_undecided() -> None:
    assert nvme.new(of_nvme.HEALTH, 0, 1, 200, 1.0).outcome is UNDECIDED
    assert nvme.new(replace(of_nvme.HEALTH, written_bytes=0), 1, 1, 200, 1.0).outcome is PASS


def test_leftovers_of_another_disk_are_not_this_one_s() -> None:
    assert nvme.no_leftover(TREE, "S-X", (), (), (), (), ()).outcome is UNDECIDED
    assert nvme.no_leftover(TREE, S3, (), (), (), (), ()).outcome is UNDECIDED  # lsblk lists nothing
    disk = TREE.controller(S3)
    assert disk is not None
    (space,) = TREE.namespaces(disk)
    here = (of_nvme.block(space.name),)
    assert (
        nvme.no_leftover(TREE, S3, (Signature("/dev/nvme9n9", "0x0", "xfs", None),), here, (), (), ()).outcome is PASS
    )
    assert (
        nvme.no_leftover(TREE, S3, (Signature(f"/dev/{space.name}", "0x0", "xfs", None),), here, (), (), ()).outcome
        is STOP
    )


@pytest.mark.parametrize(
    ("device", "same"),
    [("/dev/nvme0n1", True), ("nvme0n1p12", True), ("nvme0n11", False), ("/dev/nvme0n1p", False), ("xnvme0n1", False)],
)
def test_a_disk_and_its_partitions_are_one(device: str, same: bool) -> None:
    assert nvme.same_disk("nvme0n1", device) is same


def test_shares_of_nothing_and_more_than_all_are_not_told() -> None:
    assert mounted.space_free([replace(of_raid.SPACE, size=0)], "/mnt/fx100", 10).outcome is UNDECIDED
    assert mounted.space_free([replace(of_raid.SPACE, available=1001)], "/mnt/fx100", 10).outcome is UNDECIDED
    assert mounted.space_free([replace(of_raid.SPACE, available=1000)], "/mnt/fx100", 10).outcome is PASS
    assert mounted.space_free([replace(of_raid.SPACE, available=0)], "/mnt/fx100", 10).outcome is STOP
    assert mounted.space_free([], "/mnt/fx100", 10).outcome is UNDECIDED
    assert mounted.inodes_free([], "/mnt/fx100", 10).outcome is UNDECIDED
    assert mounted.large_enough([of_raid.SPACE], "/mnt/fx100", 1000, 100).outcome is PASS
    assert mounted.large_enough([of_raid.SPACE], "/mnt/fx100", 1001, 100).outcome is STOP


def test_one_namespace_without_size_among_others_stops() -> None:
    spaces = (of_fabric.space(), of_fabric.space("nvme1n2", 2, sectors=0))
    assert fabric.namespaces_visible(of_fabric.of(of_fabric.path(), spaces=spaces), 2).outcome is STOP


def test_an_optimized_path_beside_one_in_a_strange_state_is_enough() -> None:
    assert fabric.every_namespace_optimized(of_fabric.of(spaces=(of_fabric.space(),))).outcome is UNDECIDED


def echoes(**change: object) -> Echoes:
    return replace(Echoes("10.0.0.1", 8972, 3, 3, 0, 0.1, None, None, None), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("small", "full", "wanted"),
    [
        (echoes(), echoes(), PASS),
        (echoes(), echoes(received=2), STOP),
        (echoes(), echoes(received=0), STOP),
        (echoes(received=0), echoes(received=0), UNDECIDED),
        (echoes(received=0), echoes(), PASS),  # the echo of small ones may be limited; the large ones came back
        (echoes(), echoes(sent=None), UNDECIDED),
        (echoes(), echoes(received=None), UNDECIDED),
        (echoes(), echoes(sent=0, received=0), STOP),
        (echoes(), echoes(local_mtu=9000), PASS),
        (echoes(), echoes(local_mtu=8999), STOP),
        (echoes(), echoes(local_mtu=9000, remote_mtu=1500), STOP),
    ],
)
def test_echoes(small: Echoes, full: Echoes, wanted: Outcome) -> None:
    assert nic.packets_pass([("10.0.0.1", small, full)], 9000, every=True).outcome is wanted


def test_a_slot_with_a_link_of_unknown_width() -> None:
    assert nic.slot_carries([], 100 * 10**9, 1.2).outcome is UNDECIDED
    assert nic.slot_carries([Lanes(None, None)], 100 * 10**9, 1.2).outcome is UNDECIDED
    assert nic.trained([Lanes(16.0, None)], 4, 16).outcome is UNDECIDED
    assert nic.trained([], 4, 16).outcome is UNDECIDED
    assert nic.trained([Lanes(16.0, 16)], 4, 16).outcome is PASS


@pytest.mark.parametrize(
    ("heard", "port", "wanted"),
    [
        ([("leaf-1", "Eth1")], None, PASS),
        ([("leaf-2", "Eth1")], None, STOP),
        ([("leaf-2", None)], None, STOP),
        ([("leaf-2", None)], "Eth1", UNDECIDED),
        ([(None, "Eth1"), ("leaf-2", "Eth1")], "Eth1", UNDECIDED),
        ([], "Eth1", UNDECIDED),
    ],
)
def test_neighbours(heard: list[tuple[str | None, str | None]], port: str | None, wanted: Outcome) -> None:
    found = [Neighbour("ens1", system, None, name, None) for system, name in heard]
    assert nic.cabled_to(found, "ens1", "leaf-1", port).outcome is wanted


def test_addresses_that_are_none() -> None:
    odd = replace(of_nic.ADDRESS, local="no address")
    assert nic.addressed([odd], [of_nic.port()], "ens1f0np0", "192.168.100.11").outcome is STOP
    assert nic.addressed([of_nic.ADDRESS], [of_nic.port()], "ens1f0np0", None).outcome is UNDECIDED
    assert nic.addressed([of_nic.ADDRESS], [of_nic.port()], "ens1f0np0", "192.168.100.11").outcome is PASS


def test_speed_is_kept_in_gigabits() -> None:
    verdict = nic.runs_at(Link(True, 100_000, "full", None), 100 * 10**9)
    assert [(one.value, one.unit) for one in verdict.quantities] == [(100, "Gb/s")]


def test_optics_without_limits_or_with_temperatures_that_cannot_be() -> None:
    good = of_optics.with_limits()
    assert optics.levels_within(good, 2).outcome is PASS
    assert optics.levels_within(of_optics.with_limits(tx=None), 2).outcome is UNDECIDED
    assert optics.cool(good, 5).outcome is PASS
    assert optics.cool(replace(good, temperature_c=None), 5).outcome is UNDECIDED
    assert optics.cool(replace(good, temperature_c=0.0), 5).outcome is UNDECIDED
    assert optics.cool(replace(good, temperature_c=300.0), 5).outcome is UNDECIDED


def test_what_a_driver_does_not_count_is_not_still() -> None:
    device = of_steady.device()
    assert steadiness.no_flaps(device, replace(device, carrier_changes=None), 2).outcome is UNDECIDED
    fec = Fec("ens1f0np0", (), ("RS",), None, None)
    assert steadiness.no_uncorrectable_blocks(fec, fec, 2).outcome is UNDECIDED


def test_rdma_ports_that_are_absent_or_bound_to_nothing() -> None:
    assert roce.bound_to((), "mlx5_0", 1, "ens1f0np0").outcome is STOP
    assert roce.bound_to((replace(of_roce.GOOD, netdev=None),), "mlx5_0", 1, "ens1f0np0").outcome is UNDECIDED
    assert roce.ethernet_at((), "mlx5_0", 1, 100 * 10**9).outcome is UNDECIDED
    assert roce.one_storage_gid((), "mlx5_0", 1, of_roce.ADDRESS, "ens1f0np0", 1).outcome is UNDECIDED


def test_a_storage_gid_on_another_interface_besides_stops() -> None:
    assert of_roce.gids(of_roce.slot(3)).outcome is PASS
    assert of_roce.gids(of_roce.slot(3, netdev="ens2")).outcome is STOP


def test_a_traffic_class_that_was_never_set_where_it_can_be_stops() -> None:
    assert lossless.offers_traffic_class(of_lossless.seen()) is False
    assert lossless.offers_traffic_class(replace(of_lossless.seen(), traffic_class=106)) is True
    named = replace(of_lossless.seen(), settings={"roce_np/cnp_dscp": 48, "cc_params/x": 1})
    assert lossless.offers_traffic_class(named) is True
    assert lossless.offers_traffic_class(replace(named, settings={"cc_params/x": 1})) is False
    assert lossless.serves_cnp_strictly(of_lossless.GOOD, 48, None).outcome is UNDECIDED


def test_ports_whose_figures_are_silent_cannot_be_compared() -> None:
    silent = replace(of_lossless.seen(), settings={})
    assert equality.same_dcqcn({"a": ("mlx5_core", silent), "b": ("mlx5_core", silent)}).outcome is UNDECIDED


def test_an_npu_that_tells_only_one_of_the_two_is_undecided() -> None:
    replies = of_lossless.npu((3,), (3,))
    assert npu.same_npu_qos(replies, range(2)).outcome is PASS
    fewer = tuple(one for one in replies if not (isinstance(one.fact, DscpToTc) and one.device == 1))
    assert npu.same_npu_qos(fewer, range(2)).outcome is UNDECIDED
    assert npu.same_npu_qos((), ()).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("payload", "read", "wanted"),
    [(None, 512, UNDECIDED), (256, None, UNDECIDED), (256, 512, PASS), (255, 512, STOP), (256, 511, STOP)],
)
def test_packet_sizes_that_lspci_does_not_give(payload: int | None, read: int | None, wanted: Outcome) -> None:
    found = PciEndpoint("0000:41:00.0", None, None, None, None, None, (), payload, read, None)
    assert pcie.payload([found], "0000:41:00.0", 256, 512).outcome is wanted
    assert pcie.payload([found], None, 256, 512).outcome is UNDECIDED
