"""Disks at the bound, one step below, one above, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.nvme import criteria, health
from checks.parsers import lsblk, sysfs_nvme, wipefs
from checks.parsers.findmnt import Mounted
from checks.parsers.lsblk import Block
from checks.parsers.nvme_id_ctrl import IdCtrl
from checks.parsers.nvme_id_ns import IdNs
from checks.parsers.nvme_self_test_log import SelfTest, SelfTestLog
from checks.parsers.sysfs_nvme import Namespace
from checks.parsers.wipefs import Signature
from checks.verdict import Outcome, Verdict

SAMPLES = Path(__file__).parents[1] / "parsers"
ARRAY = sysfs_nvme.parse((SAMPLES / "sysfs-nvme" / "6.8--array-four-disks.txt").read_text())
NONE = sysfs_nvme.parse((SAMPLES / "sysfs-nvme" / "6.8--no-controllers.txt").read_text())
TWICE = sysfs_nvme.parse((SAMPLES / "sysfs-nvme" / "6.8--one-serial-twice.txt").read_text())
FELL = sysfs_nvme.parse((SAMPLES / "sysfs-nvme" / "6.8--disk-fell-off-the-bus.txt").read_text())
S3 = "S7Y0NX0W100003"
SERIALS = [f"S7Y0NX0W10000{n}" for n in range(1, 5)]
SIZE = 3840755982336
HEALTH = health.Health(0, 34, 100, 10, 0, 10**9, 36, 4, 0, 0)
IDENTITY = IdCtrl(S3, "M", "F", 343, 358, SIZE, 0, 95)
PASS, STOP, UNDECIDED = Outcome


def outcome(verdict: Verdict) -> Outcome:
    return verdict.outcome


def test_a_host_without_controllers_misses_its_disk_for_certain() -> None:
    assert criteria.present(NONE, S3).outcome is STOP
    assert criteria.model(NONE, S3, "M").outcome is UNDECIDED


def test_a_live_disk_is_present_and_a_dead_one_is_not() -> None:
    assert criteria.present(ARRAY, S3).outcome is PASS
    assert criteria.present(FELL, "PHLN00000001").outcome is STOP


def test_an_ambiguous_serial_is_never_present() -> None:
    assert criteria.present(TWICE, "S-A").outcome is UNDECIDED


@pytest.mark.parametrize(
    "ordered, wanted", [(SERIALS, PASS), (SERIALS[:3], STOP), ([*SERIALS, "S-X"], STOP), ([*SERIALS[:3], "S-X"], STOP)]
)
def test_exactly_the_ordered_disks(ordered: list[str], wanted: Outcome) -> None:
    assert criteria.nothing_unordered(ARRAY, ordered).outcome is wanted


@pytest.mark.parametrize(
    "ordered, wanted", [(SIZE, PASS), (3_840_000_000_000, PASS), (3_845_000_000_000, STOP), (7_680_000_000_000, STOP)]
)
def test_capacity_within_a_thousandth(ordered: int, wanted: Outcome) -> None:
    assert criteria.capacity(ARRAY, S3, ordered, 0.1).outcome is wanted


@pytest.mark.parametrize(
    "identity, wanted",
    [
        (IDENTITY, PASS),
        (replace(IDENTITY, unallocated_bytes=1), STOP),
        (replace(IDENTITY, total_bytes=0), UNDECIDED),
        (replace(IDENTITY, total_bytes=0, oacs=0b10111), PASS),
    ],
)
def test_nothing_unallocated(identity: IdCtrl, wanted: Outcome) -> None:
    assert criteria.wholly_allocated(identity, 0).outcome is wanted


@pytest.mark.parametrize("size, metadata, wanted", [(4096, 0, PASS), (512, 0, STOP), (4096, 8, STOP), (8192, 0, STOP)])
def test_block_size(size: int, metadata: int, wanted: Outcome) -> None:
    assert criteria.block_size(ARRAY, S3, IdNs(size, metadata, 1, 1), 4096).outcome is wanted


def test_the_format_of_one_namespace_is_not_the_format_of_the_disk() -> None:
    one = ARRAY.controller(S3)
    assert one is not None
    shared = ARRAY.subsystem(one.subsysnqn or "")
    assert shared is not None
    second = replace(shared, namespaces=(*shared.namespaces, Namespace("nvme2n2", 2, 8, None, None)))
    others = tuple(second if sub == shared else sub for sub in ARRAY.subsystems)
    assert criteria.block_size(replace(ARRAY, subsystems=others), S3, IdNs(4096, 0, 1, 1), 4096).outcome is UNDECIDED
    assert criteria.block_size(NONE, S3, IdNs(4096, 0, 1, 1), 4096).outcome is UNDECIDED


@pytest.mark.parametrize("warning, wanted", [(0, PASS), (1, STOP), (8, STOP), (128, STOP)])
def test_any_warning_bit_stops(warning: int, wanted: Outcome) -> None:
    assert criteria.no_warning(replace(HEALTH, critical_warning=warning)).outcome is wanted


@pytest.mark.parametrize("errors, wanted", [(0, PASS), (1, STOP)])
def test_media_errors(errors: int, wanted: Outcome) -> None:
    assert criteria.no_media_errors(replace(HEALTH, media_errors=errors), 0).outcome is wanted


@pytest.mark.parametrize("counted, wanted", [(0, PASS), (1, STOP), (2**32 - 1, UNDECIDED), (2**128 - 1, UNDECIDED)])
def test_all_bits_set_is_no_count(counted: int, wanted: Outcome) -> None:
    assert criteria.no_media_errors(replace(HEALTH, media_errors=counted), 0).outcome is wanted
    assert criteria.few_unsafe_shutdowns(replace(HEALTH, unsafe_shutdowns=counted), 0).outcome is wanted


@pytest.mark.parametrize(
    "change, wanted",
    [
        ({"power_on_hours": 175_321}, UNDECIDED),  # minutes
        ({"percent_used": 256}, UNDECIDED),
        ({"percent_used": 2, "power_on_hours": 10**9}, STOP),  # worn, whatever its hours are counted in
        ({"written_bytes": 37 * 3600 * 32 * 10**9}, STOP),
        ({"written_bytes": 37 * 3600 * 32 * 10**9 + 1}, UNDECIDED),  # more than a link carries in that time
        ({"power_on_hours": 0, "written_bytes": 10**9}, PASS),
    ],
)
def test_what_firmware_counts_in_other_units_says_nothing_of_wear(change: dict[str, int], wanted: Outcome) -> None:
    assert criteria.new(replace(HEALTH, **change), SIZE, 1, 200, 1.0).outcome is wanted


@pytest.mark.parametrize(
    "celsius, warning, wanted",
    [
        (310, 343, UNDECIDED),  # Kelvin called Celsius
        (-236, 343, UNDECIDED),  # Celsius called Kelvin
        (0, 343, UNDECIDED),
        (1, 343, PASS),
        (149, 343, STOP),
        (150, 343, UNDECIDED),
        (34, 70, UNDECIDED),  # a warning limit in Celsius
        (34, 500, UNDECIDED),
        (34, 343, PASS),
    ],
)
def test_a_temperature_that_cannot_be_is_not_told(celsius: int, warning: int, wanted: Outcome) -> None:
    verdict = criteria.cool(replace(HEALTH, celsius=celsius), replace(IDENTITY, warning_kelvin=warning), 15, 70)
    assert verdict.outcome is wanted


def test_a_host_whose_nvme_driver_is_not_loaded_has_not_been_looked_at() -> None:
    unloaded = replace(NONE, multipath=None)
    assert criteria.nothing_unordered(unloaded, []).outcome is UNDECIDED
    assert criteria.nothing_unordered(unloaded, [S3]).outcome is STOP
    assert criteria.nothing_unordered(replace(NONE, multipath=True), []).outcome is PASS


@pytest.mark.parametrize("spare, wanted", [(100, PASS), (99, PASS), (98, STOP), (101, UNDECIDED), (255, UNDECIDED)])
def test_spare(spare: int, wanted: Outcome) -> None:
    assert criteria.spare_whole(replace(HEALTH, available_spare=spare), 99).outcome is wanted


@pytest.mark.parametrize("spare, wanted", [(11, PASS), (10, STOP), (0, STOP), (255, UNDECIDED)])
def test_spare_against_its_own_threshold(spare: int, wanted: Outcome) -> None:
    assert criteria.spare_above_threshold(replace(HEALTH, available_spare=spare)).outcome is wanted


@pytest.mark.parametrize(
    "change, wanted",
    [
        ({}, PASS),
        ({"percent_used": 1, "power_on_hours": 200, "written_bytes": SIZE}, PASS),
        ({"percent_used": 2}, STOP),
        ({"power_on_hours": 201}, STOP),
        ({"written_bytes": SIZE + 1}, STOP),
    ],
)
def test_new(change: dict[str, int], wanted: Outcome) -> None:
    assert criteria.new(replace(HEALTH, **change), SIZE, 1, 200, 1.0).outcome is wanted


@pytest.mark.parametrize(
    "celsius, warning, wanted",
    [(54, 343, PASS), (55, 343, STOP), (54, None, PASS), (55, None, STOP), (None, 343, UNDECIDED), (64, 353, PASS)],
)
def test_cool_at_idle_with_kelvin_limits(celsius: int | None, warning: int | None, wanted: Outcome) -> None:
    verdict = criteria.cool(replace(HEALTH, celsius=celsius), replace(IDENTITY, warning_kelvin=warning), 15, 70)
    assert verdict.outcome is wanted


def test_kelvin_of_nvme_and_celsius_of_smartctl_agree() -> None:
    log = (SAMPLES / "nvme-smart-log" / "2.3-json-int--healthy.txt").read_text()
    assert health.health_by_nvme(log).celsius == 37
    log = (SAMPLES / "smartctl" / "7.0-json--nvme-media-errors-7.txt").read_text()
    assert health.health_by_smartctl(log).celsius == 35


def test_a_disk_that_calls_itself_passed_still_stops() -> None:
    log = (SAMPLES / "smartctl" / "7.1-json--nvme-spare-below-threshold.txt").read_text()
    assert criteria.spare_above_threshold(health.health_by_smartctl(log)).outcome is STOP


@pytest.mark.parametrize("result, wanted", [(0, PASS), (7, STOP), (5, STOP), (1, UNDECIDED), (9, UNDECIDED)])
def test_self_test(result: int, wanted: Outcome) -> None:
    log = SelfTestLog(0, 0, (SelfTest(result, 1, 12), SelfTest(0, 1, 3)))
    assert criteria.self_test_passed(log).outcome is wanted


def test_a_self_test_never_run_or_running_is_undecided() -> None:
    assert criteria.self_test_passed(SelfTestLog(0, 0, ())).outcome is UNDECIDED
    assert criteria.self_test_passed(SelfTestLog(1, 40, (SelfTest(0, 1, 3),))).outcome is UNDECIDED


def block(
    name: str,
    fstype: str | None = None,
    kind: str = "disk",
    mounts: tuple[str, ...] = (),
    children: tuple[str, ...] = (),
) -> Block:
    return Block(name, kind, SIZE, fstype, mounts, (), children)


def leftover(
    signatures: list[Signature], blocks: list[Block], expected: set[str], mounted: tuple[Mounted, ...] = ()
) -> Outcome:
    return criteria.no_leftover(ARRAY, S3, signatures, blocks, mounted, expected, ["/mnt/nvme0"]).outcome


@pytest.mark.parametrize("source", ["/dev/nvme2n1p1", "/dev/nvme2n1", "/dev/mapper/vg-lv"])
def test_a_mount_that_an_old_lsblk_leaves_out_is_found_in_the_table_of_mounts(source: str) -> None:
    blocks = [
        block("nvme2n1", "xfs", mounts=("/mnt/nvme0",), children=("nvme2n1p1",)),
        block("nvme2n1p1", kind="part", children=("vg-lv",)),
        block("vg-lv", kind="lvm"),
    ]
    ordered = Mounted("/mnt/nvme0", "/dev/nvme2n1", None, "xfs", ())
    other = Mounted("/elsewhere", "/dev/nvme3n1", None, "xfs", ())
    hidden = Mounted("/var/lib/docker", source, None, "xfs", ())
    assert leftover([], blocks, {"xfs"}, (ordered, other)) is PASS
    assert leftover([], blocks, {"xfs"}, (ordered, other, hidden)) is STOP


def test_leftovers() -> None:
    member = Signature("nvme2n1", "0x1000", "linux_raid_member", None)
    gpt = Signature("nvme2n1", "0x200", "gpt", None)
    raid = [block("nvme2n1", "linux_raid_member", children=("md0",)), block("md0", kind="raid0")]
    assert leftover([], [block("nvme2n1")], set()) is PASS
    assert leftover([member], raid, {"linux_raid_member"}) is PASS
    assert leftover([member], raid, set()) is STOP
    assert leftover([member, gpt], raid, {"linux_raid_member"}) is STOP
    assert leftover([], [block("nvme2n1", "xfs", mounts=("/mnt/nvme0",))], {"xfs"}) is PASS
    assert leftover([], [block("nvme2n1", "xfs", mounts=("/mnt/nvme0", "/var"))], {"xfs"}) is STOP
    assert leftover([], [block("other")], {"xfs"}) is UNDECIDED


def test_partitions_that_are_members_are_as_good_as_whole_disks() -> None:
    gpt = Signature("nvme2n1", "0x200", "gpt", None)
    parts = [block("nvme2n1", children=("nvme2n1p1",)), block("nvme2n1p1", "linux_raid_member", "part")]
    assert leftover([gpt], parts, {"linux_raid_member"}) is PASS
    assert leftover([gpt], [block("nvme2n1")], {"linux_raid_member"}) is STOP


def test_the_clean_answer_is_read_from_wipefs_and_lsblk() -> None:
    clean = wipefs.parse((SAMPLES / "wipefs" / "2.38-json--clean.txt").read_text())
    assert clean == ()
    names = {one.name for one in lsblk.parse((SAMPLES / "lsblk" / "2.37-json--raid0-of-8-nvme.txt").read_text())}
    assert len([name for name in names if name == "md0"]) == 1
