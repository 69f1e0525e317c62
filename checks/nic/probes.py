"""What to ask about Ethernet ports. One sysfs dump answers most clauses; ethtool answers what only the driver knows."""

from __future__ import annotations

from checks.parsers import (
    ethtool,
    ethtool_a,
    ethtool_g,
    ethtool_i,
    ethtool_m,
    ethtool_S,
    ethtool_show_fec,
    ip_addr,
    ip_link,
    lldpctl,
    od_pci_config,
    ping,
    sysfs_net,
)
from checks.probe import Probe, Streams

_PORT = ("address", "mtu", "operstate", "speed", "duplex", "carrier", "carrier_changes", "carrier_down_count")
_DEVICE = (
    "uevent", "numa_node", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
    *(f"{'../' * up}current_link_{what}" for up in (1, 2, 3, 4) for what in ("speed", "width")),
    "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal",
    "../aer_dev_correctable", "../aer_dev_nonfatal", "../aer_dev_fatal",
)  # fmt: skip

#: Bytes that IP and ICMP headers add to the payload of an echo request.
HEADERS = {4: 28, 6: 48}


def interfaces() -> Probe[tuple[ip_link.Interface, ...]]:
    """Every network interface with its own MAC address: names change, the address of the card does not."""
    return Probe("ip-link", ("ip", "-j", "-d", "link", "show"), ip_link.parse)


def addresses() -> Probe[tuple[ip_addr.Address, ...]]:
    """Every IP address and the interface it stands on."""
    return Probe("ip-addr", ("ip", "-j", "addr"), ip_addr.parse)


def device(interface: str) -> Probe[sysfs_net.NetDevice]:
    """MTU, carrier, PCI Express link and AER counters of one port; files that the kernel does not offer are no fault."""
    root = f"/sys/class/net/{interface}"
    files = (*(f"{root}/{name}" for name in _PORT), *(f"{root}/device/{name}" for name in _DEVICE))
    return Probe("sysfs-net", ("grep", "-Hs", "", *files), sysfs_net.parse, accepted=frozenset({0, 1, 2}))


def settings(interface: str) -> Probe[ethtool.Settings]:
    """Speed, duplex and link state as the driver reports them."""
    return Probe("ethtool", ("ethtool", interface), ethtool.parse)


def driver(interface: str) -> Probe[ethtool_i.DriverInfo]:
    """Driver and firmware."""
    return Probe("ethtool-i", ("ethtool", "-i", interface), ethtool_i.parse)


def counters(interface: str) -> Probe[ethtool_S.Counters]:
    """All counters of the driver."""
    return Probe("ethtool-S", ("ethtool", "-S", interface), ethtool_S.parse)


def module(interface: str) -> Probe[ethtool_m.Module]:
    """Module or cable with its optical levels; the read goes over a slow two-wire bus."""
    return Probe("ethtool-m", ("ethtool", "-m", interface), ethtool_m.parse, limit=20.0)


def pause(interface: str) -> Probe[ethtool_a.Pause]:
    """802.3x pause."""
    return Probe("ethtool-a", ("ethtool", "-a", interface), ethtool_a.parse)


def rings(interface: str) -> Probe[ethtool_g.Rings]:
    """Ring sizes."""
    return Probe("ethtool-g", ("ethtool", "-g", interface), ethtool_g.parse)


def fec(interface: str) -> Probe[ethtool_show_fec.Fec]:
    """Forward error correction in use."""
    return Probe("ethtool-show-fec", ("ethtool", "--show-fec", interface), ethtool_show_fec.parse)


def fec_blocks(interface: str) -> Probe[ethtool_show_fec.Fec]:
    """Forward error correction with its block counts (ethtool 5.12 and later)."""
    return Probe("ethtool-show-fec-statistics", ("ethtool", "-I", "--show-fec", interface), ethtool_show_fec.parse)


def neighbours(interface: str) -> Probe[tuple[lldpctl.Neighbour, ...]]:
    """What LLDP heard on one port."""
    return Probe("lldpctl", ("lldpctl", "-f", "json", interface), lldpctl.parse)


def echoes(interface: str, address: str, size: int) -> Probe[ping.Echoes]:
    """Three echo requests that leave by this port as packets of ``size`` bytes and must not be fragmented."""
    payload = size - HEADERS[6 if ":" in address else 4]
    options = ("-n", "-c", "3", "-i", "0.2", "-W", "2", "-M", "do", "-s", str(payload), "-I", interface)
    return Probe(
        "ping",
        ("ping", *options, address),
        ping.parse,
        limit=20.0,
        accepted=frozenset({0, 1, 2}),
        streams=Streams.BOTH,
    )


def pci_config(interface: str) -> Probe[od_pci_config.PciConfig]:
    """PCI configuration space of the card, where packet sizes stand; root reads all of it."""
    path = f"/sys/class/net/{interface}/device/config"
    return Probe("pci-config", ("od", "-An", "-v", "-tx1", path), od_pci_config.parse)
