"""When one RDMA port is good enough: state, rate, GID, defaults of the connection manager, MTU.

How it keeps traffic lossless is in lossless.py, what it lost in losses.py, whether all ports agree in equality.py. What was
agreed and is not written down is None and makes the clause UNDECIDED.
"""

from __future__ import annotations

from checks import bounds
from checks.parsers.cma_roce import CmaRoce
from checks.phrase import Phrase, joined, say
from checks.roce.facts import ROCE_V2, GidSlot, Port, find, gid_of
from checks.units import show_rate
from checks.verdict import Quantity, Verdict, worst

#: Words that mean a port that carries nothing, as the kernel and iproute2 spell them.
_STATES = ("NOP", "DOWN", "INIT", "ARMED", "ACTIVE_DEFER")
_PHYSICAL = (
    "NOP", "NO_STATE_CHANGE", "SLEEP", "POLLING", "DISABLED", "ARMED", "PORT_CONFIGURATION_TRAINING",
    "LINK_ERROR_RECOVER", "LINK_ERROR_RECOVERY", "PHY_TEST", "PHY TEST",
)  # fmt: skip

_NAMED = 8  # slots of a GID table that a verdict names


def active(ports: tuple[Port, ...], device: str, number: int) -> Verdict:
    """The RDMA port is there, ACTIVE and its link is up."""
    required = say("ACTIVE, LINK_UP")
    if (port := find(ports, device, number)) is None:
        seen = ", ".join(f"{port.device}/{port.number}" for port in ports) or say("none")
        return Verdict.of(
            False,
            say("no RDMA port {device}/{number}; found: {seen}", device=device, number=number, seen=seen),
            required,
        )
    state = bounds.one_of(say("state"), port.state, ("ACTIVE",), _STATES)
    physical = bounds.one_of(say("physical state"), port.physical_state, ("LINK_UP",), _PHYSICAL)
    verdict = worst((state, physical))
    measured = say("{state}, {physical}", state=str(port.state), physical=str(port.physical_state))
    return Verdict(verdict.outcome, measured, required, note=verdict.note)


def ethernet_at(ports: tuple[Port, ...], device: str, number: int, ordered: int) -> Verdict:
    """The port speaks Ethernet at exactly the rate ordered, ``ordered`` in bits a second."""
    required = say("Ethernet at {rate}", rate=show_rate(ordered))
    port = find(ports, device, number)
    if port is None or port.gbps is None or port.link_layer is None:
        return Verdict.undecided(say("the port does not tell its rate and link layer"), required)
    measured = say(
        "{layer} at {rate} ({width})", layer=port.link_layer, rate=show_rate(port.gbps * 1e9), width=port.width or "?"
    )
    holds = port.link_layer == "Ethernet" and round(port.gbps * 10**9) == ordered
    return Verdict.of(holds, measured, required, quantities=(Quantity("rate", port.gbps, "Gb/s"),))


def bound_to(ports: tuple[Port, ...], device: str, number: int, netdev: str) -> Verdict:
    """The RDMA port belongs to the network interface under test."""
    port = find(ports, device, number)
    if port is None:
        return Verdict.of(False, say("no RDMA port {device}/{number}", device=device, number=number), netdev)
    if port.netdev is None:
        return Verdict.undecided(
            say(
                "no network device is named for {device}: look whether it is in another network namespace",
                device=device,
            ),
            netdev,
        )
    return bounds.same_text(say("network device"), port.netdev, netdev)


def one_storage_gid(
    ports: tuple[Port, ...], device: str, number: int, address: str | None, netdev: str, wanted: int
) -> Verdict:
    """Exactly ``wanted`` (1) RoCE v2 GIDs carry the storage address, on the interface; its index is found, never assumed."""
    gid = gid_of(address) if address else None
    if gid is None:
        return Verdict.undecided(say("the inventory gives no IP address for {netdev}", netdev=netdev))
    required = say("{wanted} GID of type RoCE v2 with {gid} on {netdev}", wanted=wanted, gid=_show(gid), netdev=netdev)
    port = find(ports, device, number)
    if port is None or not port.gids:
        return Verdict.undecided(say("the port shows no GID table"), required)
    same = [slot for slot in port.gids if slot.address == gid]
    if any(slot.kind is None for slot in same):
        return Verdict.undecided(
            say("the tool is too old to print the type of a GID (rdma-core 28 or newer does)"), required
        )
    usable = [slot for slot in same if slot.kind == ROCE_V2]
    unnamed = [slot for slot in usable if slot.netdev is None]
    elsewhere = [slot for slot in usable if slot.netdev not in (None, netdev)]
    good = [slot for slot in usable if slot.netdev == netdev]
    measured = joined([_slot(slot) for slot in (usable or same or port.gids)[:_NAMED]])
    if elsewhere or len(usable) != wanted:
        return Verdict.of(False, measured, required)
    if unnamed:
        return Verdict.undecided(
            say("the tool does not tell the network device of GID {index}", index=unnamed[0].index), required, measured
        )
    return Verdict.of(
        len(good) == wanted,
        say("index {index}: {found}", index=good[0].index if good else -1, found=measured),
        required,
    )


def _show(gid: object) -> str:
    mapped = getattr(gid, "ipv4_mapped", None)
    return f"::ffff:{mapped}" if mapped is not None else str(gid)


def _slot(slot: GidSlot) -> Phrase:
    return say(
        "{index}: {gid} {type} {netdev}",
        index=slot.index, gid=_show(slot.address), type=slot.kind or say("type not told"), netdev=slot.netdev or "-",
    )  # fmt: skip


def connects_by_v2(defaults: CmaRoce) -> Verdict:
    """New connections of the RDMA connection manager use RoCE v2."""
    return bounds.same_text(say("default mode of the connection manager"), defaults.mode, ROCE_V2)


def connects_marked(defaults: CmaRoce, agreed: int | None, dscp: int | None) -> Verdict:
    """New connections carry the agreed TOS byte; where only a DSCP is agreed, that DSCP (TOS divided by 4)."""
    return _marked(say("default TOS of the connection manager"), defaults.tos, agreed, dscp)


def classified(traffic_class: int | None, readable: bool, agreed: int | None, dscp: int | None) -> Verdict:
    """QPs that set nothing themselves get the agreed traffic class. ``readable``: the driver offers the setting."""
    if traffic_class is None and readable:
        return Verdict.of(
            False, say("never set"), say("TOS {agreed}", agreed=str(agreed if agreed is not None else dscp))
        )
    return _marked(say("traffic class"), traffic_class, agreed, dscp)


def _marked(what: Phrase, tos: int | None, agreed: int | None, dscp: int | None) -> Verdict:
    if agreed is None and dscp is None:
        return unagreed("traffic_class")
    required = say("DSCP {dscp}", dscp=str(dscp))
    if agreed is not None:
        required = say("TOS {tos} (DSCP {dscp})", tos=agreed, dscp=agreed // 4)
    if tos is None:
        return Verdict.undecided(say("{what} was not told", what=what), required)
    holds = tos == agreed if agreed is not None else tos // 4 == dscp
    return Verdict.of(
        holds,
        say("TOS {tos} (DSCP {dscp})", tos=tos, dscp=tos // 4),
        required,
        quantities=(Quantity(str(what), tos, ""),),
    )


def unagreed(key: str) -> Verdict:
    """Nothing was agreed to compare with."""
    return Verdict.undecided(say("the inventory has no fabric.{key}: write down what was agreed", key=key))


def carries_mtu(ports: tuple[Port, ...], device: str, number: int, agreed: int | None) -> Verdict:
    """The active RoCE MTU equals the agreed one, in bytes; it follows the interface's MTU in steps, silently."""
    if agreed is None:
        return unagreed("roce_mtu")
    port = find(ports, device, number)
    return bounds.exactly(say("active RoCE MTU"), port.active_mtu if port else None, agreed, "B")
