"""Every side door to a raw disk, tried on loop devices: nothing but a clear disk of the right serial is ever written."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import time
import zlib
from functools import partial
from pathlib import Path

import pytest

from checks.block import criteria, guard, raw
from checks.block.guard import Guarded
from checks.block.patterns import Pattern, Way
from checks.block.validity import Held
from checks.ceiling import through_slots
from checks.parsers import fio
from checks.phrase import say
from checks.probe import Level
from checks.verdict import Outcome
from kvgate.errors import CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.transport.local import LocalTransport
from tests.gates.rawdisk import FILL, MIB, SERIAL, Disk, mounted, refused, run


@pytest.mark.parametrize("interpreter", ["perl", "python3"])
def test_a_clear_disk_of_the_right_serial_is_written(disk: Disk, tmp_path: Path, interpreter: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "stat", "awk", "find", "sed", "sleep", "wipefs", "blkid", "fio", "readlink", interpreter):
        found = shutil.which(name) if name != "python3" else "/usr/bin/python3"
        if found and Path(found).exists():
            (tools / name).symlink_to(found)
    if not (tools / interpreter).exists():
        pytest.skip(f"this machine has no {interpreter}")
    assert disk.look(path=str(tools)).refused is None
    before = disk.head()
    found = disk.write(path=str(tools))
    assert found.refused is None
    assert found.said is not None
    assert found.said.jobs[0].directions[0].io_bytes == 16 * MIB
    assert disk.head() != before


def test_without_a_way_to_claim_nothing_is_written(disk: Disk, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sh").symlink_to(str(shutil.which("sh")))
    refused(disk.write(path=str(tools)), "claim", disk, disk.head())


def test_a_look_writes_nothing(disk: Disk) -> None:
    before = disk.head()
    assert disk.look() == Guarded(None, None)
    assert disk.head() == before


def test_another_serial(disk: Disk) -> None:
    refused(disk.known("OTHER").write(), "serial", disk, disk.head())
    (disk.folder / "device/serial").write_text("")
    refused(disk.write(), "serial", disk, disk.head())
    (disk.folder / "device/serial").unlink()
    refused(disk.write(), "serial", disk, disk.head())
    refused(disk.known(SERIAL + "0").write(), "serial", disk, disk.head())


def test_a_serial_that_is_another_at_the_moment_of_writing(disk: Disk) -> None:
    assert disk.look().refused is None
    (disk.folder / "device/serial").write_text("OTHER\n")
    refused(disk.write(), "serial", disk, disk.head())


def test_a_disk_that_is_another_after_writing_is_told(disk: Disk, tmp_path: Path) -> None:
    swap = tmp_path / "bin"
    swap.mkdir()
    program = swap / "fio"
    program.write_text(f'#!/bin/sh\necho OTHER >{disk.folder}/device/serial\nexec {shutil.which("fio")} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    refused(disk.write(path=f"{swap}:{os.environ['PATH']}"), "serial")


def test_a_symbolic_link(disk: Disk, tmp_path: Path) -> None:
    link = tmp_path / "by-id"
    link.symlink_to(disk.node)
    refused(disk.write(node=str(link)), "link", disk, disk.head())


def test_a_device_under_another_name(disk: Disk) -> None:
    numbers = Path(disk.node).stat().st_rdev
    other = Path(f"/dev/kvgatetest{os.getpid()}")
    os.mknod(other, stat.S_IFBLK | 0o600, numbers)
    try:
        refused(disk.write(node=str(other)), "name", disk, disk.head())
        (disk.folder.parent / other.name).mkdir()
        (disk.folder.parent / other.name / "dev").write_text("7:99999\n")
        refused(disk.write(node=str(other)), "name", disk, disk.head())
    finally:
        other.unlink()
    refused(disk.write(node="/dev/../dev/" + disk.name), "name", disk, disk.head())


def test_what_is_no_block_device(disk: Disk, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"keep")
    for node in (str(plain), "/dev/null", "/dev/kvgate-is-not-there"):
        refused(disk.write(node=node), "absent")
    assert plain.read_bytes() == b"keep"


@pytest.mark.parametrize("maker", [("mkfs.xfs", "-q", "-f"), ("mkfs.ext4", "-q", "-F"), ("mkswap",)])
def test_a_signature(disk: Disk, maker: tuple[str, ...]) -> None:
    if shutil.which(maker[0]) is None:
        pytest.skip(f"this machine has no {maker[0]}")
    run(*maker, disk.node)
    refused(disk.write(), "signature", disk, disk.head())


def partition_table() -> bytes:
    entry = struct.pack("<8BII", 0, 0, 0, 0, 0x83, 0, 0, 0, 2048, 100 * 2048)
    return bytes(446) + entry + bytes(48) + b"\x55\xaa"


def md_superblock() -> bytes:
    head = struct.pack("<4I16s32sQ2IQ2I", 0xA92B4EFC, 1, 0, 0, bytes(range(16)), b"host:0", 0, 0, 0, 0, 0, 2)
    return (head.ljust(128, b"\0") + struct.pack("<3Q", 2048, 100, 8)).ljust(4096, b"\0")


def volume_label() -> bytes:
    """A physical volume of LVM: the label in the second sector, with its checksum (CRC-32 as LVM counts it)."""
    body = (
        struct.pack("<I8s", 32, b"LVM2 001")
        + b"abcdefghijklmnopqrstuvwxyzABCDEF"
        + struct.pack("<Q", 400 * MIB)
        + bytes(444)
    )
    checksum = zlib.crc32(body[:492], 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    return b"LABELONE" + struct.pack("<QI", 1, checksum) + body[:492]


def volume_label_of_lvm() -> bytes:
    """What `pvcreate` of LVM 2.03.16 wrote on a disk of 400 MiB, to the byte."""
    head = b"LABELONE" + struct.pack("<Q", 1) + bytes.fromhex("3b35f734") + struct.pack("<I8s", 32, b"LVM2 001")
    areas = struct.pack("<6Q", 400 * MIB, 2**20, 0, 0, 0, 4096) + struct.pack("<4Q", 2**20 - 4096, 0, 0, 0)[:24]
    return head + b"MCTzVxG0E39v8afNJTbsQcxwKX4lJ6Kp" + areas + struct.pack("<I", 2)


def bcache_superblock() -> bytes:
    magic = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
    return struct.pack("<QQQ", 0, 8, 1) + magic + bytes(range(16)) * 2 + bytes(32 + 24 + 8 * 8)


def pool_label() -> bytes:
    """An uberblock ring of ZFS: the magic number in every slot."""
    return b"".join(struct.pack("<3Q", 0x00BAB10C, 5000, number).ljust(1024, b"\0") for number in range(128))


@pytest.mark.parametrize(
    ("offset", "content", "kind", "condition"),
    [
        (0, partition_table(), "dos", "signature"), (4096, md_superblock(), "linux_raid_member", "md"),
        (512, volume_label(), "LVM2_member", "lvm"), (512, volume_label_of_lvm(), "LVM2_member", "lvm"),
        (4096, bcache_superblock(), "bcache", "signature"),
        (128 * 1024, pool_label(), "zfs_member", "signature"),
    ],
)  # fmt: skip
def test_a_partition_table_or_a_member_of_an_array_a_volume_a_cache_or_a_pool(
    disk: Disk, offset: int, content: bytes, kind: str, condition: str
) -> None:
    with Path(disk.node).open("r+b", buffering=0) as file:
        file.seek(offset)
        file.write(content.ljust(4096, b"\0"))
        os.fsync(file.fileno())
    before = disk.head()
    found = disk.write()
    refused(found, condition, disk, before)
    assert kind in str(found.refused)


def test_a_disk_with_partitions_and_a_partition(disk: Disk) -> None:
    (disk.folder / f"{disk.name}p1").mkdir()
    (disk.folder / f"{disk.name}p1/partition").write_text("1\n")
    refused(disk.write(), "partitions", disk, disk.head())
    disk.known()
    (disk.folder / "partition").write_text("1\n")
    refused(disk.write(), "partition", disk, disk.head())


def test_a_disk_below_a_loop_device(disk: Disk) -> None:
    above = run("losetup", "--find", "--show", disk.node).stdout.strip()
    try:
        refused(disk.write(), "holder", disk, disk.head())
    finally:
        run("losetup", "-d", above)


def test_a_disk_that_is_swapped_to_or_claimed_by_somebody(disk: Disk) -> None:
    held = os.open(disk.node, os.O_RDWR | os.O_EXCL)
    try:
        refused(disk.write(), "claim", disk, disk.head())
    finally:
        os.close(held)


def test_a_disk_that_a_program_has_open_without_claiming_it(disk: Disk, tmp_path: Path) -> None:
    """A virtual machine or a database: the kernel lets them open the disk beside everybody else."""
    before, node, elsewhere = disk.head(), Path(f"/dev/kvgatetest{os.getpid()}"), tmp_path / "block"
    for one in (node, elsewhere):  # a store of Ceph and a container's volume have their node in a folder of their own
        os.mknod(one, stat.S_IFBLK | 0o600, Path(disk.node).stat().st_rdev)
    try:
        for name in (disk.node, str(node), str(elsewhere)):
            program = subprocess.Popen(["sh", "-c", 'exec 3<"$1"; echo open; read -r _', "sh", name], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)  # fmt: skip
            assert program.stdout is not None
            program.stdout.readline()
            try:
                refused(disk.write(), "open", disk, before)
            finally:
                program.communicate()
    finally:
        node.unlink()
    assert disk.look().refused is None


def test_without_a_way_to_see_who_has_the_disk_open_nothing_is_written(disk: Disk, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "find").write_text("#!/bin/sh\necho 'find: unknown predicate -lname' >&2; exit 1\n")
    (tools / "find").chmod(0o755)
    refused(disk.write(path=f"{tools}:{os.environ['PATH']}"), "open", disk, disk.head())


def test_a_disk_that_is_exported_over_the_fabric(disk: Disk) -> None:
    namespace = disk.root / "kernel/config/nvmet/subsystems/nqn.test/namespaces/1"
    namespace.mkdir(parents=True)
    (namespace / "device_path").write_text("/dev/null\n")
    assert disk.look().refused is None
    (namespace / "device_path").write_text(f"{disk.node}\n")
    refused(disk.write(), "holder", disk, disk.head())
    link = disk.root.parent / "by-id"
    link.symlink_to(disk.node)
    (namespace / "device_path").write_text(f"{link}\n")
    refused(disk.write(), "holder", disk, disk.head())


def test_a_disk_whose_controller_is_passed_through_over_the_fabric(disk: Disk) -> None:
    passed = disk.root / "kernel/config/nvmet/subsystems/nqn.test/passthru"
    passed.mkdir(parents=True)
    (disk.folder / "device/dev").write_text("1:5\n")
    (passed / "device_path").write_text("\n")
    assert disk.look().refused is None
    (passed / "device_path").write_text("/dev/null\n")  # 1:3, another controller
    assert disk.look().refused is None
    (passed / "device_path").write_text("/dev/zero\n")
    refused(disk.write(), "holder", disk, disk.head())


def test_nobody_can_mount_a_disk_while_it_is_written(disk: Disk, tmp_path: Path) -> None:
    run("mkfs.xfs", "-q", "-f", disk.node)
    filesystem = disk.head()
    with Path(disk.node).open("r+b", buffering=0) as file:
        file.write(bytes(MIB))
        os.fsync(file.fileno())
    words = (*FILL[:2], "--size=8m", "--offset=64m", *FILL[3:], "--rate=2m")
    probe = guard.write(SERIAL, words, fio.parse, 60, disk.node, str(disk.root))
    # The disk has signatures at its end too: a copy of the first block is not all of XFS, and wipefs sees none of it.
    writing = subprocess.Popen(["sh", "-c", probe.command({})], stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(2.0)
        with Path(disk.node).open("r+b", buffering=0) as file:
            file.write(filesystem)
            os.fsync(file.fileno())
        done = mounted(disk, tmp_path)
        assert writing.poll() is None
        assert done.returncode != 0
        assert "busy" in done.stderr or "already mounted" in done.stderr
    finally:
        said, _ = writing.communicate(timeout=60)
        run("umount", str(tmp_path), check=False)
    assert probe.parse(said).refused is None
    afterwards = mounted(disk, tmp_path)
    run("umount", str(tmp_path), check=False)
    assert afterwards.returncode == 0, afterwards.stderr


def test_words_that_name_a_file_of_their_own_are_no_words_for_the_guard() -> None:
    for words in ((*FILL, "--filename=/dev/sda"), (*FILL, "--directory=/"), ("dd", "of=/dev/sda"), ()):
        with pytest.raises(ValueError, match="without a file"):
            guard.write(SERIAL, words, fio.parse, 60)


PATTERN = Pattern(Way.RANDWRITE, 4096, 4, 1, ramp=0)


@pytest.mark.usefixtures("alone")
def test_a_raw_disk_is_filled_twice_and_measured_until_it_is_steady(disk: Disk, tmp_path: Path) -> None:
    rule = criteria.Settling(1000.0, 1000.0, 3)
    enough = partial(criteria.steady, rule=rule)
    trial = raw.steady_writes("here", SERIAL, 16 * MIB, PATTERN, 3, 4, enough, disk.node, str(disk.root))
    assert trial.level is Level.DESTRUCTIVE
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as evidence:
        tried_ = Trials([trial], LocalTransport(), Answers(evidence), "kvgate:raw-1").run()
        slot = through_slots(say("the slot of the disk"), [(5, 16)])
        verdict = criteria.settled(tried_.measured(trial), Held(0.0, 0.0, 0.0, slot, 4096), rule)
        assert verdict.outcome is Outcome.PASS
        assert len(tried_.rounds(trial)) == 3


@pytest.mark.usefixtures("alone")
def test_a_raw_disk_that_is_not_clear_is_not_measured(disk: Disk, tmp_path: Path) -> None:
    run("mkfs.xfs", "-q", "-f", disk.node)
    before = disk.head()
    trial = raw.steady_writes("here", SERIAL, 16 * MIB, PATTERN, 1, 1, lambda _: True, disk.node, str(disk.root))
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as evidence:
        tried_ = Trials([trial], LocalTransport(), Answers(evidence), "kvgate:raw-1").run()
        with pytest.raises(CannotTell, match=r"carries .*xfs.*condition: signature"):
            tried_.measured(trial)
    assert disk.head() == before
