"""``od -An -v -tx1 /sys/class/net/<interface>/device/config``: PCI configuration space, for what sysfs gives no file of.

256 bytes (PCI) or 4096 (PCI Express). Who is not root reads 64 bytes only, without the capabilities, and is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "od-pci-config"

_ROW = re.compile(r"(?: [0-9a-f]{2}){16}")
_CAPABILITIES_LISTED = 0x10  # bit of the status register
_PCI_EXPRESS = 0x10  # capability id


@dataclass(frozen=True, slots=True)
class PciConfig:
    """Registers as printed, low byte first. ``device_control`` belongs to the PCI Express capability."""

    vendor: str
    device: str
    device_control: str


def parse(text: str) -> PciConfig:
    """Walk to the PCI Express capability; a dump of another length, or of a device that is gone, is refused."""
    rows = lines(text)
    if wrong := [row for row in rows if _ROW.fullmatch(row) is None]:
        raise UnreadableOutput(f"found {wrong[0][:60]!r}, wanted sixteen bytes in hexadecimal")
    data = [byte for row in rows for byte in row.split()]
    if len(data) not in (256, 4096):
        raise UnreadableOutput(f"{len(data)} bytes of configuration space, wanted 256 or 4096: only root reads all")
    if data[0:2] == ["ff", "ff"]:
        raise UnreadableOutput("the device answers with all bits set: it is gone from the bus")
    if not int(data[6], 16) & _CAPABILITIES_LISTED:
        raise UnreadableOutput("the device lists no capabilities")
    place, seen = int(data[0x34], 16) & 0xFC, set[int]()
    while place >= 0x40 and place not in seen:
        seen.add(place)
        if int(data[place], 16) == _PCI_EXPRESS and place + 10 <= 256:
            return PciConfig(" ".join(data[0:2]), " ".join(data[2:4]), " ".join(data[place + 8 : place + 10]))
        place = int(data[place + 1], 16) & 0xFC
    raise UnreadableOutput("no PCI Express capability in the list")
