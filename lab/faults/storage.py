"""Faults of md arrays, filesystems and mounts."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.machine import Edit

_MD = r"grep -Hs '' /proc/sys/kernel/osrelease /sys/block/md.*"
_STAT = r"cat /proc/mdstat"
_DETAIL = r"mdadm --detail /dev/md0"
_MOUNTS = r"findmnt .*"
_ARRAY_GONE = frozenset({"G1.5.2", "G1.5.3", "G1.5.4", "G1.5.5", "G1.5.7"})
_SPACE = r"df .* {path}"
_STATFS = r"stat -f {path}"
_EIO = "Input/output error\n"
_KERNEL = "/proc/sys/kernel/osrelease:6.8.0-60-generic\n"


def _md(*pairs: tuple[str, str]) -> Edit:
    return Edit(_MD, replace=pairs)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "raid-absent",
        "the array was never built",
        "fx100-a",
        stops=frozenset({"G1.5.1", "G1.5.6"}),
        undecided=_ARRAY_GONE,
        edits=(
            Edit(_MD, stdout=_KERNEL),
            Edit(_STAT, stdout="Personalities : \nunused devices: <none>\n"),
            Edit(_DETAIL, stdout="", stderr="mdadm: cannot open /dev/md0: No such file or directory\n", status=1),
        ),
    ),
    Fault(
        "raid-inactive",
        "the array was not assembled: members are there as spares",
        "fx100-a",
        stops=frozenset({"G1.5.1", "G1.5.3", "G1.5.4", "G1.5.6"}),
        undecided=frozenset({"G1.5.2", "G1.5.7"}),
        edits=(
            _md(
                ("array_state:clean", "array_state:inactive"),
                ("md/level:raid0", "md/level:"),
                ("raid_disks:4", "raid_disks:0"),
                ("chunk_size:524288", "chunk_size:0"),
                ("nvme0n1/state:in_sync", "nvme0n1/state:spare"),
            ),
            Edit(
                _STAT,
                stdout="Personalities : [raid0] \nmd0 : inactive nvme3n1[3](S) nvme2n1[2](S) nvme1n1[1](S) nvme0n1[0](S)\n"
                "      15002423296 blocks super 1.2\n       \nunused devices: <none>\n",
            ),
            Edit(
                _DETAIL,
                stdout="/dev/md0:\n           Version : 1.2\n        Raid Level : raid0\n     Total Devices : 4\n"
                "       Persistence : Superblock is persistent\n\n             State : inactive\n   Working Devices : 4\n\n"
                "              Name : fx100-a:0\n            Events : 0\n\n    Number   Major   Minor   RaidDevice\n\n"
                "       -     259        0        -        /dev/nvme0n1\n       -     259        1        -        /dev/nvme1n1\n"
                "       -     259        2        -        /dev/nvme2n1\n       -     259        3        -        /dev/nvme3n1\n",
            ),
        ),
    ),
    Fault(
        "raid-broken",
        "a member is gone and the kernel says broken; mdadm still counts no failed device",
        "fx100-a",
        stops=frozenset({"G1.5.1", "G1.5.6"}),
        undecided=frozenset({"G1.5.3"}),
        edits=(
            _md(("array_state:clean", "array_state:broken")),
            Edit(_STAT, replace=(("md0 : active raid0", "md0 : broken raid0"),)),
            Edit(_DETAIL, replace=(("State : clean ", "State : broken "),)),
        ),
    ),
    Fault(
        "raid-lost-member-still-clean",
        "a member is gone and sysfs and mdstat still read clean; only mdadm counts it",
        "fx100-a",
        stops=frozenset({"G1.5.6"}),
        edits=(
            Edit(
                _DETAIL,
                replace=(("Active Devices : 4", "Active Devices : 3"), ("Failed Devices : 0", "Failed Devices : 1")),
            ),
        ),
    ),
    Fault(
        "raid-wrong-level",
        "the array was built as linear",
        "fx100-a",
        stops=frozenset({"G1.5.2"}),
        edits=(
            _md(("md/level:raid0", "md/level:linear")),
            Edit(_STAT, replace=(("active raid0", "active linear"),)),
            Edit(_DETAIL, replace=(("Raid Level : raid0", "Raid Level : linear"),)),
        ),
    ),
    Fault(
        "raid-member-faulty",
        "one member is marked faulty",
        "fx100-a",
        stops=frozenset({"G1.5.3", "G1.5.6"}),
        edits=(
            _md(("nvme2n1/state:in_sync", "nvme2n1/state:faulty")),
            Edit(_STAT, replace=(("nvme2n1[2]", "nvme2n1[2](F)"),)),
        ),
    ),
    Fault(
        "raid-three-members",
        "the array was built of three disks",
        "fx100-a",
        stops=frozenset({"G1.5.3", "G1.5.5"}),
        edits=(
            _md(
                ("raid_disks:4", "raid_disks:3"),
                ("/sys/block/md0/md/dev-nvme3n1/state:in_sync\n", ""),
                ("/sys/block/md0/md/dev-nvme3n1/slot:3\n", ""),
                ("/sys/block/md0/md/dev-nvme3n1/errors:0\n", ""),
            ),
            Edit(_STAT, replace=(("nvme3n1[3] ", ""),)),
            Edit(
                _DETAIL,
                replace=(
                    ("Raid Devices : 4", "Raid Devices : 3"),
                    ("Active Devices : 4", "Active Devices : 3"),
                    ("       3     259        3        3      active sync   /dev/nvme3n1\n", ""),
                ),
            ),
        ),
    ),
    Fault(
        "raid-strange-member",
        "a disk that was not ordered is a member instead of an ordered one",
        "fx100-a",
        stops=frozenset({"G1.5.5"}),
        edits=(
            Edit(_MD, replace=(("dev-nvme3n1", "dev-nvme9n1"),), every=True),
            Edit(_STAT, replace=(("nvme3n1[3]", "nvme9n1[3]"),)),
            Edit(_DETAIL, replace=(("/dev/nvme3n1", "/dev/nvme9n1"),)),
        ),
    ),
    Fault(
        "raid-wrong-chunk",
        "the array was built with chunks of 128 KiB",
        "fx100-a",
        stops=frozenset({"G1.5.4"}),
        edits=(_md(("chunk_size:524288", "chunk_size:131072")),),
    ),
    Fault(
        "raid-no-mdadm",
        "mdadm is not installed on the array",
        "fx100-a",
        undecided=frozenset({"G1.5.6"}),
        edits=(Edit(r"mdadm .*", stdout="", stderr="sh: 1: mdadm: not found\n", status=127),),
    ),
    Fault(
        "mount-lost",
        "the array's filesystem is not mounted: its directory shows the root disk, which answers well",
        "node-01",
        stops=frozenset({"G1.5.8"}),
        undecided=frozenset(f"G1.5.{number}" for number in (9, 10, 11, 12, 13, 14, 15, 16)),
        edits=(
            Edit(_MOUNTS, replace=(('"target": "/mnt/fx100"', '"target": "/srv/other"'),)),
            Edit(
                r"xfs_info /mnt/fx100",
                stdout="",
                stderr="xfs_info: /mnt/fx100 is not a mounted XFS filesystem\n",
                status=1,
            ),
            Edit(
                _SPACE.format(path="/mnt/fx100"),
                stdout="Filesystem     Type    1B-blocks        Used        Avail   Inodes    IFree Mounted on\n"
                "/dev/sda2      ext4 470270553088 24374845440 421934469120 29229056 28913131 /\n",
            ),
            Edit(
                _STATFS.format(path="/mnt/fx100"),
                stdout='  File: "/mnt/fx100"\n    ID: c6019e509c2c76f4 Namelen: 255     Type: ext2/ext3\n'
                "Block size: 4096       Fundamental block size: 4096\n"
                "Blocks: Total: 114812147  Free: 108861260  Available: 103011345\nInodes: Total: 29229056   Free: 28913131\n",
            ),
        ),
    ),
    Fault(
        "mount-swapped",
        "both filesystems are mounted, each at the place of the other",
        "node-01",
        stops=frozenset({"G1.5.8"}),
        edits=(
            Edit(
                _MOUNTS,
                replace=(
                    ('"/dev/nvme0n1"', '"/dev/swap"'),
                    ('"/dev/nvme1n1"', '"/dev/nvme0n1"'),
                    ('"/dev/swap"', '"/dev/nvme1n1"'),
                ),
            ),
        ),
    ),
    Fault(
        "mount-behind-mapper",
        "the filesystem stands on a mapped device that hides its disk",
        "node-01",
        undecided=frozenset({"G1.5.8"}),
        edits=(Edit(_MOUNTS, replace=(('"/dev/nvme1n1"', '"/dev/mapper/vg0-kv"'),)),),
    ),
    Fault(
        "mount-wrong-filesystem",
        "the volume carries ext4",
        "node-01",
        stops=frozenset({"G1.5.9"}),
        edits=(
            Edit(
                _MOUNTS,
                replace=(
                    (
                        '"source": "/dev/nvme1n1",\n               "fstype": "xfs"',
                        '"source": "/dev/nvme1n1",\n               "fstype": "ext4"',
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "mount-discard",
        "the volume is mounted with online discard and with access times",
        "node-01",
        stops=frozenset({"G1.5.10"}),
        edits=(
            Edit(
                _MOUNTS,
                replace=(
                    (
                        "rw,noatime,attr2,inode64,logbufs=8,logbsize=32k,sunit",
                        "rw,relatime,discard,attr2,inode64,logbufs=8,logbsize=32k,sunit",
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "mount-read-only",
        "the volume is mounted read-only",
        "node-01",
        stops=frozenset({"G1.5.10"}),
        edits=(
            Edit(
                _MOUNTS,
                replace=(
                    (
                        "rw,noatime,attr2,inode64,logbufs=8,logbsize=32k,sunit",
                        "ro,noatime,attr2,inode64,logbufs=8,logbsize=32k,sunit",
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "xfs-without-checksums",
        "XFS was made in the old format",
        "node-01",
        stops=frozenset({"G1.5.11"}),
        edits=(Edit(r"xfs_info /mnt/fx100", replace=(("crc=1 ", "crc=0 "),)),),
    ),
    Fault(
        "xfs-without-stripe",
        "XFS was made without knowing the array below it",
        "node-01",
        stops=frozenset({"G1.5.12"}),
        edits=(Edit(r"xfs_info /mnt/fx100", replace=(("sunit=128    swidth=512", "sunit=0      swidth=0"),)),),
    ),
    Fault(
        "xfs-no-tool",
        "xfsprogs is not installed",
        "node-01",
        undecided=frozenset({"G1.5.11", "G1.5.12"}),
        edits=(Edit(r"xfs_info .*", stdout="", stderr="sh: 1: xfs_info: not found\n", status=127),),
    ),
    Fault(
        "xfs-shut-down",
        "the filesystem shut itself down; its options still read rw",
        "node-01",
        stops=frozenset({"G1.5.13"}),
        undecided=frozenset({"G1.5.14", "G1.5.15", "G1.5.16"}),
        edits=(Edit(_SPACE.format(path="/mnt/fx100"), stdout="", stderr=f"df: /mnt/fx100: {_EIO}", status=1),),
    ),
    Fault(
        "xfs-hangs",
        "a question to the filesystem never comes back",
        "node-01",
        undecided=frozenset({"G1.5.13", "G1.5.14", "G1.5.15", "G1.5.16"}),
        edits=(Edit(_SPACE.format(path="/mnt/fx100"), hang=True), Edit(_STATFS.format(path="/mnt/fx100"), hang=True)),
    ),
    Fault(
        "mount-too-small",
        "the volume has the size of one disk",
        "node-01",
        stops=frozenset({"G1.5.14"}),
        edits=(
            Edit(
                _SPACE.format(path="/mnt/fx100"),
                replace=(("xfs   15360344457216 ", "xfs   3838618984448 "), (" 15250627715072 ", " 3728902242304 ")),
            ),
        ),
    ),
    Fault(
        "mount-nearly-full",
        "somebody filled the volume with data and small files",
        "node-01",
        stops=frozenset({"G1.5.15", "G1.5.16"}),
        edits=(
            Edit(
                _SPACE.format(path="/mnt/fx100"),
                replace=((" 15250627715072 ", " 1525062771097 "), (" 1500242326 ", " 1500 ")),
            ),
        ),
    ),
)
