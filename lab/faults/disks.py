"""Faults of disks and of their PCI Express links."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.machine import Edit

_TREE = r"grep -Hs '' /proc/sys/kernel/osrelease /sys/module/nvme_core/.*"
_SMART = r"nvme smart-log /dev/nvme{n} -o json"
_NVME2 = "/sys/class/nvme/nvme2"
_KERNEL = "/proc/sys/kernel/osrelease:6.8.0-60-generic\n"


def _tree(*pairs: tuple[str, str], every: bool = False, again: bool = False) -> tuple[Edit, ...]:
    return (Edit(_TREE, replace=pairs, every=every, again=again),)


def _smart(number: int, *pairs: tuple[str, str]) -> tuple[Edit, ...]:
    return (Edit(_SMART.format(n=number), replace=pairs),)


def _second_disk(serial: str) -> tuple[Edit, ...]:
    """Put a second local controller into a node."""
    old, new = "/sys/class/nvme/nvme0", "/sys/class/nvme/nvme7"
    return _tree(
        (f"{old}/transport:pcie\n", f"{old}/transport:pcie\n{new}/transport:pcie\n"),
        (f"{old}/state:live\n", f"{old}/state:live\n{new}/state:live\n"),
        (f"{old}/serial:", f"{new}/serial:{serial}\n{old}/serial:"),
    )


#: Clauses that need a disk found by its serial, and those of them that are asked of the array's disks only.
_BY_SERIAL = frozenset(f"G1.2.{number}" for number in range(3, 24))
_NEW_ONLY = frozenset({"G1.2.10", "G1.2.12", "G1.2.22"})

#: What looks like a fault and is none.
TWINS: tuple[Fault, ...] = (
    Fault(
        "lsblk-before-2.37",
        "the host's util-linux knows one mount point a device only",
        "all",
        edits=(
            Edit(
                r"lsblk .*MOUNTPOINTS",
                stdout="",
                stderr="lsblk: unknown column: NAME,TYPE,SIZE,FSTYPE,MOUNTPOINTS\n",
                status=1,
            ),
        ),
    ),
)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "disk-missing",
        "one disk of the array does not answer: another serial sits in its place",
        "fx100-a",
        stops=frozenset({"G1.2.1", "G1.2.2", "G1.5.5"}),
        undecided=_BY_SERIAL,
        edits=_tree((f"{_NVME2}/serial:S7Y0NX0W100003", f"{_NVME2}/serial:S7Y0NX0W199999")),
    ),
    Fault(
        "disk-serial-twice",
        "two controllers carry one serial, as a dual-port disk does",
        "node-01",
        stops=frozenset({"G1.2.2"}),
        undecided=(_BY_SERIAL | {"G1.2.1", "G1.5.8"}) - _NEW_ONLY,
        edits=_second_disk("PHLN00000001"),
    ),
    Fault(
        "disk-controller-dead",
        "a controller was disabled after a failed reset and is dead",
        "fx100-a",
        stops=frozenset({"G1.2.1"}),
        edits=_tree((f"{_NVME2}/state:live", f"{_NVME2}/state:dead")),
    ),
    Fault(
        "disk-extra",
        "a disk that nobody ordered sits in the node",
        "node-01",
        stops=frozenset({"G1.2.2"}),
        edits=_second_disk("S9STRANGER"),
    ),
    Fault(
        "disk-wrong-model",
        "a disk of another model was delivered",
        "fx100-a",
        stops=frozenset({"G1.2.3"}),
        edits=_tree((f"{_NVME2}/model:SAMSUNG MZQL23T8HCLS-00A07", f"{_NVME2}/model:SAMSUNG MZQL23T8HCJS-00A07")),
    ),
    Fault(
        "disk-old-firmware",
        "one disk runs an older firmware than the other three",
        "fx100-a",
        stops=frozenset({"G1.2.4"}),
        edits=_tree((f"{_NVME2}/firmware_rev:GDC5602Q", f"{_NVME2}/firmware_rev:GDC5302Q")),
    ),
    Fault(
        "disk-no-firmware-given",
        "the firmware field of one disk is blank",
        "fx100-a",
        undecided=frozenset({"G1.2.4"}),
        edits=_tree((f"{_NVME2}/firmware_rev:GDC5602Q", f"{_NVME2}/firmware_rev:        ")),
    ),
    Fault(
        "disk-small-namespace",
        "a leftover small namespace covers half of one disk",
        "fx100-a",
        stops=frozenset({"G1.2.5", "G1.2.6"}),
        edits=(
            *_tree((f"{_NVME2}/nvme2n1/size:7501476528", f"{_NVME2}/nvme2n1/size:3750738264")),
            Edit(r"nvme id-ctrl /dev/nvme2 -o json", replace=(('"unvmcap":0', '"unvmcap":"1920377991168"'),)),
        ),
    ),
    Fault(
        "disk-512-byte-format",
        "one disk is formatted with 512-byte blocks",
        "fx100-a",
        stops=frozenset({"G1.2.7"}),
        edits=(Edit(r"nvme id-ns /dev/nvme2n1 -o json", replace=(('"flbas":1', '"flbas":0'),)),),
    ),
    Fault(
        "disk-warns",
        "a disk went read-only; this nvme-cli prints the warning as an object",
        "fx100-a",
        stops=frozenset({"G1.2.8"}),
        edits=_smart(2, ('"critical_warning":0', '"critical_warning":{"value":8,"available_spare":0,"ro":1}')),
    ),
    Fault(
        "disk-media-errors",
        "a disk has lost data while its own verdict is still good; counters in quotes",
        "fx100-a",
        stops=frozenset({"G1.2.9"}),
        edits=_smart(2, ('"media_errors":0', '"media_errors":"7"')),
    ),
    Fault(
        "disk-spare-used",
        "some spare blocks of a delivered disk are used up",
        "fx100-a",
        stops=frozenset({"G1.2.10"}),
        edits=_smart(2, ('"avail_spare":100', '"avail_spare":98')),
    ),
    Fault(
        "disk-spare-gone",
        "a node's disk is below its own spare threshold and warns of nothing",
        "node-01",
        stops=frozenset({"G1.2.11"}),
        edits=_smart(0, ('"avail_spare":100', '"avail_spare":0')),
    ),
    Fault(
        "disk-used-before",
        "a used disk was sold as new",
        "fx100-a",
        stops=frozenset({"G1.2.12"}),
        edits=_smart(2, ('"power_on_hours":36', '"power_on_hours":12798')),
    ),
    Fault(
        "disk-hot",
        "a disk is hot at idle",
        "fx100-a",
        stops=frozenset({"G1.2.13"}),
        edits=_smart(2, ('"temperature":307', '"temperature":345')),
    ),
    Fault(
        "disk-gives-no-temperature",
        "a disk reports 0 Kelvin, its word for not given",
        "fx100-a",
        undecided=frozenset({"G1.2.13"}),
        edits=_smart(2, ('"temperature":307', '"temperature":0')),
    ),
    Fault(
        "disk-power-cut-often",
        "a disk was cut from power a thousand times",
        "fx100-a",
        stops=frozenset({"G1.2.14"}),
        edits=_smart(2, ('"unsafe_shutdowns":4', '"unsafe_shutdowns":1004')),
    ),
    Fault(
        "disk-self-test-failed",
        "the newest self-test of a disk failed in a known segment",
        "fx100-a",
        stops=frozenset({"G1.2.15"}),
        edits=(
            Edit(r"nvme self-test-log /dev/nvme2 -o json", replace=(('"Self test result":0', '"Self test result":7'),)),
        ),
    ),
    Fault(
        "disk-never-tested",
        "no self-test was ever run",
        "nodes",
        undecided=frozenset({"G1.2.15"}),
        edits=(
            Edit(
                r"nvme self-test-log /dev/nvme0 -o json", replace=(('"Self test result":0', '"Self test result":15'),)
            ),
        ),
    ),
    Fault(
        "disk-in-wrong-slot",
        "a disk sits in another slot than ordered",
        "fx100-a",
        stops=frozenset({"G1.2.16"}),
        undecided=frozenset({"G1.2.21"}),
        edits=_tree((f"{_NVME2}/address:0000:43:00.0", f"{_NVME2}/address:0000:a3:00.0")),
    ),
    Fault(
        "disk-link-slow",
        "a disk trained one generation down",
        "fx100-a",
        stops=frozenset({"G1.2.17"}),
        edits=_tree((f"{_NVME2}/device/current_link_speed:16.0", f"{_NVME2}/device/current_link_speed:8.0")),
    ),
    Fault(
        "disk-link-unknown",
        "the kernel does not know the speed of a link",
        "fx100-a",
        undecided=frozenset({"G1.2.17"}),
        edits=_tree(
            (f"{_NVME2}/device/current_link_speed:16.0 GT/s PCIe", f"{_NVME2}/device/current_link_speed:Unknown")
        ),
    ),
    Fault(
        "disk-link-narrow",
        "a disk trained at x2: dirty contact",
        "fx100-a",
        stops=frozenset({"G1.2.18"}),
        edits=_tree((f"{_NVME2}/device/current_link_width:4", f"{_NVME2}/device/current_link_width:2")),
    ),
    Fault(
        "disk-link-fatal-errors",
        "a disk's link saw a nonfatal error since boot",
        "fx100-a",
        stops=frozenset({"G1.2.19"}),
        edits=_tree(
            ("nvme2/device/aer_dev_nonfatal:TOTAL_ERR_NONFATAL 0", "nvme2/device/aer_dev_nonfatal:TOTAL_ERR_NONFATAL 1")
        ),
    ),
    Fault(
        "disk-link-corrects",
        "a disk's link corrects errors while it is watched",
        "fx100-a",
        stops=frozenset({"G1.2.20"}),
        edits=_tree(
            ("nvme2/device/aer_dev_correctable:TOTAL_ERR_COR 0", "nvme2/device/aer_dev_correctable:TOTAL_ERR_COR 3"),
            again=True,
        ),
    ),
    Fault(
        "disk-sends-bad-packets",
        "the port above a disk corrects what the disk sends; the disk itself sees nothing",
        "fx100-a",
        stops=frozenset({"G1.2.20"}),
        edits=_tree(
            (
                "nvme2/device/../aer_dev_correctable:TOTAL_ERR_COR 0",
                "nvme2/device/../aer_dev_correctable:TOTAL_ERR_COR 3",
            ),
            again=True,
        ),
    ),
    Fault(
        "aer-counted-by-nobody",
        "the firmware did not hand AER over: every counter is there and reads zero for ever",
        "node-01",
        undecided=frozenset({"G1.2.19", "G1.2.20", "G1.3.20"}),
        edits=(Edit(r"grep -Hs '' \S+ /sys/bus/pci_express/drivers/aer/.*", stdout=_KERNEL),),
    ),
    Fault(
        "disk-aer-kept-by-firmware",
        "the firmware keeps the error counters to itself",
        "node-01",
        undecided=frozenset({"G1.2.19", "G1.2.20"}),
        edits=_tree(("nvme0/device/aer_dev_", "nvme0/device/other_"), every=True),
    ),
    Fault(
        "disk-small-packets",
        "the BIOS limits packets to 128 bytes",
        "fx100-a",
        stops=frozenset({"G1.2.21"}),
        edits=(
            Edit(
                r"lspci -D -vvv .*", replace=(("MaxPayload 256 bytes, MaxReadReq", "MaxPayload 128 bytes, MaxReadReq"),)
            ),
        ),
    ),
    Fault(
        "disk-lspci-as-user",
        "lspci does not run as root",
        "fx100-a",
        undecided=frozenset({"G1.2.21"}),
        edits=(
            Edit(
                r"lspci -D -vvv .*",
                stdout="0000:41:00.0 Non-Volatile memory controller: x\n\tCapabilities: <access denied>\n",
            ),
        ),
    ),
    Fault(
        "disk-on-other-socket",
        "a disk hangs on the other socket than the storage port",
        "fx100-a",
        stops=frozenset({"G1.2.22"}),
        edits=_tree((f"{_NVME2}/device/numa_node:0", f"{_NVME2}/device/numa_node:1")),
    ),
    Fault(
        "disk-leftover-lvm",
        "a baseline disk still carries LVM",
        "node-01",
        stops=frozenset({"G1.2.23"}),
        edits=(Edit(r"wipefs -n -J /dev/nvme0n1", replace=(('"xfs"', '"LVM2_member"'),)),),
    ),
    Fault(
        "disk-mounted-elsewhere",
        "a baseline disk is mounted for something else as well",
        "node-01",
        stops=frozenset({"G1.2.23"}),
        edits=(Edit(r"lsblk .*MOUNTPOINTS", replace=(('"/mnt/nvme0"', '"/mnt/nvme0", "/var/lib/docker"'),)),),
    ),
    Fault(
        "disk-no-nvme-cli",
        "nvme-cli is not installed; smartctl answers instead where it can",
        "node-01",
        undecided=frozenset({"G1.2.6", "G1.2.7", "G1.2.13", "G1.2.15", "G1.5.31", "G1.5.33"}),
        edits=(Edit(r"nvme .*", stdout="", stderr="sh: 1: nvme: not found\n", status=127),),
    ),
    Fault(
        "disk-smart-garbled",
        "the health log of one disk comes back cut, and smartctl cannot open the disk",
        "fx100-a",
        undecided=frozenset(f"G1.2.{number}" for number in (8, 9, 10, 11, 12, 13, 14)),
        edits=(
            Edit(_SMART.format(n=2), stdout='{\n  "critical_warning":0,\n  "temper'),
            Edit(r"smartctl -a -j /dev/nvme2", stdout="", stderr="", status=2),
        ),
    ),
)
