"""``grep -Hs '' /proc/cmdline /sys/bus/pci/drivers/*/*/iommu_group/type``: how the IOMMU treats each bound PCI device.

``identity`` passes addresses through, ``DMA`` and ``DMA-FQ`` translate them; a host without active IOMMU has no such file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-iommu"
_TYPE = re.compile(
    r"/sys/bus/pci/drivers/([\w.-]+)/([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/iommu_group/type", re.ASCII
)
_WORDS = frozenset({"DMA", "DMA-FQ", "identity", "blocked", "unmanaged", "auto"})


@dataclass(frozen=True, slots=True)
class Domain:
    """One PCI device bound to ``driver`` and the type of its IOMMU domain."""

    driver: str
    bdf: str
    type: str


@dataclass(frozen=True, slots=True)
class Iommu:
    """All devices that are behind an IOMMU; none when it is off."""

    cmdline: str
    domains: tuple[Domain, ...]


def parse(text: str) -> Iommu:
    """Read the files, or refuse an unknown path or domain type."""
    found = tree(text)
    cmdline = found.pop("/proc/cmdline", None)
    if not cmdline:
        raise UnreadableOutput("no line of /proc/cmdline")
    domains = []
    for path, value in found.items():
        if (name := _TYPE.fullmatch(path)) is None or value not in _WORDS:
            raise UnreadableOutput(f"found {path[:80]!r} with {value[:20]!r}, wanted the domain type of a device")
        domains.append(Domain(name[1], name[2], value))
    return Iommu(cmdline, tuple(domains))
