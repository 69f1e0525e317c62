"""``grep -Hs '' /sys/bus/pci/devices/<address>/...``: link, error counters and place of PCI Express devices.

The kernel release stands first in the output: a host where the device is gone still answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from checks.lexing import aer_total, integer, link_speed, link_width, tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-pci"

RELEASE = "/proc/sys/kernel/osrelease"
FILES = (
    "class", "vendor", "device", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
    "numa_node", "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal",
)  # fmt: skip
_PATH = re.compile(r"/sys/bus/pci/devices/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/(\w+)", re.ASCII)
_HEX = re.compile(r"0x[0-9a-f]{4,6}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PciDevice:
    """One device. Speeds in GT/s; None where the kernel says unknown, offers no such file, or NUMA is not told (-1)."""

    bdf: str
    class_code: str
    vendor: str
    device: str
    current_gts: float | None
    current_lanes: int | None
    max_gts: float | None
    max_lanes: int | None
    numa_node: int | None
    aer_correctable: int | None
    aer_nonfatal: int | None
    aer_fatal: int | None


@dataclass(frozen=True, slots=True)
class PciDevices:
    """The devices that answered, by address."""

    kernel: str
    devices: tuple[PciDevice, ...]

    def at(self, bdf: str) -> PciDevice | None:
        """Return the device with this address, None if nothing is there."""
        return next((one for one in self.devices if one.bdf == bdf), None)


def parse(text: str) -> PciDevices:
    """Read all devices; one without class, vendor and device is refused."""
    grouped: dict[str, dict[str, str]] = defaultdict(dict)
    kernel = ""
    for path, value in tree(text).items():
        if path == RELEASE and "\n" not in value:
            kernel = value.strip()
        elif (found := _PATH.fullmatch(path)) and found[2] in FILES:
            grouped[found[1]][found[2]] = value
        else:
            raise UnreadableOutput(f"found {path[:80]!r}, wanted known files of PCI devices, each once")
    if not kernel:
        raise UnreadableOutput(f"found no {RELEASE}, wanted it: the output may be cut at its beginning")
    return PciDevices(kernel, tuple(_device(bdf, table) for bdf, table in sorted(grouped.items())))


def _device(bdf: str, table: dict[str, str]) -> PciDevice:
    for key in ("class", "vendor", "device"):
        if _HEX.fullmatch(table.get(key, "")) is None:
            raise UnreadableOutput(f"{bdf}: {key} is {table.get(key)!r}, wanted such as 0x8086")

    def speed(key: str) -> float | None:
        return link_speed(table[key]) if key in table else None

    def lanes(key: str) -> int | None:
        return link_width(table[key]) if key in table else None

    def errors(key: str, total: str) -> int | None:
        return aer_total(table[key], total) if key in table else None

    node = integer(table["numa_node"], "numa_node") if "numa_node" in table else -1
    return PciDevice(
        bdf=bdf,
        class_code=table["class"],
        vendor=table["vendor"],
        device=table["device"],
        current_gts=speed("current_link_speed"),
        current_lanes=lanes("current_link_width"),
        max_gts=speed("max_link_speed"),
        max_lanes=lanes("max_link_width"),
        numa_node=None if node == -1 else node,
        aer_correctable=errors("aer_dev_correctable", "TOTAL_ERR_COR"),
        aer_nonfatal=errors("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
        aer_fatal=errors("aer_dev_fatal", "TOTAL_ERR_FATAL"),
    )
