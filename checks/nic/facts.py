"""What a port is, joined from what several tools say about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checks.parsers.ethtool import Settings
from checks.parsers.ethtool_i import DriverInfo
from checks.parsers.ethtool_m import Lane, Limits, Module
from checks.parsers.ip_link import Interface
from checks.parsers.od_pci_config import PciConfig
from checks.parsers.sysfs_net import Lanes, NetDevice

#: GT/s of each PCI Express generation, as the kernel prints them.
GENERATION = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


@dataclass(frozen=True, slots=True)
class Link:
    """State of an Ethernet link; None where the driver does not say."""

    up: bool | None
    speed_mbps: int | None
    duplex: str | None
    why_down: str | None


def link(fact: Settings | NetDevice) -> Link:
    """Read the link from ethtool or from sysfs, which hides ``carrier`` while the port is administratively down."""
    if isinstance(fact, Settings):
        return Link(fact.link, fact.speed_mbps, fact.duplex.lower() if fact.duplex else None, fact.why_down)
    up = False if fact.carrier is None and fact.state == "down" else fact.carrier
    return Link(up, fact.speed_mbps, fact.duplex, None)


def driver_name(fact: DriverInfo | NetDevice) -> str | None:
    """Name of the driver from ethtool -i or from the device's uevent."""
    return fact.driver


def named(interfaces: Iterable[Interface], name: str) -> Interface | None:
    """Return the interface with this name."""
    return next((port for port in interfaces if port.name == name), None)


def with_mac(interfaces: Iterable[Interface], mac: str) -> list[Interface]:
    """Every interface whose card carries this address; more than one only where a driver copies it."""
    return [port for port in interfaces if port.mac is not None and port.mac.lower() == mac.lower()]


def bandwidth_mbps(link: Lanes) -> int | None:
    """Usable Mb/s of a PCI Express link as the kernel reckons it: 8b/10b up to 5 GT/s, 128b/130b up to 32, then none.

    Gen3 x16 is 126,016 Mb/s and Gen3 x8 63,008 Mb/s, the numbers of the kernel's own message.
    """
    if link.gts is None or link.width is None or link.gts not in GENERATION:
        return None
    mega = round(link.gts * 1000)
    lane = mega * 8 // 10 if link.gts <= 5 else mega * 128 // 130 if link.gts <= 32 else mega
    return lane * link.width


def show(link: Lanes) -> str:
    """``Gen4 x16`` for a link; what is not known reads ``?``."""
    generation = GENERATION.get(link.gts) if link.gts is not None else None
    return f"Gen{generation or '?'} x{link.width or '?'}"


def copper(module: Module) -> bool:
    """Whether a copper cable is plugged, by connector, transmitter technology or cable type."""
    words = (module.connector, module.technology or "", *module.types)
    return module.connector.startswith("0x21") or any(re.search(r"copper|passive cable", w, re.I) for w in words)


def optical_lanes(module: Module) -> int | None:
    """How many optical lanes a module of this kind has; None where its type does not settle it.

    QSFP modules for one wavelength (100GBASE-DR, FR1, LR1) show three more lanes, which are always dark.
    """
    kind = module.identifier[:4].lower()
    if kind == "0x03":
        return 1
    if kind in ("0x0c", "0x0d", "0x11"):
        if any(re.search(r"100G.*\b(?:DR1?|FR1?|LR1)\b", word) for word in module.types):
            return 1
        if any(re.search(r"\b(?:[SLE]R4|C?LR4|[CS]WDM4|4WDM|PSM4|AOC|Active Cable)\b", word) for word in module.types):
            return 4
    return None


def lit_lanes(module: Module) -> Sequence[Lane]:
    """Lanes that must carry light: all, or only the first of a module with a single optical lane."""
    count = optical_lanes(module)
    return module.lanes if count is None else module.lanes[:count]


def usable(limits: Limits | None) -> bool:
    """Whether limits are in order. A module page that was not read gives zeros or numbers that contradict each other."""
    return limits is not None and (limits.low_alarm <= limits.low_warning < limits.high_warning <= limits.high_alarm)


def packet_sizes(config: PciConfig) -> tuple[int | None, int | None]:
    """(largest payload, largest read request) in bytes from the device control register; None for reserved codes."""
    low, high = (int(byte, 16) for byte in config.device_control.split())
    codes = (low >> 5 & 7, high >> 4 & 7)
    payload, request = (128 << code if code <= 5 else None for code in codes)
    return payload, request
