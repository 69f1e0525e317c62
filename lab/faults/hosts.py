"""Faults of hosts: hardware, firmware, kernel, settings, clock. Those of the kernel log stand in kernel_log.py."""

from __future__ import annotations

from lab.faults import kernel_log
from lab.faults.model import Fault
from lab.machine import Edit

#: Clauses that read the firmware's tables.
_FIRMWARE = frozenset({"G1.1.4", "G1.1.5", "G1.1.6", "G1.1.9"})


def _fault(
    name: str,
    text: str,
    stops: str,
    ask: str,
    *replace: tuple[str, str],
    on: str = "node-01",
    undecided: frozenset[str] = frozenset(),
    stdout: str | None = None,
    stderr: str | None = None,
    status: int | None = None,
    again: bool = False,
) -> Fault:
    change = Edit(ask=ask, replace=replace, stdout=stdout, stderr=stderr, status=status, again=again)
    return Fault(name, text, on, frozenset(stops.split()), undecided, (change,))


_SOCKETS = '"field": "Socket(s):",\n                     "data": "2"'
_DMI, _EDAC, _SYSCTL, _MODULE = r"dmidecode .*", r"grep .*edac.*", r"sysctl .*", r"grep .*/sys/module/ib_core.*"
_CPU, _LIMITS, _CHRONY = r"grep .*scaling_governor", r"sh -c .systemctl show .*", r"chronyc -c tracking"

_HARDWARE = (
    _fault(
        "host-wrong-processor",
        "a smaller processor was delivered",
        "G1.1.3",
        "lscpu -J",
        ("EPYC 9654 96", "EPYC 9554 64"),
    ),
    _fault(
        "host-socket-missing",
        "the second processor is dead",
        "G1.1.3",
        "lscpu -J",
        (_SOCKETS, _SOCKETS.replace("2", "1")),
    ),
    _fault(
        "host-core-missing",
        "one core of the second processor is dead: lscpu still prints 96 cores a socket",
        "G1.1.3",
        "lscpu -J",
        ('"0-383"', '"0-190,192-382"'),
    ),
    _fault(
        "host-cores-not-told",
        "lscpu cannot tell the sockets",
        "",
        "lscpu -J",
        (_SOCKETS, _SOCKETS.replace("2", "-")),
        undecided=frozenset({"G1.1.3"}),
    ),
    _fault(
        "host-dimm-missing",
        "one memory module is not seen",
        "G1.1.4 G1.1.5",
        _DMI,
        ("\tSize: 64 GB\n", "\tSize: No Module Installed\n"),
    ),
    _fault(
        "host-dimm-mapped-out",
        "the firmware hides a bad module from the kernel",
        "G1.1.4",
        "cat /proc/meminfo",
        ("1583125012", "1515981140"),
    ),
    _fault(
        "host-dimm-slow",
        "one memory module trained to a lower speed",
        "G1.1.6",
        _DMI,
        ("Configured Memory Speed: 4800", "Configured Memory Speed: 4400"),
        on="fx100-a",
    ),
    _fault(
        "host-dimm-speed-unknown",
        "the firmware does not tell a speed",
        "",
        _DMI,
        ("Configured Memory Speed: 4800 MT/s", "Configured Memory Speed: Unknown"),
        undecided=frozenset({"G1.1.6"}),
    ),
    _fault(
        "host-memory-uncorrected",
        "a memory error was not corrected",
        "G1.1.7",
        _EDAC,
        ("mc1/ue_count:0", "mc1/ue_count:1"),
    ),
    _fault(
        "host-memory-correcting",
        "corrected memory errors come up all the time",
        "G1.1.8",
        _EDAC,
        ("mc0/ce_count:0", "mc0/ce_count:57"),
        again=True,
    ),
    _fault(
        "host-memory-corrected-often",
        "a memory module needed hundreds of corrections since boot, none in the seconds it was watched",
        "G1.1.29",
        _EDAC,
        ("mc1/ce_count:0", "mc1/ce_count:612"),
    ),
    _fault(
        "host-edac-not-loaded",
        "no driver counts memory errors",
        "",
        _EDAC,
        undecided=frozenset({"G1.1.7", "G1.1.8", "G1.1.29"}),
        stdout="/proc/sys/kernel/random/boot_id:6b766761-7465-4c61-b000-000000000001\n",
    ),
    _fault(
        "host-edac-garbled",
        "a count of memory errors is no number",
        "",
        _EDAC,
        ("mc0/ue_count:0", "mc0/ue_count:N/A"),
        undecided=frozenset({"G1.1.7", "G1.1.8", "G1.1.29"}),
    ),
    _fault(
        "host-bios-old", "one node has an older firmware", "G1.1.9 G1.1.27", _DMI, ("Version: 2.3.7", "Version: 2.1.4")
    ),
    _fault(
        "host-dmidecode-missing",
        "dmidecode is not installed",
        "",
        _DMI,
        undecided=_FIRMWARE | {"G1.1.27"},
        stdout="",
        stderr="sh: 1: dmidecode: not found\n",
        status=127,
    ),
    _fault(
        "host-dmidecode-not-root",
        "dmidecode cannot read the tables",
        "",
        _DMI,
        undecided=_FIRMWARE | {"G1.1.27"},
        stdout="# dmidecode 3.5\nScanning /dev/mem for entry point.\n",
        stderr="/dev/mem: Permission denied\n",
        status=1,
    ),
    _fault(
        "host-power-supply-lost",
        "a power supply has no mains",
        "G1.1.25",
        "ipmitool .*",
        ("10.2 | Presence detected", "10.2 | Presence detected, Power Supply AC lost"),
    ),
    _fault(
        "host-fan-critical",
        "a fan stands still",
        "G1.1.25",
        "ipmitool .*",
        ("32h | ok  |  7.1 | 9360 RPM", "32h | cr  |  7.1 | 0 RPM"),
    ),
    _fault(
        "host-no-bmc",
        "the board controller cannot be reached",
        "",
        "ipmitool .*",
        undecided=frozenset({"G1.1.25"}),
        stdout="",
        stderr="Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory\n",
        status=1,
    ),
)

_SYSTEM = (
    _fault(
        "host-kernel-upgraded",
        "an unattended upgrade changed the kernel",
        "G1.1.2 G1.1.26",
        "uname -srm",
        ("6.8.0-60", "6.8.0-62"),
    ),
    _fault(
        "host-other-distribution",
        "one node was installed from another image",
        "G1.1.28",
        "cat /etc/os-release",
        ("Ubuntu 24.04.2 LTS", "Ubuntu 22.04.5 LTS"),
    ),
    _fault(
        "host-iommu-not-passed-through",
        "the kernel was booted without iommu=pt",
        "G1.1.10",
        "cat /proc/cmdline",
        ("iommu=pt ", "iommu=ptx "),
    ),
    _fault(
        "host-iommu-translates",
        "the IOMMU translates a port's addresses",
        "G1.1.11",
        "grep .*iommu_group.*",
        ("0000:c1:00.0/iommu_group/type:identity", "0000:c1:00.0/iommu_group/type:DMA-FQ"),
    ),
    _fault(
        "host-numa-balancing",
        "automatic NUMA balancing is on",
        "G1.1.12",
        _SYSCTL,
        ("numa_balancing = 0", "numa_balancing = 1"),
        on="fx100-a",
    ),
    _fault(
        "host-hugepages-taken",
        "somebody reserved huge pages",
        "G1.1.13",
        "cat /proc/meminfo",
        ("HugePages_Total:       0", "HugePages_Total:    8192"),
    ),
    _fault(
        "host-powersave",
        "one processor saves power",
        "G1.1.14",
        _CPU,
        ("cpu7/cpufreq/scaling_governor:performance", "cpu7/cpufreq/scaling_governor:powersave"),
    ),
    _fault(
        "host-no-cpufreq",
        "the firmware keeps the clocks",
        "",
        _CPU,
        undecided=frozenset({"G1.1.14"}),
        stdout="/sys/devices/system/cpu/online:0-383\n",
    ),
    _fault(
        "host-service-cannot-lock",
        "the service keeps the default memory lock",
        "G1.1.15",
        _LIMITS,
        (
            "Max locked memory         unlimited            unlimited",
            "Max locked memory         8388608              8388608  ",
        ),
    ),
    _fault(
        "host-service-few-files",
        "the service may open few files",
        "G1.1.15",
        _LIMITS,
        ("Max open files            1048576 ", "Max open files            1024    "),
    ),
    _fault(
        "host-service-down-and-few-files",
        "the service does not run and would start with the usual soft limit on open files",
        "G1.1.15",
        _LIMITS,
        stdout="LoadState=loaded\nActiveState=inactive\nMainPID=0\nLimitMEMLOCKSoft=infinity\nLimitNOFILESoft=1024\n",
    ),
    _fault(
        "host-service-missing",
        "the service is not installed",
        "G1.1.15",
        _LIMITS,
        stdout="LoadState=not-found\nActiveState=inactive\nMainPID=0\n",
    ),
    _fault(
        "host-sysctl-differs",
        "a socket buffer has its default",
        "G1.1.16",
        _SYSCTL,
        ("rmem_max = 268435456", "rmem_max = 212992"),
    ),
    _fault(
        "host-sysctl-silent",
        "a setting does not exist",
        "",
        _SYSCTL,
        ("vm.swappiness = 10\n", ""),
        status=255,
        undecided=frozenset({"G1.1.16"}),
    ),
    _fault(
        "host-module-not-loaded",
        "nvme_rdma is not loaded",
        "G1.1.17",
        _MODULE,
        ("/sys/module/nvme_rdma/initstate:live\n/sys/module/nvme_rdma/taint:\n", ""),
    ),
    _fault(
        "host-trees-mixed",
        "a vendor's driver runs on the kernel's RDMA core",
        "G1.1.18",
        _MODULE,
        ("/sys/module/mlx5_ib/taint:", "/sys/module/mlx5_ib/taint:OE"),
    ),
    _fault(
        "host-root-full",
        "the root filesystem is nearly full",
        "G1.1.23",
        "stat -f / /var/log",
        ("Available: 98214912", "Available: 1310720"),
    ),
    _fault(
        "host-journal-in-memory",
        "the journal is lost at the next reboot",
        "G1.1.24",
        "ls -d .*",
        ("/var/log/journal/", "/run/log/journal/"),
    ),
)

_TIME = (
    _fault(
        "host-clock-not-synchronised",
        "no time server answers, and the offset reads zero",
        "G1.1.19",
        _CHRONY,
        stdout="00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,"
        "1.000000000,0.0,Not synchronised\n",
    ),
    _fault("host-clock-off", "the clock is 4 ms off its source", "G1.1.19", _CHRONY, ("-0.000021347", "-0.004021347")),
    _fault(
        "host-clock-stale", "the time source fell silent days ago", "G1.1.19", _CHRONY, ("0.000287115", "0.412087115")
    ),
    _fault(
        "host-clock-follows-itself",
        "chrony serves its own clock ('local stratum 10') and calls it synchronised",
        "G1.1.19",
        _CHRONY,
        stdout="7F7F0101,,10,1795960150.173130124,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,"
        "0.000000000,0.0,Normal\n",
    ),
    _fault(
        "host-clock-unsynchronised-kernel",
        "the kernel does not trust its clock",
        "G1.1.20",
        "timedatectl show",
        ("NTPSynchronized=yes", "NTPSynchronized=no"),
    ),
    _fault(
        "host-time-source-loses-polls",
        "the time source misses polls",
        "G1.1.21",
        "chronyc -c -n sources",
        ("192.168.100.1,2,6,377", "192.168.100.1,2,6,357"),
    ),
    _fault(
        "host-chrony-down",
        "chrony does not run and nothing else keeps the time",
        "",
        r"chronyc -c .*",
        undecided=frozenset({"G1.1.19", "G1.1.21"}),
        stdout="506 Cannot talk to daemon\n",
        status=1,
    ),
    Fault(
        "host-clock-ahead",
        "one clock is two seconds ahead",
        "node-01",
        frozenset({"G1.1.22"}),
        behaviour="clock-ahead-2",
    ),
)

FAULTS: tuple[Fault, ...] = (*_HARDWARE, *_SYSTEM, *_TIME, *kernel_log.FAULTS)
