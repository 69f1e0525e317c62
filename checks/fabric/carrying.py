"""When what a fabric carries is good enough: rates, latency, clean counters, and how several hosts share one port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from statistics import median

from checks.around.causes import cause
from checks.block.references import Reference
from checks.block.rounds import Round
from checks.block.validity import Held, doubtful, heading, unsteady
from checks.block.validity import cause as cause_of
from checks.ceiling import beyond, over_roce, payload_rate
from checks.fabric.exchange import Exchange, Flow, Grown, Times
from checks.nic import counters as nics
from checks.phrase import Phrase, beside, say
from checks.roce.losses import ERRORS as ROCE
from checks.roce.losses import counted_by
from checks.statistics.steadiness import drift_percent, variation_percent
from checks.trial import Measured
from checks.units import show_bytes
from checks.verdict import Outcome, Quantity, Verdict, worst

#: (packets marked by the network, congestion packets sent back, congestion packets obeyed), by driver.
_CONGESTION = {
    "mlx5_core": ("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled"),
    "bnxt_en": ("rx_ecn_marked_pkts", "tx_cnp_pkts", "rx_cnp_pkts"),
    "ionic": ("rx_rdma_ecn_pkts", "tx_rdma_cnp_pkts", "rx_rdma_cnp_pkts"),
}


def carries(
    measured: Measured[Exchange], speed: float, share: float, agreement: float, drift: float, directions: int = 1
) -> Verdict:
    """The median rate is at least ``share`` of ``speed`` (bits a second) in each direction, and the rounds agree.

    ``agreement`` is the least share that the slowest round has of the fastest, ``drift`` the percent that each may add to the
    one before. RoCE at MTU 4096 can carry 98.0 % of a port,
    at MTU 1024 92.6 %: a share of 95 % lets the right MTU pass and the wrong one not.
    """
    wanted = speed * share * directions
    ceilings = [payload_rate(speed, mtu) * 8 * directions / 1e9 for mtu in (4096, 1024)]
    required = say(
        "at least {wanted:.1f} Gb/s ({share:.0%} of {port:g} Gb/s; frames of 4096 in 4178 bytes can carry {best:.1f}, "
        "of 1024 in 1106 bytes {small:.1f})",
        wanted=wanted / 1e9, share=share, port=speed * directions / 1e9, best=ceilings[0], small=ceilings[1],
    )  # fmt: skip
    rates = [one.bits for one in measured.facts]
    if untold := _impossible(measured, speed, directions) or _disagree(measured, agreement, drift):
        return Verdict.undecided(untold, required, _rates(measured))
    return Verdict.of(
        median(rates) >= wanted, _rates(measured), required, "b/s", measured.remarks(),
        (Quantity("bits per second", median(rates), "b/s"),),
    )  # fmt: skip


def as_fast_from_accelerators(
    host: Measured[Exchange], card: Measured[Exchange], speed: float, share: float, agreement: float, drift: float
) -> Verdict:
    """The rate from the accelerators' memory is at least ``share`` of that from the host's; ``speed`` of the port in bits a second."""
    required = say("at least {share:.0%} of the rate from the host's memory", share=share)
    rates = [[one.bits for one in side.facts] for side in (host, card)]
    for measured in (host, card):
        if untold := _impossible(measured, speed) or _disagree(measured, agreement, drift):
            return Verdict.undecided(untold, required, _rates(measured))
    here, there = (median(side) for side in rates)
    shown = say(
        "{there:.1f} Gb/s against {here:.1f} Gb/s ({share:.0%})", there=there / 1e9, here=here / 1e9, share=there / here
    )
    quantity = Quantity("bits per second", there, "b/s")
    return Verdict.of(
        there >= share * here, shown, required, "b/s", beside(host.remarks(), card.remarks()), (quantity,)
    )


def answers_within(measured: Measured[Times], typical: float, p999: float, variation: float, drift: float) -> Verdict:
    """A single read is answered in time, typically and at 99.9 %, in microseconds, in the median of the rounds.

    The typical time may vary by ``variation`` percent from round to round; a tail of 20 reads varies by nature.
    """
    required = say("typically at most {typical:g} us, {p999:g} us at 99.9 %", typical=typical, p999=p999)
    if len(measured.facts) < 2:
        return Verdict.undecided(say("{count} rounds, wanted at least 2", count=len(measured.facts)), required)
    times = [one.typical for one in measured.facts]
    middle, late = (median([getattr(one, name) for one in measured.facts]) for name in ("typical", "p999"))
    varies = variation_percent(times)
    shown = say(
        "typically {middle:.2f} us (rounds vary by {varies:.1f} percent), {late:.2f} us at 99.9 %",
        middle=middle, varies=varies, late=late,
    )  # fmt: skip
    if varies > variation:
        untold = say(
            "the rounds vary by {variation:.1f} percent, wanted at most {most:g}: {cause}",
            variation=varies, most=variation, cause=cause(measured.around),
        )  # fmt: skip
        return Verdict.undecided(untold, required, shown)
    if going := heading(drift_percent(times), drift, len(times), partial(cause, measured.around)):
        return Verdict.undecided(going, required, shown)
    quantities = (Quantity("typical latency", middle, "us"), Quantity("p99.9 latency", late, "us"))
    return Verdict.of(middle <= typical and late <= p999, shown, required, "us", measured.remarks(), quantities)


def nothing_lost(rounds: Sequence[Measured[Exchange]], allowed: int) -> Verdict:
    """No packet was damaged, dropped, repeated or refused at either end while the fabric was loaded."""
    grown = [one for measured in rounds for found in measured.facts for one in found.grown]
    if not grown:
        return Verdict.undecided(say("no round was measured"))
    return worst([_lost(one, allowed) for one in grown])


def congestion_controlled(measured: Measured[Exchange], speed: float, least: float, allowed: int) -> Verdict:
    """Under an incast the receiver saw marked packets and sent CNPs, the senders obeyed, nothing was lost, none starved.

    ``least`` bits a second for the slowest sender; ``speed`` of the receiver's port.
    """
    required = say(
        "marked packets and CNPs at the receiver, CNPs obeyed by every sender, at most {allowed} losses, {least:g} Gb/s a sender",
        allowed=allowed, least=least / 1e9,
    )  # fmt: skip
    if not measured.facts:
        return Verdict.undecided(say("no round was measured"), required)
    if untold := _impossible(measured, speed):
        return Verdict.undecided(untold, required, _rates(measured))
    judged = worst([_controlled(found, allowed, required) for found in measured.facts])
    if judged.outcome is not Outcome.PASS:
        return judged
    slowest = [min(found.flows, key=lambda flow: flow.bits) for found in measured.facts]
    starved = [flow for flow in slowest if flow.bits < least]
    if not starved:
        return replace(judged, note=measured.remarks())
    shown = say("slowest sender {rates} Gb/s", rates=", ".join(f"{flow.bits / 1e9:.1f}" for flow in slowest))
    if untold := _sometimes(starved, measured):
        return Verdict.undecided(untold, required, shown)
    note = say(
        "congestion control works, and all the same {hosts} got too little in every round", hosts=_names(starved)
    )
    return Verdict.of(False, shown, required, "b/s", note)


def _controlled(found: Exchange, allowed: int, required: Phrase) -> Verdict:
    *senders, receiver = found.grown
    if unknown := sorted({one.end.driver for one in found.grown} - _CONGESTION.keys()):
        return Verdict.not_offered(
            say("kvgate knows no congestion counters of {driver}", driver=", ".join(unknown)), required
        )
    marked, sent, _ = (receiver.roce.get(name) for name in _CONGESTION[receiver.end.driver])
    obeyed = [one.roce.get(_CONGESTION[one.end.driver][2]) for one in senders]
    if marked is None or sent is None or any(count is None for count in obeyed):
        return Verdict.undecided(say("a port shows no counters of marked packets or CNPs"), required)
    pauses = sum(_pauses(one) for one in found.grown)
    slowest = min(flow.bits for flow in found.flows)
    shown = say(
        "{marked} packets marked, {sent} CNPs sent, {obeyed} obeyed, {pauses} PFC pauses; slowest sender {slowest:.1f} Gb/s",
        marked=marked, sent=sent, obeyed=" + ".join(str(count) for count in obeyed), pauses=pauses, slowest=slowest / 1e9,
    )  # fmt: skip
    lost = [_lost(one, allowed) for one in found.grown]
    if (bad := worst(lost)).outcome is not Outcome.PASS:
        return bad
    if not (marked or sent or pauses):
        idle = say("nothing was congested: no packet was marked and no port paused, so nothing was controlled")
        return Verdict.undecided(idle, required, shown)
    holds = marked > 0 and sent > 0 and all(obeyed)
    note: Phrase | None = None
    if not (marked and sent):
        note = say("ECN is not in effect: pauses alone held the senders back")
    elif not all(obeyed):
        note = say("a sender took no notice of CNPs")
    return Verdict.of(holds, shown, required, note=note)


def shared_fairly(
    measured: Measured[Exchange], speed: float, total: float, fair: float, agreement: float, drift: float
) -> Verdict:
    """All clients together get ``total`` of the port's speed, and the slowest ``fair`` of an equal part of what a port carries."""
    count = len(measured.facts[0].flows) if measured.facts else 0
    required = say(
        "together at least {sum:.1f} Gb/s, the slowest at least {fair:.0%} of an equal part",
        sum=speed * total / 1e9,
        fair=fair,
    )
    rates = [one.bits for one in measured.facts]
    if (why := _impossible(measured, speed)) is not None:
        apart = say("{why}; or the clients did not run at the same time", why=why)
        return Verdict.undecided(apart, required, _rates(measured))
    if untold := _disagree(measured, agreement, drift):
        return Verdict.undecided(untold, required, _rates(measured))
    part = payload_rate(speed, 4096) * 8 / count
    slowest = min((flow for one in measured.facts for flow in one.flows), key=lambda flow: flow.bits)
    shown = say(
        "together {sum:.1f} Gb/s over {count} clients; slowest {host} with {bits:.2f} Gb/s ({share:.0%} of {part:.2f})",
        sum=median(rates) / 1e9, count=count, host=slowest.client, bits=slowest.bits / 1e9, share=slowest.bits / part,
        part=part / 1e9,
    )  # fmt: skip
    quantities = (
        Quantity("bits per second", median(rates), "b/s"), Quantity("slowest share", slowest.bits / part, "share"),
    )  # fmt: skip
    starved = [flow for one in measured.facts if (flow := min(one.flows, key=lambda its: its.bits)).bits < fair * part]
    if median(rates) >= speed * total and (untold := _sometimes(starved, measured)):
        return Verdict.undecided(untold, required, shown)
    holds = median(rates) >= speed * total and not starved
    return Verdict.of(holds, shown, required, "b/s", measured.remarks(), quantities)


def bottleneck(
    network: Measured[Exchange], volume: Measured[Round], disks: Reference | Phrase, speed: float, share: float,
    agreement: float, held: Held,
) -> Verdict:  # fmt: skip
    """The volume gives ``share`` of the lesser of what the network carries and the disks promise; names which of them limits.

    ``disks`` is a Phrase where nobody declared what they promise; ``speed`` of the narrower port in bits a second.
    """
    required = say("at least {share:.0%} of the lesser of network and disks", share=share)
    if untold := _impossible(network, speed) or _disagree(network, agreement, held.drift):
        return Verdict.undecided(untold, required, _rates(network))
    given = [one.bytes_per_second for one in volume.facts]
    if untold := doubtful(volume, held) or unsteady(given, held, partial(cause_of, volume)):
        return Verdict.undecided(untold, required)
    carried, got = median([one.bits for one in network.facts]) / 8, median(given)
    sheet = None if isinstance(disks, Phrase) else disks.rate
    narrow = carried if sheet is None else min(carried, sheet)
    shown = say(
        "volume {given}/s, network {carried}/s, disks {sheet}",
        given=show_bytes(int(got)), carried=show_bytes(int(carried)),
        sheet=say("not agreed") if sheet is None else say("{rate}/s by their sheets", rate=show_bytes(int(sheet))),
    )  # fmt: skip
    if got < share * narrow and isinstance(disks, Phrase):
        return Verdict.undecided(disks, required, shown)
    if got < share * narrow:
        note: Phrase | None = say(
            "neither network nor disks are the limit: target, driver, queues or the filesystem are"
        )
    elif narrow is carried or narrow == carried:
        note = say("the network is the limit")
    else:
        note = say("the disks are the limit")
    quantity = Quantity("share of the narrowest part", got / narrow, "share")
    note = beside(note, network.remarks(), volume.remarks())
    return Verdict.of(got >= share * narrow, shown, required, "B/s", note, (quantity,))


def _sometimes(starved: Sequence[Flow], measured: Measured[Exchange]) -> Phrase | None:
    """Say that clients got too little in some of the rounds and not in others, and what was seen beside them; None: in all, or in none."""
    if len(starved) in (0, len(measured.facts)):
        return None
    return say(
        "{hosts} got too little in {starved} of {count} rounds and not in the others: {cause}",
        hosts=_names(starved), starved=len(starved), count=len(measured.facts), cause=cause(measured.around),
    )  # fmt: skip


def _names(flows: Sequence[Flow]) -> str:
    return ", ".join(sorted({flow.client for flow in flows}))


def _lost(grown: Grown, allowed: int) -> Verdict:
    end = grown.end
    required = say("at most {allowed} in a round", allowed=allowed)
    roce = counted_by(end.driver, grown.roce)
    if roce not in ROCE or end.driver not in nics.ERRORS:
        return Verdict.not_offered(say("kvgate knows no error counters of {driver}", driver=end.driver), required)
    needed, more = ROCE[roce]
    errors = nics.ERRORS[end.driver]
    missing = [name for name in needed if name not in grown.roce]
    found: dict[str, int] = {name: grown.roce[name] for name in (*needed, *more) if name in grown.roce}
    for pattern in chain(errors.required, errors.optional):
        names = nics.matching(pattern, grown.port)
        told = {name: change for name in names if (change := grown.port[name]) is not None}
        if pattern in errors.required and not told:
            missing.append(pattern)
        found |= told
    if missing:
        return Verdict.undecided(
            say("{host}: the driver shows no counter {names}", host=end.host, names=", ".join(missing)), required
        )
    rose: Mapping[str, int] = {name: change for name, change in found.items() if change}
    shown = ", ".join(f"{name} +{change}" for name, change in rose.items())
    measured = say(
        "{host}: {rose}", host=end.host, rose=shown or say("none of {count} counters rose", count=len(found))
    )
    total = sum(rose.values())
    return Verdict.of(total <= allowed, measured, required, quantities=(Quantity("losses", total, ""),))


def _pauses(grown: Grown) -> int:
    names = (
        r"[rt]x_prio\d_pause",
        r"[rt]x_pfc_ena_frames_pri\d",
        r"frames_[rt]x_pripause",
        r"mac_[rt]x_pfc_pri\d_pkt_num",
    )
    found = {name for pattern in names for name in nics.matching(pattern, grown.port)}
    return sum(grown.port[name] or 0 for name in found)


def _impossible(measured: Measured[Exchange], speed: float, directions: int = 1) -> Phrase | None:
    """Say that perftest tells more than a port of ``speed`` bits a second carries at the largest packets, or None."""
    port = over_roce(say("the port"), speed).times(directions)
    return beyond([one.bits / 8 for one in measured.facts], port)


def _disagree(measured: Measured[Exchange], agreement: float, drift: float) -> Phrase | None:
    rates = [one.bits for one in measured.facts]
    if len(rates) < 2:
        return say("{count} rounds, wanted at least 2", count=len(rates))
    if min(rates) < agreement * max(rates):
        return say(
            "the slowest round has {share:.1%} of the fastest, wanted {wanted:.0%}: look for other traffic on port and switch; {cause}",
            share=min(rates) / max(rates), wanted=agreement, cause=cause(measured.around),
        )  # fmt: skip
    return heading(drift_percent(rates), drift, len(rates), partial(cause, measured.around))


def _rates(measured: Measured[Exchange]) -> Phrase:
    if not measured.facts:
        return say("no round")
    rates = [one.bits / 1e9 for one in measured.facts]
    mtus = ", ".join(sorted({str(flow.mtu) for one in measured.facts for flow in one.flows}))
    return say(
        "{rate:.2f} Gb/s over {count} rounds ({low:.2f} to {high:.2f}) at MTU {mtu}",
        rate=median(rates), count=len(rates), low=min(rates), high=max(rates), mtu=mtus,
    )  # fmt: skip
