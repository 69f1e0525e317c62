"""What to ask about NVMe disks. The tree of controllers is also how a serial is resolved to today's kernel name."""

from __future__ import annotations

from functools import cache

from checks.nvme.health import Health, health_by_nvme, health_by_smartctl
from checks.parsers import lsblk, nvme_id_ctrl, nvme_id_ns, nvme_self_test_log, sysfs_nvme, wipefs
from checks.probe import Device, Glob, Probe

_CONTROLLER = (
    "transport", "address", "state", "serial", "model", "firmware_rev", "subsysnqn", "cntlid", "queue_count", "sqsize",
    "ctrl_loss_tmo", "reconnect_delay", "fast_io_fail_tmo", "kato", "hostnqn", "hostid", "numa_node",
    "device/current_link_speed", "device/current_link_width", "device/max_link_speed", "device/max_link_width",
    "device/numa_node", "device/aer_dev_correctable", "device/aer_dev_nonfatal", "device/aer_dev_fatal",
    "device/../aer_dev_correctable", "device/../aer_dev_nonfatal", "device/../aer_dev_fatal",
    "nvme*/nsid", "nvme*/size", "nvme*/wwid", "nvme*/ana_state",
)  # fmt: skip
_SUBSYSTEM = ("subsysnqn", "iopolicy", "nvme*/nsid", "nvme*/size", "nvme*/wwid")


@cache
def controllers() -> Probe[sysfs_nvme.NvmeTree]:
    """Every NVMe controller, namespace and subsystem of a host, fabrics included; a file that is absent is no fault."""
    return Probe(
        id="sysfs-nvme",
        argv=(
            "grep",
            "-Hs",
            "",
            sysfs_nvme.RELEASE,
            sysfs_nvme.MULTIPATH,
            *(Glob(f"/sys/class/nvme/nvme*/{name}") for name in _CONTROLLER),
            *(Glob(f"/sys/class/nvme-subsystem/nvme-subsys*/{name}") for name in _SUBSYSTEM),
        ),
        parse=sysfs_nvme.parse,
        accepted=frozenset({0, 1, 2}),
    )


def smart_log(serial: str) -> Probe[Health]:
    """Health by nvme-cli."""
    return Probe("nvme-smart-log", ("nvme", "smart-log", Device("controller", serial), "-o", "json"), health_by_nvme)


def smartctl(serial: str) -> Probe[Health]:
    """Health by smartmontools; status bits 3 to 7 speak about the disk, bits 0 to 2 mean that it was not read."""
    return Probe(
        "smartctl",
        ("smartctl", "-a", "-j", Device("controller", serial)),
        health_by_smartctl,
        accepted=frozenset(range(0, 256, 8)),
    )


def identity(serial: str) -> Probe[nvme_id_ctrl.IdCtrl]:
    """What the controller says about itself."""
    return Probe("nvme-id-ctrl", ("nvme", "id-ctrl", Device("controller", serial), "-o", "json"), nvme_id_ctrl.parse)


def block_format(serial: str) -> Probe[nvme_id_ns.IdNs]:
    """Format of the first namespace."""
    return Probe("nvme-id-ns", ("nvme", "id-ns", Device("namespace", serial), "-o", "json"), nvme_id_ns.parse)


def self_tests(serial: str) -> Probe[nvme_self_test_log.SelfTestLog]:
    """Results of the disk's own tests; starts none."""
    return Probe(
        "nvme-self-test-log",
        ("nvme", "self-test-log", Device("controller", serial), "-o", "json"),
        nvme_self_test_log.parse,
    )


def signatures(serial: str) -> Probe[tuple[wipefs.Signature, ...]]:
    """Signatures on the first namespace; ``-n`` keeps wipefs from wiping."""
    return Probe("wipefs", ("wipefs", "-n", "-J", Device("namespace", serial)), wipefs.parse)


def blocks() -> Probe[tuple[lsblk.Block, ...]]:
    """All block devices of a host and what stands on them."""
    return Probe("lsblk", ("lsblk", "-J", "-b", "-o", "NAME,TYPE,SIZE,FSTYPE,MOUNTPOINTS"), lsblk.parse)


def blocks_of_old() -> Probe[tuple[lsblk.Block, ...]]:
    """Ask a util-linux before 2.37 the same; it names one mount point a device, so the table of mounts is judged too."""
    return Probe("lsblk-old", ("lsblk", "-J", "-b", "-o", "NAME,TYPE,SIZE,FSTYPE,MOUNTPOINT"), lsblk.parse)
