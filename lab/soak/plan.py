"""The plan of a soak of the lab: as the worker's, with coarser intervals where a test wants fewer lines."""

from __future__ import annotations

from typing import Any

HOUR = 3600.0

#: Seconds between samples as runbooks/soak-journal.md has them.
EVERY = {
    "disk": 10, "net": 10, "rdma": 10, "nvme": 10, "kernel": 10, "metrics": 15, "memory": 30, "load": 30, "space": 30, "thermal": 30,
    "throttle": 30, "edac": 30, "aer": 30, "accelerator": 300, "process": 60, "worker": 60, "clock": 60, "ethtool": 300, "smart": 600,
}  # fmt: skip


_TOOLS: dict[str, dict[str, list[str]]] = {
    "rocm": {"amd-smi": ["amd-smi", "metric", "--json"]},
    "nvidia": {"nvidia-smi": ["nvidia-smi", "-q", "-x"]},
    "ascend": {"npu-smi": ["npu-smi", "info"], "npu-smi-ecc": ["npu-smi", "info", "-t", "ecc"]},
}


def plan(
    host: str,
    role: str,
    hours: float = 72.0,
    scale: float = 1.0,
    coarse: float = 0.0,
    policy: dict[str, Any] | None = None,
    platform: str = "rocm",
) -> dict[str, Any]:
    """Return the plan of one host. ``coarse``: no stream is sampled more often than every so many seconds."""
    every = {stream: max(float(seconds), coarse) for stream, seconds in EVERY.items() if stream != "metrics"}
    node = role == "node"
    if not node:
        del every["process"], every["accelerator"]
    streams: dict[str, Any] = {stream: {"every": seconds} for stream, seconds in every.items()}
    streams["space"]["paths"] = ["/mnt/fx100"] if node else ["/mnt/array"]
    streams["smart"] |= {
        "limit": 30,
        "commands": {name: ["nvme", "smart-log", f"/dev/{name}", "-o", "json"] for name in disks(role)},
    }
    streams["ethtool"] |= {"limit": 30, "commands": {"ens1f0np0": ["ethtool", "-S", "ens1f0np0"]}}
    streams["clock"] |= {"limit": 10, "commands": {"chronyc": ["chronyc", "-c", "tracking"]}}
    if node:
        streams["accelerator"] |= {"limit": 25, "commands": _TOOLS[platform]}
        streams["process"]["units"] = {"engine": "vllm.service"}
    loads: list[dict[str, Any]] = [
        {"name": "client", "argv": ["kvgate-client"], "first": 0, "again": True, "limit": 3600, "output": "lines"},
        {"name": "verify", "argv": ["fio", "verify.fio"], "first": 0, "every": 4 * HOUR, "limit": 14000, "output": "whole"},
        {"name": "canary", "argv": ["kvgate-canary"], "first": 300, "every": 600, "limit": 500, "output": "whole"},
        {"name": "kvfiles", "argv": ["kvgate-kvfiles"], "first": 1800, "every": 4 * HOUR, "limit": 3000, "output": "whole"},
        {
            "name": "restart", "argv": ["systemctl", "restart", "vllm.service"], "first": 9 * HOUR + 600, "every": 24 * HOUR,
            "limit": 1800, "scheduled": True, "within": 1800,
        },
    ]  # fmt: skip
    return {
        "form": 1, "soak": "soak-lab", "host": host, "role": role, "scale": scale, "seconds": hours * HOUR, "streams": streams,
        "loads": loads if node else [], "cleanup": [],
        "policy": policy or {"interruption": "restart_clock", "interruptions": 0, "longest": 0},
        "bounds": {"segment_bytes": 8388608, "journal_bytes": 4294967296, "free_bytes": 1073741824, "memory_bytes": 268435456},
    }  # fmt: skip


def disks(role: str) -> tuple[str, ...]:
    """Kernel names of the host's own disks."""
    return ("nvme0",) if role == "node" else ("nvme0", "nvme1", "nvme2", "nvme3")
