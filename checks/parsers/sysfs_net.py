"""``grep -Hs '' /sys/class/net/<interface>/...``: the kernel's own word on a port, its PCI Express link and its errors.

``device/uevent`` names driver and PCI address. Files that the kernel refuses to read are absent: ``speed``, ``duplex`` and
``carrier`` of a port that is down, ``aer_dev_*`` without AER, the link of a device that is no PCI Express device.
``device/..`` and further up stand for the bridges above the device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import SENTINELS, integer, link_speed, link_width, tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-net"

_ROOT = re.compile(r"/sys/class/net/([^/]+)/(.+)")
_TABLES = ("device/uevent", "device/aer_dev_", "device/../aer_dev_")
_ABOVE = ("", "../", "../../", "../../../", "../../../../")


@dataclass(frozen=True, slots=True)
class Lanes:
    """One PCI Express link: speed in GT/s and number of lanes; None where the kernel says Unknown."""

    gts: float | None
    width: int | None


@dataclass(frozen=True, slots=True)
class NetDevice:
    """One port. ``links`` begin at the device and go up to the root; AER counters by name, None without AER.

    ``port_*`` are the AER counters of the PCI port above: what the card sends badly is seen there and nowhere else.
    """

    interface: str
    mac: str
    mtu: int
    state: str | None
    speed_mbps: int | None
    duplex: str | None
    carrier: bool | None
    carrier_changes: int | None
    carrier_downs: int | None
    driver: str | None
    bdf: str | None
    numa: int | None
    links: tuple[Lanes, ...]
    capable: Lanes | None
    aer_correctable: tuple[tuple[str, int], ...] | None
    aer_nonfatal: tuple[tuple[str, int], ...] | None
    aer_fatal: tuple[tuple[str, int], ...] | None
    port_correctable: tuple[tuple[str, int], ...] | None
    port_nonfatal: tuple[tuple[str, int], ...] | None
    port_fatal: tuple[tuple[str, int], ...] | None


def parse(text: str) -> NetDevice:
    """Read the dump of exactly one interface; address and MTU must be there."""
    names: set[str] = set()
    found: dict[str, str] = {}
    for path, value in tree(text).items():
        place = _ROOT.fullmatch(path)
        if place is None:
            raise UnreadableOutput(f"found {path[:80]!r}, wanted a path below /sys/class/net/<interface>/")
        if "\n" in value and not place[2].startswith(_TABLES):
            raise UnreadableOutput(f"{path} stands twice")
        names.add(place[1])
        found[place[2]] = value
    if len(names) != 1:
        raise UnreadableOutput(f"{len(names)} interfaces in one dump, wanted one")
    for name in ("address", "mtu"):
        if name not in found:
            raise UnreadableOutput(f"no file {name!r}")
    if re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){5,19}", found["address"]) is None:
        raise UnreadableOutput(f"address is {found['address'][:40]!r}, wanted a MAC address")
    event = dict(row.partition("=")[::2] for row in found.get("device/uevent", "").splitlines())
    carrier = found.get("carrier")
    if carrier not in (None, "0", "1"):
        raise UnreadableOutput(f"carrier is {str(carrier)[:40]!r}, wanted 0 or 1")
    return NetDevice(
        interface=names.pop(),
        mac=found["address"],
        mtu=integer(found["mtu"], "mtu"),
        state=_known(found.get("operstate")),
        speed_mbps=_number(found, "speed"),
        duplex=_known(found.get("duplex")),
        carrier=None if carrier is None else carrier == "1",
        carrier_changes=_number(found, "carrier_changes"),
        carrier_downs=_number(found, "carrier_down_count"),
        driver=event.get("DRIVER") or None,
        bdf=event.get("PCI_SLOT_NAME") or None,
        numa=_number(found, "device/numa_node"),
        links=_links(found),
        capable=_lanes(found, "device/max_link") if "device/max_link_speed" in found else None,
        aer_correctable=_errors(found, "device/aer_dev_correctable"),
        aer_nonfatal=_errors(found, "device/aer_dev_nonfatal"),
        aer_fatal=_errors(found, "device/aer_dev_fatal"),
        port_correctable=_errors(found, "device/../aer_dev_correctable"),
        port_nonfatal=_errors(found, "device/../aer_dev_nonfatal"),
        port_fatal=_errors(found, "device/../aer_dev_fatal"),
    )


def _known(word: str | None) -> str | None:
    return None if word in (None, "", "unknown") else word


def _number(found: dict[str, str], name: str) -> int | None:
    if name not in found:
        return None
    value = integer(found[name], name)
    return None if value in SENTINELS else value


def _links(found: dict[str, str]) -> tuple[Lanes, ...]:
    links = []
    for above in _ABOVE:
        if f"device/{above}current_link_speed" not in found:
            break
        links.append(_lanes(found, f"device/{above}current_link"))
    return tuple(links)


def _lanes(found: dict[str, str], prefix: str) -> Lanes:
    speed, width = found.get(f"{prefix}_speed"), found.get(f"{prefix}_width")
    if speed is None or width is None:
        raise UnreadableOutput(f"{prefix}: speed or width is absent")
    return Lanes(link_speed(speed), link_width(width))


def _errors(found: dict[str, str], name: str) -> tuple[tuple[str, int], ...] | None:
    if name not in found:
        return None
    counts: dict[str, int] = {}
    for row in found[name].splitlines():
        error, blank, count = row.rpartition(" ")
        if not blank or error in counts:
            raise UnreadableOutput(f"{name}: found {row[:60]!r}, wanted a name and a count, each name once")
        counts[error] = integer(count, f"{name} {error}")
    if not any(error.startswith("TOTAL_ERR_") for error in counts):
        raise UnreadableOutput(f"{name} has no TOTAL_ERR line, it may be cut")
    return tuple(counts.items())
