"""Versions of each tool whose output the tests read; made by ``python -m tests.parsers.seen``."""

from __future__ import annotations

#: Command -> versions, kernels or drivers, in one text. Another version is read too, or refused with its reason.
SEEN = {
    "aiperf-records": "0.13", "aiperf-summary": "0.13", "amd-smi-bad-pages": "rocm6.3 rocm7.2",
    "amd-smi-list": "rocm6.3 rocm7", "amd-smi-metric": "rocm6.1 rocm6.1.2 rocm6.2 rocm7 rocm7.2",
    "amd-smi-partition": "rocm6.4 rocm7", "amd-smi-static": "mi350x rocm7.2",
    "amd-smi-version": "rocm6.3 rocm7.2", "boot-id": "", "chronyc-sources": "4.3 4.5",
    "chronyc-tracking": "3.x 4.x 4.3 4.5", "cma_roce": "6.x 6.8 ofed5", "cmdline": "6.8 linux6.1",
    "dcb-app": "6.1 6.8", "dcb-ets": "6.1", "dcb-pfc": "6.1", "df": "9.1 coreutils",
    "diskstats": "4.4 4.18 6.1 6.18",
    "dmesg": "linux4.x linux5.x linux5.6 linux6.x linux6.1 linux6.8 linux6.18 nvidia550 systemd252 systemd255 utillinux2.38 utillinux2.39",
    "dmidecode": "3.1 3.4 3.5", "ethtool": "6.1 6.7",
    "ethtool-S": "bnxt_en hns3 i40e ice ionic mlx5_core virtio", "ethtool-a": "5.10 6.7",
    "ethtool-g": "6.1 6.7", "ethtool-i": "6.1 6.7", "ethtool-m": "qsfp28 sfp",
    "ethtool-show-fec": "5.x 6.1 6.7 6.18", "findmnt": "2.38", "fio": "2.21 3.33 3.42",
    "gdscheck": "1.0 1.1 1.16", "gdsio": "1.x", "guidellm": "0.8.1", "hccn_tool": "23.0 24.1 25.x",
    "ib_write_bw": "5.x 6.x 24.10", "ib_write_lat": "6.x", "ibv_devinfo": "25 39 44",
    "iostat": "11.x 12.6 12.7", "ip-addr": "6.1", "ip-link": "6.1", "ipmitool-sdr": "1.8",
    "journal-files": "systemd255", "lldpctl": "1.0", "lsblk": "2.34 2.37 2.38", "lscpu": "2.37 2.38 2.39",
    "lsmod": "kmod30", "lspci": "3.7 3.9", "mdadm-detail": "3.x 4.x 4.2", "mdstat": "6.x 6.1",
    "meminfo": "linux6.1", "mlnx_qos": "ofed4.2 ofed23.10",
    "model-config": "4.33 4.37 4.43 4.50 4.51 4.54 5.0", "mountstats": "statvers1.1", "niccli": "230",
    "npu-smi": "23.0 24.1 26.0", "ntpq-p": "4.2", "nvidia-smi": "515 550 590", "nvme-discover": "1.x 2.8",
    "nvme-host": "6.1 6.8", "nvme-id-ctrl": "1.x 2.3", "nvme-id-ns": "2.3", "nvme-list": "2.x 2.3",
    "nvme-list-subsys": "1.x 2.0 2.3 2.8", "nvme-self-test-log": "2.x", "nvme-show-topology": "2.2",
    "nvme-smart-log": "2.2 2.3 2.11", "nvmet": "5.10 6.1 6.8", "od-pci-config": "coreutils",
    "os-release": "arch debian12 ubuntu24.04", "ping": "iputils20180629 iputils20211215 iputils20221126",
    "proc-limits": "systemd219 systemd255", "rdma": "5.0 6.1", "rdma-qos": "6.8 6.14 ofed23.10",
    "rdma-statistic": "6.1", "readlink": "9.1", "rocm-smi": "rocm6.0.2 rocm7.2",
    "sglang-bench-serving": "0.5.23", "show_gids": "ofed5", "smartctl": "7.0 7.1 7.3", "stat-f": "9.1",
    "sysctl": "linux6.1 procps4", "sysfs-aer": "6.8", "sysfs-cpufreq": "6.1 6.8", "sysfs-edac": "6.8",
    "sysfs-infiniband": "6.1 6.8 mlx5_0", "sysfs-iommu": "6.8", "sysfs-md": "6.1 6.8",
    "sysfs-module": "5.15 6.8", "sysfs-net": "6.1 6.8", "sysfs-nvme": "6.1 6.8", "sysfs-pci": "4.15 6.8",
    "systemctl-is-active": "", "timedatectl": "249 252 255", "uname": "6.8 linux6.1",
    "vllm-bench-serve": "0.20 0.32", "vllm-log": "0.9 0.11", "wipefs": "2.38", "xfs_info": "6.1",
}  # fmt: skip
