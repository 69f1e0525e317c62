"""Arrays and mounts at the bound, one step beside it, and with the fact missing."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from checks.parsers import df, mdadm_detail, mdstat, readlink, stat_f, sysfs_nvme, xfs_info
from checks.parsers.findmnt import Mounted
from checks.parsers.sysfs_md import MdArray, MdArrays, MdMember
from checks.raid import criteria, mounted, probes
from checks.raid.facts import Source
from checks.verdict import Outcome

SAMPLES = Path(__file__).parents[1] / "parsers"
TREE = sysfs_nvme.parse((SAMPLES / "sysfs-nvme" / "6.8--array-four-disks.txt").read_text())
NODE = sysfs_nvme.parse((SAMPLES / "sysfs-nvme" / "6.8--node-disk-and-fabrics.txt").read_text())
CROSS = sysfs_nvme.parse((SAMPLES / "sysfs-nvme" / "6.8--heads-named-after-subsystem.txt").read_text())
NQN = "nqn.2024-03.example.kvarray:fx100-a"
SERIALS = [f"S7Y0NX0W10000{n}" for n in range(1, 5)]
MEMBERS = tuple(MdMember(f"nvme{n}n1", n, ("in_sync",), 0) for n in range(4))
ARRAY = MdArray("md0", "clean", "raid0", 4, 524288, None, 30004846592, MEMBERS)
NO_ARRAYS = MdArrays("6.8", ())
PASS, STOP, UNDECIDED = Outcome


def host(**change: object) -> MdArrays:
    return MdArrays("6.8", (replace(ARRAY, **change),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "state, wanted",
    [
        ("clean", PASS),
        ("active", PASS),
        ("broken", STOP),
        ("inactive", STOP),
        ("readonly", STOP),
        ("dreaming", UNDECIDED),
    ],
)
def test_running(state: str, wanted: Outcome) -> None:
    assert criteria.running(host(state=state), "md0").outcome is wanted


def test_an_absent_array_stops_once_and_leaves_the_rest_undecided() -> None:
    assert criteria.running(NO_ARRAYS, "md0").outcome is STOP
    assert criteria.level(NO_ARRAYS, "md0", "raid0").outcome is UNDECIDED
    assert criteria.whole(NO_ARRAYS, "md0", 4).outcome is UNDECIDED
    assert criteria.chunk(NO_ARRAYS, "md0", 524288).outcome is UNDECIDED
    assert criteria.ordered_disks(NO_ARRAYS, "md0", TREE, SERIALS).outcome is UNDECIDED
    assert criteria.risk_named(NO_ARRAYS, "md0").outcome is UNDECIDED


@pytest.mark.parametrize("ordered, wanted", [(4, PASS), (3, STOP), (5, STOP)])
def test_number_of_members(ordered: int, wanted: Outcome) -> None:
    assert criteria.whole(host(), "md0", ordered).outcome is wanted


@pytest.mark.parametrize(
    "state, wanted",
    [("clean", PASS), ("active", PASS), ("broken", UNDECIDED), ("inactive", UNDECIDED), ("clear", UNDECIDED)],
)
def test_members_of_an_array_that_does_not_run_say_nothing(state: str, wanted: Outcome) -> None:
    array = replace(host().arrays[0], state=state)
    assert criteria.whole(replace(host(), arrays=(array,)), "md0", 4).outcome is wanted
    assert criteria.whole(replace(host(), arrays=(array,)), "md0", 3).outcome is STOP


def test_members_that_are_not_well() -> None:
    faulty = (*MEMBERS[:3], replace(MEMBERS[3], states=("faulty",)))
    both = (*MEMBERS[:3], replace(MEMBERS[3], states=("in_sync", "faulty")))
    assert criteria.whole(host(members=faulty), "md0", 4).outcome is STOP
    assert criteria.whole(host(members=both), "md0", 4).outcome is STOP
    assert criteria.whole(host(members=MEMBERS[:3]), "md0", 4).outcome is STOP
    assert criteria.whole(host(degraded=1), "md0", 4).outcome is STOP
    assert criteria.whole(host(raid_disks=None), "md0", 4).outcome is UNDECIDED


@pytest.mark.parametrize("chunk, wanted", [(524288, PASS), (524287, STOP), (1048576, STOP), (None, UNDECIDED)])
def test_chunk(chunk: int | None, wanted: Outcome) -> None:
    assert criteria.chunk(host(chunk_bytes=chunk), "md0", 524288).outcome is wanted


def test_the_members_are_the_ordered_disks_whatever_they_are_called() -> None:
    parts = tuple(replace(one, device=f"{one.device}p1") for one in MEMBERS)
    strange = (*MEMBERS[:3], replace(MEMBERS[3], device="sda"))
    assert criteria.ordered_disks(host(), "md0", TREE, SERIALS).outcome is PASS
    assert criteria.ordered_disks(host(members=parts), "md0", TREE, SERIALS).outcome is PASS
    assert criteria.ordered_disks(host(members=strange), "md0", TREE, SERIALS).outcome is STOP
    assert criteria.ordered_disks(host(), "md0", TREE, SERIALS[:3]).outcome is STOP
    assert criteria.ordered_disks(host(members=()), "md0", TREE, []).outcome is UNDECIDED
    cross = tuple(MdMember(f"nvme{n}n1", n, ("in_sync",), 0) for n in range(2))
    assert criteria.ordered_disks(host(members=cross), "md0", CROSS, ["S-A", "S-B"]).outcome is PASS


def test_three_sources_agree() -> None:
    stat = mdstat.parse((SAMPLES / "mdstat" / "6.1-text--raid0-of-four.txt").read_text())
    detail = mdadm_detail.parse((SAMPLES / "mdadm-detail" / "4.2-text--raid0-of-four.txt").read_text())
    members = tuple(MdMember(f"nvme1n{n + 1}", n, ("in_sync",), 0) for n in range(4))
    arrays = host(members=members)
    assert criteria.sources_agree(arrays, "md0", stat, detail).outcome is PASS
    broken = tuple(replace(one, state="broken") for one in stat)
    assert criteria.sources_agree(arrays, "md0", broken, detail).outcome is STOP
    assert criteria.sources_agree(arrays, "md0", stat, replace(detail, failed_devices=1)).outcome is STOP
    assert criteria.sources_agree(arrays, "md0", stat, replace(detail, states=("clean", "degraded"))).outcome is STOP
    for state in ("resyncing", "resyncing (DELAYED)", "recovering (PENDING)", "reshaping", "FAILED", "Not Started"):
        assert criteria.sources_agree(arrays, "md0", stat, replace(detail, states=("clean", state))).outcome is STOP
    checking = replace(detail, states=("clean", "checking"))
    assert criteria.sources_agree(arrays, "md0", stat, checking).outcome is PASS
    assert criteria.sources_agree(arrays, "md0", stat, replace(detail, active_devices=None)).outcome is STOP
    assert criteria.sources_agree(arrays, "md0", stat, replace(detail, level="raid1")).outcome is STOP
    short = tuple(replace(one, wanted=4, working=3) for one in stat)
    full = tuple(replace(one, wanted=4, working=4) for one in stat)
    assert criteria.sources_agree(arrays, "md0", short, detail).outcome is STOP
    assert criteria.sources_agree(arrays, "md0", full, detail).outcome is PASS
    assert criteria.sources_agree(arrays, "md0", stat, replace(detail, members=detail.members[:3])).outcome is STOP
    assert criteria.sources_agree(arrays, "md0", (), detail).outcome is STOP


def test_the_risk_sentence_stands_for_raid0_only() -> None:
    assert "loses the whole array" in str(criteria.risk_named(host(), "md0").note)
    assert "survives" in str(criteria.risk_named(host(level="raid1"), "md0").note)


def mount(
    target: str = "/mnt/fx100", source: str = "/dev/nvme1n1", options: str = "rw,noatime", fs: str = "xfs"
) -> Mounted:
    return Mounted(target, source, None, fs, tuple(options.split(",")))


FX100 = Source(nqns=(NQN,))


def test_mounted_from_the_ordered_subsystem() -> None:
    assert mounted.mounted([mount()], NODE, "/mnt/fx100", FX100).outcome is PASS
    assert mounted.mounted([mount(source="/dev/nvme1n1p1")], NODE, "/mnt/fx100", FX100).outcome is PASS
    assert mounted.mounted([mount(source="/dev/nvme0n1")], NODE, "/mnt/fx100", FX100).outcome is STOP
    assert mounted.mounted([mount(source="/dev/nvme1n11")], NODE, "/mnt/fx100", FX100).outcome is STOP
    assert mounted.mounted([mount("/")], NODE, "/mnt/fx100", FX100).outcome is STOP
    assert mounted.mounted([mount(), mount()], NODE, "/mnt/fx100", FX100).outcome is STOP


def test_an_automount_trigger_is_no_stacked_mount() -> None:
    trigger = mount(source="systemd-1", fs="autofs")
    assert mounted.mounted([trigger, mount()], NODE, "/mnt/fx100", FX100).outcome is PASS


def test_a_mapped_device_needs_a_name_in_the_inventory() -> None:
    mapped = mount(source="/dev/mapper/vg0-kv")
    assert mounted.mounted([mapped], NODE, "/mnt/fx100", FX100).outcome is UNDECIDED
    by_id = Source(device=("/dev/disk/by-id/nvme-uuid.4b1f", "/dev/nvme1n1"))
    assert mounted.mounted([mount()], NODE, "/mnt/fx100", by_id).outcome is PASS
    assert mounted.mounted([mount(source="/dev/nvme0n1")], NODE, "/mnt/fx100", by_id).outcome is STOP
    assert (
        mounted.mounted([mapped], NODE, "/mnt/fx100", Source(device=("/dev/mapper/vg0-kv", "/dev/dm-0"))).outcome
        is PASS
    )


@pytest.mark.parametrize(
    "options, wanted",
    [
        ("rw,noatime", PASS),
        ("rw,relatime", STOP),
        ("ro,noatime", STOP),
        ("rw,noatime,discard", STOP),
        ("rw,noatime,discard=async", STOP),
    ],
)
def test_options(options: str, wanted: Outcome) -> None:
    assert mounted.options([mount(options=options)], "/mnt/fx100", ["noatime"], ["discard"]).outcome is wanted


def test_a_lost_mount_leaves_type_and_options_undecided() -> None:
    assert mounted.options([mount("/")], "/mnt/fx100", [], []).outcome is UNDECIDED
    assert mounted.filesystem([mount("/")], "/mnt/fx100", "xfs").outcome is UNDECIDED


def test_stripe_geometry() -> None:
    plain = xfs_info.parse((SAMPLES / "xfs_info" / "6.1-text--600mb-no-stripe.txt").read_text())
    made = xfs_info.parse((SAMPLES / "xfs_info" / "6.1-text--raid0-stripe.txt").read_text())
    assert mounted.striped(plain, 4, 131072).outcome is STOP
    assert mounted.striped(made, 4, 131072).outcome is PASS
    assert mounted.striped(made, 4, None).outcome is PASS
    assert mounted.striped(made, 3, 131072).outcome is STOP
    assert mounted.striped(made, 4, 524288).outcome is STOP
    assert mounted.checksummed(made).outcome is PASS
    assert mounted.checksummed(replace(made, crc=False)).outcome is STOP


SPACE = df.Space("/dev/nvme1n1", "xfs", 1000, 400, 600, 100, 50, "/mnt/fx100", None)
STAT = stat_f.FileSystem("/mnt/fx100", "xfs", 4096, 1, 1, 1, 1, None)
DEAD = df.parse((SAMPLES / "df" / "coreutils-text--io-error-on-mount.txt").read_text())


def test_a_dead_filesystem_stops_and_a_lost_mount_is_undecided() -> None:
    assert mounted.alive([STAT], [SPACE], "/mnt/fx100").outcome is PASS
    assert mounted.alive([STAT], DEAD, "/mnt/gen").outcome is STOP
    assert mounted.alive([replace(STAT, error="Input/output error")], [SPACE], "/mnt/fx100").outcome is STOP
    assert mounted.alive([STAT], [replace(SPACE, target="/")], "/mnt/fx100").outcome is UNDECIDED


@pytest.mark.parametrize("ordered, wanted", [(1000, PASS), (1030, PASS), (1032, STOP)])
def test_size_allows_three_percent_of_metadata(ordered: int, wanted: Outcome) -> None:
    assert mounted.large_enough([SPACE], "/mnt/fx100", ordered, 97.0).outcome is wanted
    assert mounted.large_enough([replace(SPACE, target="/")], "/mnt/fx100", ordered, 97.0).outcome is UNDECIDED
    assert mounted.large_enough(DEAD, "/mnt/gen", ordered, 97.0).outcome is UNDECIDED


def test_free_space_and_inodes() -> None:
    assert mounted.space_free([SPACE], "/mnt/fx100", 60.0).outcome is PASS
    assert mounted.space_free([SPACE], "/mnt/fx100", 60.1).outcome is STOP
    assert mounted.inodes_free([SPACE], "/mnt/fx100", 50.0).outcome is PASS
    assert mounted.inodes_free([SPACE], "/mnt/fx100", 50.1).outcome is STOP
    assert mounted.inodes_free([replace(SPACE, inodes=0)], "/mnt/fx100", 50.0).outcome is UNDECIDED
    assert mounted.inodes_free([replace(SPACE, inodes_free=None)], "/mnt/fx100", 50.0).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("source", "fs", "options", "wanted"),
    [
        ("192.168.100.10:/export/kv", "nfs4", "rw,vers=4.2,proto=rdma,addr=192.168.100.10", PASS),
        ("fx100:/export/kv", "nfs4", "rw,addr=192.168.100.10", PASS),
        ("fx100:/export/kv", "nfs4", "rw,addr=192.168.100.1", STOP),
        ("192.168.100.10:/export/kv", "nfs", "rw,mountaddr=192.168.100.10,addr=10.0.0.5", STOP),
        ("192.168.100.10:/export/kv", "nfs", "rw,mountaddr=192.168.100.10", UNDECIDED),
        ("/dev/sda2", "ext4", "rw", STOP),
    ],
)
def test_a_network_filesystem_comes_from_the_array(source: str, fs: str, options: str, wanted: Outcome) -> None:
    here = mount("/mnt/kv", source, options, fs)
    assert mounted.served([here], "/mnt/kv", ["192.168.100.10"]).outcome is wanted
    assert mounted.served([here, here], "/mnt/kv", ["192.168.100.10"]).outcome is STOP
    assert mounted.served([], "/mnt/kv", ["192.168.100.10"]).outcome is STOP
    assert mounted.served([here], "/mnt/kv", []).outcome is not PASS


def test_a_stable_name_is_resolved_though_its_folder_is_absent(tmp_path: Path) -> None:
    missing = f"{tmp_path}/md/kv"
    said = subprocess.run(shlex.split(probes.resolved(missing).command()), capture_output=True, text=True, check=False)
    assert (said.returncode, readlink.parse(said.stdout)) == (0, missing)
