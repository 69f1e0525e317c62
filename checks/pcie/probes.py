"""What to ask about PCI Express devices: sysfs for links and counters, lspci for what sysfs does not tell (payload)."""

from __future__ import annotations

from checks.parsers import lspci, sysfs_aer, sysfs_pci
from checks.probe import Glob, Probe


def devices(*addresses: str) -> Probe[sysfs_pci.PciDevices]:
    """Link, AER counters and NUMA node of the devices at these PCI addresses."""
    files = [Glob(f"/sys/bus/pci/devices/{bdf}/{name}") for bdf in sorted(addresses) for name in sysfs_pci.FILES]
    return Probe(
        "sysfs-pci",
        ("grep", "-Hs", "", sysfs_pci.RELEASE, *files),
        sysfs_pci.parse,
        accepted=frozenset({0, 1, 2}),
    )


def error_service() -> Probe[sysfs_aer.AerService]:
    """Whether the kernel counts PCI Express errors at all: without its service, every AER counter reads zero for ever."""
    return Probe(
        "sysfs-aer",
        ("grep", "-Hs", "", sysfs_aer.RELEASE, Glob("/sys/bus/pci_express/drivers/aer/*:pcie*/uevent")),
        sysfs_aer.parse,
        accepted=frozenset({0, 1, 2}),
    )


def disks() -> Probe[tuple[lspci.PciEndpoint, ...]]:
    """All NVMe controllers (PCI class 0108) of a host as lspci sees them; needs root."""
    return Probe("lspci", ("lspci", "-D", "-vvv", "-d", "::0108"), lspci.parse)
