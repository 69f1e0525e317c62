"""What is asked about accelerators: one entry a platform, and the questions that are the same on all of them."""

from __future__ import annotations

from collections.abc import Mapping

from checks.accelerator import ascend, nvidia, pci, rocm
from checks.accelerator.facts import Platform
from checks.probe import Probe

#: Platform of the inventory -> how its cards are asked.
PLATFORMS: Mapping[str, Platform] = {
    "rocm": rocm.PLATFORM,
    "ascend": ascend.PLATFORM,
    "nvidia": nvidia.PLATFORM,
}

FABRIC_MANAGER = nvidia.FABRIC_MANAGER
GDS = nvidia.GDS
GDS_OTHERWISE = nvidia.GDS_OTHERWISE

BUS: Probe[pci.Bus] = Probe("pci-bus", pci.DUMP, pci.bus, accepted=pci.SOME)

_WAYS = "^(nvidia_peermem|ib_core) |[[:space:]](ib_umem_dmabuf_get|ib_register_peer_memory_client)|Open Kernel Module"
PEER_MEMORY: Probe[pci.PeerMemory] = Probe(
    "peer-memory",
    ("grep", "-HsE", _WAYS, "/proc/modules", "/proc/kallsyms", "/proc/driver/nvidia/version"),
    pci.peer_memory,
    accepted=pci.SOME,
)
