"""The PCI bus as the kernel shows it in sysfs, and what of it is a card; ways from a network adapter into card memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.lexing import link_speed, link_width, tree
from checks.probe import Glob, UnreadableOutput, Word

#: One dump answers identity, driver and link of every function; a file that a device lacks leaves the others readable.
DUMP: tuple[Word, ...] = (
    "grep", "-Hs", "",
    Glob("/sys/bus/pci/devices/*/uevent"), Glob("/sys/bus/pci/devices/*/current_link_width"),
    Glob("/sys/bus/pci/devices/*/current_link_speed"), Glob("/sys/bus/pci/devices/*/max_link_speed"),
)  # fmt: skip
SOME = frozenset({0, 1, 2})


@dataclass(frozen=True, slots=True)
class Function:
    """One PCI function of the bus: identity, bound driver, link."""

    bdf: str
    vendor: str
    device: str
    device_class: str
    driver: str | None
    lanes: int | None
    speed: float | None
    capable_speed: float | None


@dataclass(frozen=True, slots=True)
class Bus:
    """All PCI functions that the kernel sees."""

    functions: tuple[Function, ...]


#: Per platform: PCI vendor, classes that are always a card, and classes that are one only when the tool lists a like device.
MAKERS: Mapping[str, tuple[str, frozenset[str], frozenset[str]]] = {
    "rocm": ("1002", frozenset({"1200", "0302", "0380"}), frozenset({"0300"})),
    "ascend": ("19e5", frozenset({"1200"}), frozenset()),
    "nvidia": ("10de", frozenset({"1200", "0302"}), frozenset({"0300"})),
}


def bus_cards(bus: Bus, platform: str, listed: frozenset[str]) -> tuple[Function, ...]:
    """The functions of the bus that are cards of this platform, by vendor and class; ``listed`` are PCI addresses."""
    vendor, always, alike = MAKERS[platform]
    kin = {entry.device for entry in bus.functions if entry.bdf in listed and entry.vendor == vendor}
    return tuple(
        entry
        for entry in bus.functions
        if entry.vendor == vendor
        and (entry.device_class in always or (entry.device_class in alike and entry.device in kin))
    )


def bus(text: str) -> Bus:
    """Read a dump of ``/sys/bus/pci/devices/*/{uevent,current_link_*,max_link_speed}``."""
    devices: dict[str, dict[str, str]] = {}
    for path, value in tree(text).items():
        parts = path.split("/")
        if len(parts) != 7 or parts[:5] != ["", "sys", "bus", "pci", "devices"]:
            raise UnreadableOutput(f"found path {path[:80]!r}, wanted /sys/bus/pci/devices/ADDRESS/NAME")
        devices.setdefault(parts[5], {})[parts[6]] = value
    return Bus(tuple(_function(bdf, values) for bdf, values in devices.items()))


def _function(bdf: str, values: Mapping[str, str]) -> Function:
    event = dict(line.split("=", 1) for line in values.get("uevent", "").splitlines() if "=" in line)
    vendor, colon, device = event.get("PCI_ID", "").lower().partition(":")
    device_class = event.get("PCI_CLASS", "").lower().zfill(6)[:4]
    if not colon or "PCI_CLASS" not in event:
        raise UnreadableOutput(f"{bdf} has no PCI_ID and PCI_CLASS in its uevent")
    width, speed, most = (values.get(name) for name in ("current_link_width", "current_link_speed", "max_link_speed"))
    return Function(
        bdf=bdf.lower(),
        vendor=vendor,
        device=device,
        device_class=device_class,
        driver=event.get("DRIVER"),
        lanes=None if width is None else link_width(width),
        speed=None if speed is None else link_speed(speed),
        capable_speed=None if most is None else link_speed(most),
    )


@dataclass(frozen=True, slots=True)
class PeerMemory:
    """What lets a network adapter reach the memory of a card without a copy."""

    peermem_loaded: bool
    peer_client: bool
    dmabuf: bool
    open_driver: bool


def peer_memory(text: str) -> PeerMemory:
    """Read the lines of ``/proc/modules``, ``/proc/kallsyms`` and ``/proc/driver/nvidia/version`` that name a way."""
    found = tree(text)
    modules = found.get("/proc/modules", "").splitlines()
    symbols = found.get("/proc/kallsyms", "")
    if not any(line.startswith("ib_core ") for line in modules):
        raise UnreadableOutput("the module ib_core is not among the lines, so RDMA is not loaded or built in")
    return PeerMemory(
        peermem_loaded=any(line.startswith("nvidia_peermem ") for line in modules),
        peer_client="ib_register_peer_memory_client" in symbols,
        dmabuf="ib_umem_dmabuf_get" in symbols,
        open_driver="Open Kernel Module" in found.get("/proc/driver/nvidia/version", ""),
    )
