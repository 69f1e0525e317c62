"""What to ask a host about itself: processors, memory, firmware, kernel, settings, sensors. Clock and logs have their own files."""

from __future__ import annotations

from collections.abc import Iterable

from checks.parsers import (
    cmdline,
    dmidecode,
    ipmitool_sdr,
    lscpu,
    meminfo,
    os_release,
    proc_limits,
    sysctl,
    sysfs_cpufreq,
    sysfs_edac,
    sysfs_iommu,
    sysfs_module,
    uname,
)
from checks.probe import Glob, Probe

#: grep ends with 1 when nothing was printed and with 2 when a pattern had no file: both are answers.
_GREP = frozenset({0, 1, 2})


#: Modules that must come from one tree: the RDMA core and everything that is compiled against it.
RDMA_TREE = ("ib_core", "ib_uverbs", "mlx5_core", "mlx5_ib", "nvme_rdma", "nvmet_rdma", "rdma_cm")


_SERVICE = (
    'systemctl show "$1" -p LoadState -p ActiveState -p MainPID -p LimitMEMLOCKSoft -p LimitNOFILESoft || exit; '
    'pid=$(systemctl show "$1" -p MainPID | cut -d= -f2); '
    'if [ "${pid:-0}" -gt 0 ]; then cat "/proc/$pid/limits"; fi'
)


def kernel() -> Probe[uname.Kernel]:
    """Ask which kernel runs."""
    return Probe("uname", ("uname", "-srm"), uname.parse)


def distribution() -> Probe[os_release.Distribution]:
    """Ask which distribution is installed."""
    return Probe("os-release", ("cat", "/etc/os-release"), os_release.parse)


def processors() -> Probe[lscpu.Processors]:
    """Ask model, sockets and cores."""
    return Probe("lscpu", ("lscpu", "-J"), lscpu.parse)


def memory() -> Probe[meminfo.Memory]:
    """Ask what the kernel can use of the main memory."""
    return Probe("meminfo", ("cat", "/proc/meminfo"), meminfo.parse)


def firmware() -> Probe[dmidecode.Firmware]:
    """Ask the firmware's tables for its version and the memory modules."""
    return Probe("dmidecode", ("dmidecode", "-t", "0,17"), dmidecode.parse, limit=20)


def memory_errors() -> Probe[sysfs_edac.MemoryErrors]:
    """Ask the memory controllers' error counts, with the boot they belong to."""
    words = (
        "grep", "-Hs", "", "/proc/sys/kernel/random/boot_id",
        Glob("/sys/devices/system/edac/mc/mc*/ce_count"), Glob("/sys/devices/system/edac/mc/mc*/ue_count"),
    )  # fmt: skip
    return Probe("sysfs-edac", words, sysfs_edac.parse, accepted=_GREP)


def command_line() -> Probe[cmdline.CommandLine]:
    """Ask with which words the kernel was booted."""
    return Probe("cmdline", ("cat", "/proc/cmdline"), cmdline.parse)


def iommu() -> Probe[sysfs_iommu.Iommu]:
    """Ask how the IOMMU treats every PCI device that has a driver."""
    types = Glob("/sys/bus/pci/drivers/*/*/iommu_group/type")
    return Probe("sysfs-iommu", ("grep", "-Hs", "", "/proc/cmdline", types), sysfs_iommu.parse, accepted=_GREP)


def settings(names: Iterable[str]) -> Probe[sysctl.Settings]:
    """Ask kernel settings by name; sysctl ends with 255 (or 1) when one does not exist and still prints the others."""
    words = sorted({"kernel.numa_balancing", *names})
    return Probe("sysctl", ("sysctl", *words), sysctl.parse, accepted=frozenset({0, 1, 255}))


def modules(names: Iterable[str], kernel: str) -> Probe[sysfs_module.DriverModules]:
    """Ask which of these driver modules run and from which tree; ``kernel`` finds the list of what is built in."""
    wanted = sorted({*names, *RDMA_TREE})
    files = [f"/sys/module/{name}/{file}" for name in wanted for file in ("initstate", "version", "taint")]
    builtin = f"/lib/modules/{kernel}/modules.builtin"
    words = ("grep", "-Hs", "", "/proc/sys/kernel/osrelease", builtin, *files)
    return Probe("sysfs-module", words, sysfs_module.parse, accepted=_GREP)


def governors() -> Probe[sysfs_cpufreq.Governors]:
    """Ask how each CPU's clock is chosen."""
    words = (
        "grep", "-Hs", "", "/sys/devices/system/cpu/online", Glob("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"),
    )  # fmt: skip
    return Probe("sysfs-cpufreq", words, sysfs_cpufreq.parse, accepted=_GREP)


def service_limits(unit: str) -> Probe[proc_limits.ServiceLimits]:
    """Ask the limits of a systemd service: of its unit, and of its process while it runs."""
    return Probe("systemctl-show", ("sh", "-c", _SERVICE, "sh", unit), proc_limits.parse)


def sensors() -> Probe[ipmitool_sdr.Sensors]:
    """Ask the board controller for power supplies, fans and temperatures; slow controllers take their time."""
    return Probe("ipmitool-sdr", ("ipmitool", "sdr", "elist"), ipmitool_sdr.parse, limit=60)
