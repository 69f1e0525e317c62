"""Values of an inventory that cannot be: units taken for others, addresses that no port carries, dates that have not come."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from ipaddress import ip_interface, ip_network

from checks.phrase import Phrase, plain, say
from checks.units import show_bytes, show_rate
from kvgate.errors import Fault
from kvgate.inventory.model import Accelerators, Connection, Fabric, Host, Nic, Rack, Raid, System
from kvgate.inventory.strict_yaml import Document, Key

#: Rates of Ethernet ports in bits a second (IEEE 802.3; 20, 40 and 56 Gb/s are bonded lanes that vendors sell).
_ETHERNET = frozenset(
    round(gigabits * 10**9) for gigabits in (0.1, 1, 2.5, 5, 10, 20, 25, 40, 50, 56, 100, 200, 400, 800, 1600)
)
_STORAGE_AT_LEAST = 10**10
#: Sizes, in bytes, outside which a unit was mistaken for another: GB for TB, GB for MB.
_SIZES = {
    "disk": (64 * 10**9, 10**15),
    "card": (4 * 10**9, 10**13),
    "memory": (2**31, 2**47),
    "chunk": (4096, 2**26),
    "cache": (2**30, 2**47),
}
_GIB = 2**30
_ROCE_MTU = (256, 512, 1024, 2048, 4096)
#: Bytes that RoCE v2 puts around its payload within the Ethernet MTU: IP 20, UDP 8, BTH 12, ICRC 4.
_ROCE_HEADERS = 44
_LANES = (1, 2, 4, 8, 12, 16, 32)
#: NVMe over Fabrics 1.0 was published on 2016-06-05: nobody looked at such a rack earlier.
_FIRST_DAY = date(2016, 6, 5)
#: Model names that belong to one platform, whatever stands around them.
_MAKERS = {
    "rocm": re.compile(r"\bMI\d{2,3}[A-Z]?\b|\bInstinct\b", re.I),
    "nvidia": re.compile(r"\b[AHBL]\d{2,3}S?\b|\bV100S?\b|\bNVIDIA\b|\bGB\d{3}\b|\bTesla\b", re.I),
    "ascend": re.compile(r"\b(Ascend\s*)?[39]10[A-Z]?\d?\b|\bAscend\b|\bAtlas\b", re.I),
}
_NQN = re.compile(r"nqn\.\d{4}-\d{2}\.[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:.+)?")


#: Bytes a second that the data sheet of one NVMe disk may promise: from a slow SATA-like one to four lanes of PCIe 6.
_SHEET = (100e6, 30e9)
#: Random operations a second of one disk, by its data sheet: a QLC disk that is written at random, PCIe 6 that is read.
_RANDOM = (1e3, 20e6)


def impossible(document: Document, rack: Rack, today: date | None = None) -> Iterator[Fault]:
    """Everything that no real rack can have. ``today`` is given by tests; sizes of a simulated rack may be tiny."""
    yield from _dates(document, rack, today or datetime.now(UTC).date())
    if rack.fabric is not None:
        yield from _fabric(document, rack.fabric)
    for name, host in rack.hosts.items():
        here: Key = ("hosts", name)
        for index, nic in enumerate(host.nics):
            yield from _nic(document, (*here, "nics", index), nic, rack.fabric)
        for index, link in enumerate(host.nvmeof):
            yield from _connection(document, (*here, "nvmeof", index), link)
        for index, raid in enumerate(host.raid):
            yield from _raid(document, (*here, "raid", index), raid)
        yield from _lanes(document, here, host)
        yield from _sheets(document, here, host, rack.simulated)
        if host.cache is not None and host.cache.size and not rack.simulated:
            yield from _size(
                document, (*here, "cache", "size"), host.cache.size, "cache", say("an array's memory (0 B: none)")
            )
        if host.system is not None:
            yield from _system(document, (*here, "system"), host.system, rack.simulated)
        if host.accelerators is not None:
            yield from _cards(document, (*here, "accelerators"), host.accelerators, rack.simulated)
        for index, disk in enumerate(host.disks):
            if not rack.simulated:
                yield from _size(
                    document, (*here, "disks", index, "capacity"), disk.capacity, "disk", say("an NVMe disk")
                )
            if disk.scratch and disk.role == "system":
                place = (*here, "disks", index, "scratch")
                yield document.fault(place, say("true on the disk that the system stands on"), "false")


def _dates(document: Document, rack: Rack, today: date) -> Iterator[Fault]:
    # The day begins 14 hours before UTC at the easternmost place; a declaration made there this morning is no lie.
    for index, declaration in enumerate(rack.declared):
        if not _FIRST_DAY <= declaration.on <= today + timedelta(days=1):
            wanted = say(
                "the day on which somebody looked: {first} to today, {today} (clock of this machine)",
                first=str(_FIRST_DAY),
                today=str(today),
            )
            yield document.fault(("declared", index, "on"), str(declaration.on), wanted)


def _fabric(document: Document, fabric: Fabric) -> Iterator[Fault]:
    if fabric.traffic_class is not None:
        dscp, ecn = divmod(fabric.traffic_class, 4)
        ways = ", ".join(str(4 * fabric.dscp + bits) for bits in (0, 1, 2))
        if dscp != fabric.dscp:
            found = say("{traffic_class}, which is DSCP {dscp}", traffic_class=fabric.traffic_class, dscp=dscp)
            yield document.fault(
                ("fabric", "traffic_class"), found, say("DSCP {dscp}, so one of {ways}", dscp=fabric.dscp, ways=ways)
            )
        elif ecn == 3:
            found = say("{traffic_class}, whose ECN bits already say congested (3)", traffic_class=fabric.traffic_class)
            yield document.fault(("fabric", "traffic_class"), found, say("one of {ways}", ways=ways))
    if fabric.roce_mtu not in _ROCE_MTU:
        wanted = say("one of {words}", words=", ".join(map(str, _ROCE_MTU)))
        yield document.fault(("fabric", "roce_mtu"), str(fabric.roce_mtu), wanted)
    elif fabric.roce_mtu + _ROCE_HEADERS > fabric.mtu:
        found = say(
            "{roce_mtu}, which with its headers does not fit into frames of {mtu}",
            roce_mtu=fabric.roce_mtu,
            mtu=fabric.mtu,
        )
        yield document.fault(("fabric", "roce_mtu"), found, say("at most {bound}", bound=fabric.mtu - _ROCE_HEADERS))
    for index, network in enumerate(fabric.networks):
        try:
            ip_network(network)
        except ValueError as error:
            wanted = say("a network such as 192.168.100.0/24")
            yield document.fault(("fabric", "networks", index), plain(f"{network!r} ({error})"), wanted)


def _nic(document: Document, place: Key, nic: Nic, fabric: Fabric | None) -> Iterator[Fault]:
    least = _STORAGE_AT_LEAST if nic.role == "storage" else 0
    if nic.speed not in _ETHERNET or nic.speed < least:
        rates = ", ".join(show_rate(rate) for rate in sorted(_ETHERNET) if rate >= max(least, 10**9))
        yield document.fault((*place, "speed"), show_rate(nic.speed), say("a rate of Ethernet: {rates}", rates=rates))
    if int(nic.mac[:2], 16) & 1 or nic.mac == "00:00:00:00:00:00":
        yield document.fault(
            (*place, "mac"), say("{mac}, which no port carries", mac=nic.mac), say("the address of one port")
        )
    if nic.numa is not None and nic.numa < 0:
        yield document.fault(
            (*place, "numa"),
            say("{numa}, the kernel's word for not known", numa=nic.numa),
            say("a node, or no such key"),
        )
    if nic.address is not None:
        yield from _address(document, (*place, "address"), nic, fabric)


def _address(document: Document, place: Key, nic: Nic, fabric: Fabric | None) -> Iterator[Fault]:
    try:
        found = ip_interface(nic.address or "")
    except ValueError:
        yield document.fault(place, repr(nic.address), say("an IP address such as 192.168.100.10"))
        return
    address, network = found.ip, found.network
    small = network.num_addresses <= 2  # /31 and /127 use both ends, /32 is no network
    if address.is_multicast or address.is_unspecified or address.is_loopback or address.is_reserved:
        yield document.fault(
            place, say("{address}, which no port carries", address=str(address)), say("the address of one port")
        )
    elif not small and (address == network.network_address or address == network.broadcast_address):
        yield document.fault(
            place, say("{found}, the network itself or its broadcast", found=str(found)), say("the address of one port")
        )
    networks = []
    for one in fabric.networks if fabric is not None and nic.role == "storage" else ():
        try:
            networks.append(ip_network(one))
        except ValueError:  # named at its own place
            return
    if networks and not any(address in one for one in networks):
        wanted = say("an address of {words}, as fabric.networks says", words=", ".join(map(str, networks)))
        yield document.fault(place, say("{address}, outside the storage network", address=str(address)), wanted)


def _connection(document: Document, place: Key, link: Connection) -> Iterator[Fault]:
    if _NQN.fullmatch(link.nqn) is None or len(link.nqn.encode()) > 223:
        wanted = say("an NVMe name such as nqn.2014-08.org.nvmexpress:uuid:..., at most 223 bytes")
        yield document.fault((*place, "nqn"), repr(link.nqn), wanted)
    if link.ctrl_loss >= 0 and link.fast_io_fail > link.ctrl_loss:
        found = say(
            "{fast_io_fail} s, after the controller is given up ({ctrl_loss} s)",
            fast_io_fail=link.fast_io_fail,
            ctrl_loss=link.ctrl_loss,
        )
        yield document.fault((*place, "fast_io_fail"), found, say("at most ctrl_loss"))
    if 0 <= link.ctrl_loss < link.reconnect_delay:
        found = say(
            "{reconnect_delay} s, after the controller is given up ({ctrl_loss} s)",
            reconnect_delay=link.reconnect_delay,
            ctrl_loss=link.ctrl_loss,
        )
        yield document.fault((*place, "reconnect_delay"), found, say("at most ctrl_loss"))


def _raid(document: Document, place: Key, raid: Raid) -> Iterator[Fault]:
    low, high = _SIZES["chunk"]
    if raid.level != "raid1" and (not low <= raid.chunk <= high or raid.chunk % low):
        wanted = say("a multiple of 4 KiB up to 64 MiB, such as 512 KiB")
        yield document.fault((*place, "chunk"), say("{chunk} bytes", chunk=raid.chunk), wanted)
    if raid.level != "raid0" and raid.members < 2:
        yield document.fault(
            (*place, "members"), say("{members} for {level}", members=raid.members, level=raid.level), say("at least 2")
        )


def _lanes(document: Document, here: Key, host: Host) -> Iterator[Fault]:
    links: Mapping[Key, int] = {
        **{("disks", index): disk.pcie.lanes for index, disk in enumerate(host.disks)},
        **{("nics", index): nic.pcie.lanes for index, nic in enumerate(host.nics) if nic.pcie is not None},
        **({("accelerators",): host.accelerators.pcie.lanes} if host.accelerators is not None else {}),
    }
    for part, lanes in links.items():
        if lanes not in _LANES:
            wanted = say("one of {words}", words=", ".join(map(str, _LANES)))
            yield document.fault((*here, *part, "pcie", "lanes"), str(lanes), wanted)


def _sheets(document: Document, here: Key, host: Host, simulated: bool) -> Iterator[Fault]:
    for index, disk in enumerate(host.disks):
        for name, rate in (("read", disk.sheet.read), ("write", disk.sheet.write)) if disk.sheet is not None else ():
            if not rate or not (simulated or _SHEET[0] <= rate <= _SHEET[1]):
                wanted = say(
                    "what one NVMe disk can do: {least:g} MB/s to {most:g} GB/s",
                    least=_SHEET[0] / 1e6,
                    most=_SHEET[1] / 1e9,
                )
                yield document.fault((*here, "disks", index, "sheet", name), f"{rate / 1e9:g} GB/s", wanted)
        for name in ("random_read", "random_write"):
            count = getattr(disk.sheet, name, None)
            if count is not None and (not count or not (simulated or _RANDOM[0] <= count <= _RANDOM[1])):
                wanted = say("what one NVMe disk can do: {least:g} to {most:g} IOPS", least=_RANDOM[0], most=_RANDOM[1])
                yield document.fault((*here, "disks", index, "sheet", name), f"{count:g} IOPS", wanted)
    for index, raid in enumerate(host.raid):
        for name, value in raid.local.model_dump().items() if raid.local is not None else ():
            if value == 0:
                yield document.fault((*here, "raid", index, "local", name), "0", say("what it was measured to give"))


def _system(document: Document, place: Key, system: System, simulated: bool) -> Iterator[Fault]:
    for name, agreed in (("cmdline", system.cmdline), ("sysctl", system.sysctl), ("modules", system.modules)):
        if not agreed and (*place, name) in document.keys:
            yield document.fault((*place, name), say("an empty list"), say("what was agreed, or no such key"), key=True)
    if system.cpu.cores % system.cpu.sockets:
        found = say("{cores} in {sockets} sockets", cores=system.cpu.cores, sockets=system.cpu.sockets)
        yield document.fault((*place, "cpu", "cores"), found, say("physical cores of all sockets, the same in each"))
    here, size = (*place, "memory", "size"), system.memory.size
    unlikely = () if simulated else tuple(_size(document, here, size, "memory", say("main memory")))
    yield from unlikely
    tiny = simulated and size < _SIZES["memory"][0]
    if size % _GIB and not unlikely and not tiny:
        spelled = document.spelled.get(here, show_bytes(size))
        found = say("{size}, which is {gib} GiB", size=spelled, gib=f"{size / _GIB:.13g}")
        yield document.fault(
            here, found, say("a whole number of GiB, such as 256 GiB: memory modules are sized in GiB")
        )


def _cards(document: Document, place: Key, cards: Accelerators, simulated: bool) -> Iterator[Fault]:
    if not simulated:
        yield from _size(document, (*place, "memory"), cards.memory, "card", say("the memory of one accelerator"))
    makers = [platform for platform, model in _MAKERS.items() if model.search(cards.model)]
    if makers and cards.platform not in makers:
        yield document.fault(
            (*place, "platform"),
            say("{platform} with a {model}", platform=cards.platform, model=cards.model),
            say("one of {words}", words=", ".join(makers)),
        )


def _size(document: Document, place: Key, size: int, kind: str, what: Phrase) -> Iterator[Fault]:
    low, high = _SIZES[kind]
    if not low <= size <= high:
        wanted = say(
            "{what}, {low} to {high}: look at the unit",
            what=what,
            low=show_bytes(low),
            high=show_bytes(high),
        )
        yield document.fault(place, show_bytes(size), wanted)
