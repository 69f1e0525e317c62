"""When a port is good enough: identity, slot, link, MTU, addresses. Optics and counters live beside this file."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence

from checks import bounds
from checks.nic import facts
from checks.nic.facts import Link
from checks.parsers.ethtool_a import Pause
from checks.parsers.ethtool_g import Rings
from checks.parsers.ethtool_i import DriverInfo
from checks.parsers.ethtool_show_fec import Fec
from checks.parsers.ip_addr import Address
from checks.parsers.ip_link import Interface
from checks.parsers.lldpctl import Neighbour
from checks.parsers.od_pci_config import PciConfig
from checks.parsers.ping import Echoes
from checks.parsers.sysfs_net import Lanes
from checks.phrase import Phrase, listed, plain, say
from checks.units import show_rate
from checks.verdict import Quantity, Verdict, worst


def present(interfaces: Sequence[Interface], name: str, mac: str) -> Verdict:
    """The port of this name is the card with the ordered MAC address. Same name and other card is another port."""
    required = say("{name} with {mac}", name=name, mac=mac)
    found = facts.with_mac(interfaces, mac)
    here = facts.named(interfaces, name)
    if any(port.name == name for port in found):
        return Verdict.of(True, say("{name} with {mac}", name=name, mac=mac), required)
    if found:
        where = ", ".join(port.name for port in found)
        return Verdict.of(
            False,
            say("the card is there as {where}", where=where),
            required,
            note=say("every other question of this port went to {name}, which is not this card", name=name),
        )
    if here is None:
        return Verdict.of(False, say("neither the name nor the MAC address"), required)
    if here.mac is None:
        return Verdict.undecided(say("{name} is there but tells no MAC address", name=name), required)
    return Verdict.of(False, say("{name} with {mac}", name=name, mac=here.mac), required)


def driven_by(driver: str | None, ordered: str) -> Verdict:
    """The port is driven by the ordered driver."""
    return bounds.same_text(say("the driver"), driver, ordered)


def firmware_is(firmware: str | None, ordered: str) -> Verdict:
    """The firmware is the ordered one; drivers append a board id or a package version, each a word of its own."""
    if firmware is None or not firmware.strip():
        return Verdict.undecided(say("the driver gives no firmware version"), required=ordered)
    words = re.split(r"[\s/,()]+", firmware)
    return Verdict.of(ordered == firmware.strip() or ordered in words, firmware, ordered)


def firmware_alike(found: Mapping[str, DriverInfo]) -> Verdict:
    """All ports named in ``found`` that carry the same card run one firmware. A rack with no such port cannot be told.

    Cards are told apart by driver and by the board id that mlx5 appends: two kinds of card have two kinds of firmware.
    """
    required = say("one firmware on all storage ports of one kind of card")
    if not found:
        return Verdict.undecided(say("the inventory orders no storage port"), required)
    silent = [port for port, fact in found.items() if not fact.firmware]
    cards: dict[tuple[str | None, str], dict[str, list[str]]] = {}
    for port, fact in found.items():
        if fact.firmware:
            card = cards.setdefault((fact.driver, fact.firmware.partition("(")[2]), {})
            card.setdefault(fact.firmware, []).append(port)
    if unlike := [groups for groups in cards.values() if len(groups) > 1]:
        rare = [group for groups in unlike for group in sorted(groups.items(), key=lambda group: len(group[1]))]
        text = "; ".join(f"{firmware}: {', '.join(ports[:4])}" for firmware, ports in rare)
        return Verdict.of(False, say("{count} firmwares: {text}", count=len(rare), text=text), required)
    if silent:
        return Verdict.undecided(say("no firmware version from {ports}", ports=", ".join(silent)), required)
    firmwares = "; ".join(firmware for groups in cards.values() for firmware in groups)
    return Verdict.of(True, say("{firmware} on {count} ports", firmware=firmwares, count=len(found)), required)


def slot_carries(links: Sequence[Lanes], speed: int, ratio: float) -> Verdict:
    """Every PCI Express link from the card to the root carries ``ratio`` times the port's ``speed`` (bits a second)."""
    needed = speed * ratio
    required = say("at least {rate} of PCI Express", rate=show_rate(needed))
    if not links:
        return Verdict.undecided(say("the kernel shows no PCI Express link for this port"), required)
    rates = [facts.bandwidth_mbps(link) for link in links]
    known = [(rate, link) for rate, link in zip(rates, links, strict=True) if rate is not None]
    narrow = min(known, key=lambda pair: pair[0], default=None)
    if narrow is not None and narrow[0] * 10**6 < needed:
        where = say("of the card") if narrow[1] == links[0] else say("of a bridge above the card")
        return Verdict.of(
            False,
            say("{rate:.3f} Gb/s, {link} {where}", rate=narrow[0] / 1000, link=facts.show(narrow[1]), where=where),
            required,
            "Gb/s",
            quantities=(Quantity("PCI Express bandwidth", narrow[0] / 1000, "Gb/s"),),
        )
    if narrow is None or len(known) != len(links):
        return Verdict.undecided(
            say("the kernel does not know the speed or width of every link up to the root"), required
        )
    return Verdict.of(
        True,
        say("{rate:.3f} Gb/s, {link}", rate=narrow[0] / 1000, link=facts.show(narrow[1])),
        required,
        "Gb/s",
        quantities=(Quantity("PCI Express bandwidth", narrow[0] / 1000, "Gb/s"),),
    )


def trained(links: Sequence[Lanes], generation: int, lanes: int) -> Verdict:
    """The card's own link trained to at least the ordered generation and lanes."""
    required = say("Gen{generation} x{lanes}", generation=generation, lanes=lanes)
    if not links:
        return Verdict.undecided(say("the kernel shows no PCI Express link for this port"), required)
    link = links[0]
    reached = facts.GENERATION.get(link.gts) if link.gts is not None else None
    if reached is None or link.width is None:
        return Verdict.undecided(say("the kernel does not know speed or width of the link"), required)
    return Verdict.of(reached >= generation and link.width >= lanes, facts.show(link), required)


def runs_at(link: Link, speed: int) -> Verdict:
    """The link is up, full duplex and at the ordered ``speed`` (bits a second)."""
    required = say("up, {rate}, full duplex", rate=show_rate(speed))
    if link.up is False:
        why = say("{why}", why=link.why_down) if link.why_down else say("no reason given")
        return Verdict.of(False, say("the link is down ({why})", why=why), required)
    if link.speed_mbps is not None and link.speed_mbps * 10**6 != speed:
        return Verdict.of(False, say("up at {rate}", rate=show_rate(link.speed_mbps * 10**6)), required)
    if link.duplex == "half":
        return Verdict.of(False, say("half duplex"), required)
    if link.up is None or link.speed_mbps is None or link.duplex != "full":
        return Verdict.undecided(say("the driver does not say link state, speed and duplex"), required)
    quantity = Quantity("link speed", link.speed_mbps / 1000, "Gb/s")
    return Verdict.of(True, say("up, {rate}, full duplex", rate=show_rate(speed)), required, quantities=(quantity,))


def mtu_is(mtu: int | None, ordered: int) -> Verdict:
    """The port carries packets of exactly the ordered size."""
    return bounds.exactly(say("MTU"), mtu, ordered, "bytes")


def packets_pass(series: Sequence[tuple[str, Echoes, Echoes]], size: int, every: bool) -> Verdict:
    """Unfragmented packets of ``size`` bytes reach the peers: (peer, small packets, full-size packets) each.

    Small packets tell a path that is too narrow from a peer that does not answer at all. With ``every`` False (several
    storage ports on one host) a peer that this port does not reach is left to the other ports; one must be proved.
    """
    required = say("every unfragmented packet of {size} bytes answered", size=size)
    if not series:
        return Verdict.undecided(say("the inventory names no address that this port must reach"), required)
    verdicts = [(_passes(peer, small, full, size), small) for peer, small, full in series]
    counted = [verdict for verdict, small in verdicts if every or small.received]
    return worst(counted or [verdict for verdict, _ in verdicts])


def _passes(peer: str, small: Echoes, full: Echoes, size: int) -> Verdict:
    required = say("every unfragmented packet of {size} bytes answered", size=size)
    told = [mtu for mtu in (full.local_mtu, full.remote_mtu) if mtu is not None]
    if told and min(told) < size:
        return Verdict.of(False, say("{peer}: only {mtu} bytes pass", peer=peer, mtu=min(told)), required)
    if full.refused or full.sent is None or full.received is None:
        why = say("{why}", why=full.refused) if full.refused else say("nothing was sent")
        return Verdict.undecided(say("{peer}: no packet left ({why})", peer=peer, why=why), required)
    counts = say("{peer}: {received} of {sent} answered", peer=peer, received=full.received, sent=full.sent)
    if not full.received and not small.received:
        return Verdict.undecided(
            say(
                "{peer} answers no small packets either: peer down, no path from this port, or echo filtered", peer=peer
            ),
            required,
            counts,
        )
    quantity = Quantity("full-size packets answered", full.received, "packets")
    return Verdict.of(full.sent > 0 and full.received == full.sent, counts, required, quantities=(quantity,))


_ENCODINGS = {"rs": {"rs"}, "baser": {"baser"}, "off": {"off", "none"}}


def corrects_with(fec: Fec, ordered: str) -> Verdict:
    """The active error correction is the ordered one alone (rs, baser, off)."""
    required = say("active: {ordered}", ordered=ordered)
    if not fec.active or "auto" in {word.lower() for word in fec.active}:
        return Verdict.not_offered(say("the driver does not report the active error correction"), required)
    active = {word.lower() for word in fec.active}
    return Verdict.of(active <= _ENCODINGS[ordered], say("active: {words}", words=" ".join(fec.active)), required)


def no_global_pause(pause: Pause, pfc: bool) -> Verdict:
    """802.3x pause is off in both directions, configured and negotiated, where PFC is agreed."""
    required = say("rx off, tx off")
    if not pfc:
        return Verdict.undecided(
            say("the inventory agrees no PFC (fabric is absent), so nothing says what pause must be")
        )
    on = [
        name
        for name, state in (
            (say("rx"), pause.rx), (say("tx"), pause.tx),
            (say("rx negotiated"), pause.rx_negotiated), (say("tx negotiated"), pause.tx_negotiated),
        )
        if state
    ]  # fmt: skip
    return Verdict.of(not on, say("on: {names}", names=listed(on)) if on else say("rx off, tx off"), required)


def rings_full(rings: Rings) -> Verdict:
    """The receive ring has the largest size that the card offers."""
    if rings.rx_maximum is None:
        return Verdict.undecided(say("the driver does not say the largest receive ring"))
    return bounds.at_least(say("receive ring"), rings.rx, rings.rx_maximum, "descriptors")


def numa_is(node: int | None, ordered: int) -> Verdict:
    """The port hangs on the ordered NUMA node; -1 in sysfs means that the firmware does not say."""
    if node is None:
        return Verdict.not_offered(say("the firmware does not tell the NUMA node of this slot"), required=str(ordered))
    return bounds.exactly(say("NUMA node"), node, ordered)


def cabled_to(neighbours: Iterable[Neighbour], interface: str, switch: str, port: str | None) -> Verdict:
    """LLDP hears the planned switch (and port) on this interface."""
    required = say("{switch} {port}", switch=switch, port=port or say("(any port)"))
    heard = [one for one in neighbours if one.interface == interface]
    if not heard:
        return Verdict.undecided(say("LLDP hears nobody on {interface}", interface=interface), required)
    measured = "; ".join(f"{one.system or one.chassis or '?'} {one.port or '?'}" for one in heard)
    if any(_is_switch(one, switch) and (port is None or port in (one.port, one.description)) for one in heard):
        return Verdict.of(True, measured, required)
    if any(one.system is None or (port is not None and one.port is None) for one in heard):
        return Verdict.undecided(say("the neighbour announces no name or no port"), required, measured)
    return Verdict.of(False, measured, required)


def _is_switch(one: Neighbour, switch: str) -> bool:
    names = [name.lower() for name in (one.system, one.chassis) if name]
    return any(switch.lower() in (name, name.split(".")[0]) for name in names)


def addressed(
    addresses: Sequence[Address], interfaces: Sequence[Interface], interface: str, ordered: str | None
) -> Verdict:
    """The ordered IP address stands on this port, or on the bond it belongs to or a VLAN on top of it."""
    if ordered is None:
        return Verdict.undecided(say("the inventory orders no address for this port: write nics: address"))
    try:
        wanted = ipaddress.ip_interface(ordered)
    except ValueError:
        return Verdict.undecided(say("the ordered address {ordered} is no IP address", ordered=ordered))
    port = facts.named(interfaces, interface)
    mine = {interface, *([port.master] if port and port.master else [])}
    mine |= {one.name for one in interfaces if one.lower in mine}
    carrying = [one for one in addresses if _same(one.local, wanted.ip)]
    here = [one for one in carrying if one.interface in mine]
    if not here:
        own = ", ".join(one.local for one in addresses if one.interface in mine)
        measured = plain(own) if own else say("no address on {interface}", interface=interface)
        if carrying:
            measured = listed([_on(one.local, one.interface) for one in carrying])
        return Verdict.of(False, measured, ordered)
    measured = _on(f"{here[0].local}/{here[0].prefix}", here[0].interface)
    return Verdict.of("/" not in ordered or here[0].prefix == wanted.network.prefixlen, measured, ordered)


def _on(address: str, interface: str) -> Phrase:
    return say("{address} on {interface}", address=address, interface=interface)


def _same(local: str, wanted: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return ipaddress.ip_address(local) == wanted
    except ValueError:
        return False


def moves_large_packets(config: PciConfig, payload: int, request: int) -> Verdict:
    """The card sends at least ``payload`` bytes and asks for at least ``request`` bytes in one PCI Express packet."""
    sizes = facts.packet_sizes(config)
    names = (say("largest payload"), say("largest read request"))
    return worst(
        bounds.at_least(name, size, limit, "bytes")
        for name, size, limit in zip(names, sizes, (payload, request), strict=True)
    )
