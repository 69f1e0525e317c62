"""What to ask about NVMe disks. The tree of controllers is also how a serial is resolved to today's kernel name."""

from __future__ import annotations

from checks.parsers import sysfs_nvme
from checks.probe import Glob, Probe

_CONTROLLER = (
    "transport", "address", "state", "serial", "model", "firmware_rev", "subsysnqn", "cntlid", "queue_count", "sqsize",
    "ctrl_loss_tmo", "reconnect_delay", "fast_io_fail_tmo", "kato", "hostnqn", "hostid", "numa_node",
    "device/current_link_speed", "device/current_link_width", "device/max_link_speed", "device/max_link_width",
    "device/numa_node", "device/aer_dev_correctable", "device/aer_dev_nonfatal", "device/aer_dev_fatal",
    "nvme*/nsid", "nvme*/size", "nvme*/wwid", "nvme*/ana_state",
)  # fmt: skip
_SUBSYSTEM = ("subsysnqn", "iopolicy", "nvme*/nsid", "nvme*/size", "nvme*/wwid")


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
