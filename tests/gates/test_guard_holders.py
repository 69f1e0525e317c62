"""A disk that somebody holds is refused by the name of who does: for real where this machine can make one, by its files elsewhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.gates.loops import loop_device, needs
from tests.gates.rawdisk import MIB, Disk, mounted, refused, run

#: As `dmsetup info` of a host with multipathd has it.
MULTIPATH = "mpath-3600507680c8184a05800000000000856"

HOLDERS = [
    ("holders/bcache0", "", "holder"), ("holders/md0", "md", "md"), ("holders/dm-0", "dm/uuid:CRYPT-LUKS2-1", "dm"),
    ("holders/dm-0", "dm/uuid:", "dm"), ("holders/dm-1", "dm/uuid:LVM-abc", "lvm"), ("holders/dm-2", "dm/uuid:mpath-3600", "multipath"),
    # as LVM, multipathd, kpartx and cryptsetup name their targets
    ("holders/dm-3", "dm/uuid:LVM-wtG7E3fb3SzLtduVXb0bspaHksOjFZt2Kz1sP9hVbXq0yT4mN6cRd8eWfGu2aJl5", "lvm"),
    ("holders/dm-4", f"dm/uuid:{MULTIPATH}", "multipath"), ("holders/dm-5", f"dm/uuid:part1-{MULTIPATH}", "dm"),
    ("holders/dm-6", "dm/uuid:CRYPT-LUKS2-8c4d1f7e0b9a4c6f9d2e3b5a7c8d9e0f-kv", "dm"),
    ("slaves/dm-0", "", "stacked"),
]  # fmt: skip


@pytest.mark.parametrize(("holder", "tells", "condition"), HOLDERS)
@pytest.mark.parametrize("claimed", [False, True])
def test_a_disk_that_an_array_or_a_volume_holds_is_refused_by_its_name(
    disk: Disk, holder: str, tells: str, condition: str, claimed: bool
) -> None:
    """Whoever holds a disk has claimed it, as a rule: then it is the claim that fails, and the holder is named all the same."""
    (disk.folder / holder.partition("/")[0]).unlink(missing_ok=True)
    name, _, content = tells.partition(":")
    file = disk.folder / holder / name
    (file.parent if ":" in tells else file).mkdir(parents=True)
    if ":" in tells:
        file.write_text(f"{content}\n")
    mine = os.open(disk.node, os.O_RDWR | os.O_EXCL) if claimed else None
    try:
        refused(disk.write(), "claim" if claimed and condition == "stacked" else condition, disk, disk.head())
    finally:
        if mine is not None:
            os.close(mine)


def held(disk: Disk, condition: str) -> None:
    """By whoever has it now, as the kernel shows it, whichever interpreter claims."""
    for path in (None, without_perl(disk)):
        refused(disk.known().write(path=path), condition)


def without_perl(disk: Disk) -> str:
    tools = disk.root.parent / "python"
    if not tools.exists():
        tools.mkdir()
        for folder in reversed(os.environ["PATH"].split(":")):
            for program in Path(folder).glob("*") if Path(folder).is_dir() else ():
                (tools / program.name).unlink(missing_ok=True)
                (tools / program.name).symlink_to(program)
        (tools / "perl").unlink(missing_ok=True)
    return str(tools)


def made(*words: str) -> None:
    """Make an array, a volume or a target; skip where the kernel or the tools of this machine make none."""
    done = run(*words, check=False)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        pytest.skip(f"this machine makes none: {' '.join(words[:2])}: {said[:200]}")


def test_a_member_of_an_array_while_it_runs_and_after_it_was_stopped(disk: Disk, tmp_path: Path) -> None:
    needs("mdadm")
    with loop_device(tmp_path / "other", 400 * MIB) as other:
        made("mdadm", "--create", "/dev/md/kvgatetest", "--run", "--level=0", "--raid-devices=2", disk.node, other)
        try:
            held(disk, "md")
        finally:
            run("mdadm", "--stop", "/dev/md/kvgatetest", check=False)
        held(disk, "md")
    assert b"\xfc\x4e\x2b\xa9" in disk.head()


def held_below(disk: Disk, by: str, *target: str) -> None:
    """Held while the device mapper has that target on it, and free again without."""
    made("dmsetup", "create", "kvgatetest", *target)
    try:
        held(disk, by)
    finally:
        run("dmsetup", "remove", "kvgatetest", check=False)
    assert disk.known().look().refused is None


def test_a_disk_below_a_target_of_the_device_mapper(disk: Disk) -> None:
    needs("dmsetup")
    held_below(disk, "dm", "--table", f"0 100000 linear {disk.node} 0")


def test_a_disk_that_is_a_path_of_multipathd(disk: Disk) -> None:
    """The target that multipathd loads, with the name that it gives it; one path is enough to hold a disk."""
    needs("dmsetup", "blockdev")
    number = Path(disk.folder / "dev").read_text().strip()
    sectors = run("blockdev", "--getsz", disk.node).stdout.strip()
    table = f"0 {sectors} multipath 0 0 1 1 round-robin 0 1 1 {number} 1000"
    held_below(disk, "multipath", "--uuid", MULTIPATH, "--table", table)


def test_a_physical_volume_that_lvm_made_until_it_is_none_again(disk: Disk) -> None:
    """Alone, in a group, and with the group gone: a label is enough, whatever runs."""
    needs("pvcreate", "vgcreate", "vgremove", "pvremove")
    made("pvcreate", "-y", disk.node)
    held(disk, "lvm")
    made("vgcreate", "-y", "kvgatetest", disk.node)
    try:
        held(disk, "lvm")
    finally:
        run("vgremove", "-y", "-f", "kvgatetest", check=False)
    held(disk, "lvm")
    run("pvremove", "-y", disk.node)
    assert disk.known().look().refused is None


def test_a_physical_volume_that_a_running_volume_stands_on(disk: Disk) -> None:
    needs("pvcreate", "vgcreate", "lvcreate", "vgremove")
    made("vgcreate", "-y", "kvgatetest", disk.node)
    try:
        made("lvcreate", "-y", "-Wn", "-L", "16M", "-n", "kv", "kvgatetest")
        held(disk, "lvm")
        (by,) = Path("/sys/class/block", disk.name, "holders").iterdir()
        refused(disk.look(node=f"/dev/{by.name}"), "name")
    finally:
        run("vgremove", "-y", "-f", "kvgatetest", check=False)


def test_a_target_of_the_device_mapper_is_no_disk_by_either_of_its_names(disk: Disk) -> None:
    """A target's node and the link that udev makes to it: a volume or a multipath device is never what is written raw."""
    node = next(one for one in (Path(f"/dev/dm-{number}") for number in range(77, 1000)) if not one.exists())
    folder = Path("/dev/mapper")  # udev's, on a machine that has a device mapper
    link, mine = folder / "kvgatetest", not folder.is_dir()
    folder.mkdir(exist_ok=True)
    os.mknod(node, stat.S_IFBLK | 0o600, Path(disk.node).stat().st_rdev)
    try:
        disk.folder.rename(disk.folder.parent / node.name)
        refused(disk.write(node=str(node)), "name", disk, disk.head())
        link.symlink_to(node)
        refused(disk.write(node=str(link)), "link", disk, disk.head())
    finally:
        link.unlink(missing_ok=True)
        node.unlink()
        if mine:
            folder.rmdir()


def test_paths_of_one_namespace_and_namespaces_of_a_fabric(disk: Disk) -> None:
    """The kernel names a namespace nvme1n1 and its paths nvme1c0n1, nvme1c1n1: loop devices cannot be called so, names can."""
    node = Path("/dev/nvme77n1")
    os.mknod(node, stat.S_IFBLK | 0o600, Path(disk.node).stat().st_rdev)
    try:
        disk.folder.rename(disk.folder.parent / node.name)
        names = disk.folder.parent
        assert disk.look(node=str(node)).refused is None
        (names / "nvme77c0n1").mkdir()
        (names / "nvme7c1n1").mkdir()
        (names / "nvme77c1n2").mkdir()
        assert disk.look(node=str(node)).refused is None
        (names / "nvme77c12n1").mkdir()
        found = disk.write(node=str(node))
        refused(found, "multipath", disk, disk.head())
        assert "over 2 paths: nvme77c0n1 nvme77c12n1" in str(found.refused)
        (names / "nvme77c12n1").rmdir()
        for place in ("device", "device/nvme3"):
            (names / node.name / place).mkdir(exist_ok=True)
            (names / node.name / place / "transport").write_text("pcie\n")
            assert disk.look(node=str(node)).refused is None
            (names / node.name / place / "transport").write_text("rdma\n")
            refused(disk.write(node=str(node)), "fabric", disk, disk.head())
            (names / node.name / place / "transport").unlink()
    finally:
        node.unlink()
    path = Path("/dev/nvme77c0n1")
    os.mknod(path, stat.S_IFBLK | 0o600, Path(disk.node).stat().st_rdev)
    try:
        refused(disk.write(node=str(path)), "multipath", disk, disk.head())
    finally:
        path.unlink()


def test_a_disk_that_was_mounted_since_it_was_looked_at(disk: Disk, tmp_path: Path) -> None:
    assert disk.look().refused is None
    run("mkfs.xfs", "-q", "-f", disk.node)
    place = tmp_path / "mounted"
    place.mkdir()
    assert mounted(disk, place).returncode == 0
    try:
        held(disk, "mount")
    finally:
        run("umount", str(place))
