"""When one port keeps storage traffic lossless: trust, PFC, DSCP map, CNP scheduling, ECN."""

from __future__ import annotations

from checks import bounds
from checks.parsers.rdma_qos import RdmaQos
from checks.phrase import Phrase, say
from checks.roce.criteria import unagreed
from checks.roce.treatment import Qos
from checks.verdict import Verdict

#: File names under which drivers keep the DSCP of CNPs: MLNX_OFED, inbox mlx5, bnxt_re.
_CNP = ("roce_np/cnp_dscp", "cc_params/np_cnp_dscp", "cc_config/alt_vlan_dscp")


def trusts_dscp(qos: Qos) -> Verdict:
    """The port tells packets apart by DSCP, not by the VLAN priority that routed RoCE packets do not carry."""
    return bounds.same_text(say("trust mode"), qos.trust, "dscp", note=say("told by {tool}", tool=qos.tool))


def pfc_on(qos: Qos, priority: int | None) -> Verdict:
    """PFC is enabled on the agreed priority."""
    if priority is None:
        return unagreed("pfc_priority")
    return Verdict.of(priority in qos.pfc, _pfc(qos), say("PFC on priority {priority}", priority=priority))


def pfc_on_no_other(qos: Qos, priority: int | None) -> Verdict:
    """No other priority than the agreed one has PFC: each more takes buffer from it and spreads pauses."""
    if priority is None:
        return unagreed("pfc_priority")
    others = [value for value in qos.pfc if value != priority]
    return Verdict.of(not others, _pfc(qos), say("no PFC on another priority than {priority}", priority=priority))


def _pfc(qos: Qos) -> Phrase:
    if not qos.pfc:
        return say("no PFC on any priority")
    return say("PFC on priority {priority}", priority=", ".join(str(value) for value in qos.pfc))


def maps_to(qos: Qos, dscp: int | None, priority: int | None) -> Verdict:
    """Packets with the agreed DSCP get the agreed priority."""
    if dscp is None or priority is None:
        return unagreed("dscp")
    required = say("DSCP {dscp} to priority {priority}", dscp=dscp, priority=priority)
    found = qos.priority_of(dscp)
    if found is not None:
        return Verdict.of(
            found == priority, say("DSCP {dscp} to priority {priority}", dscp=dscp, priority=found), required
        )
    if qos.trust == "pcp":
        return Verdict.of(False, say("trust is pcp: the DSCP is not looked at"), required)
    if not qos.dscp:
        return Verdict.undecided(say("{tool} printed no DSCP map", tool=qos.tool), required)
    return Verdict.of(False, say("DSCP {dscp} is not in the map, it gets the default priority", dscp=dscp), required)


def serves_cnp_strictly(qos: Qos, cnp_dscp: int | None, priority: int | None) -> Verdict:
    """CNPs wait behind no data: their DSCP has a priority of its own whose traffic class is strict."""
    if cnp_dscp is None or priority is None:
        return unagreed("cnp_dscp")
    required = say(
        "DSCP {dscp} to a strict traffic class, not with priority {priority}", dscp=cnp_dscp, priority=priority
    )
    found = qos.priority_of(cnp_dscp)
    if found is None:
        if qos.trust == "pcp" or qos.dscp:
            return Verdict.of(False, say("DSCP {dscp} is mapped to no priority", dscp=cnp_dscp), required)
        return Verdict.undecided(say("{tool} printed no DSCP map", tool=qos.tool), required)
    word = qos.scheduling_of(found)
    if word is None:
        return Verdict.undecided(
            say("{tool} does not say how priority {priority} is scheduled", tool=qos.tool, priority=found), required
        )
    measured = say("DSCP {dscp} to priority {priority}, scheduled {word}", dscp=cnp_dscp, priority=found, word=word)
    return Verdict.of(word == "strict" and found != priority, measured, required)


def ecn_as_agreed(seen: RdmaQos, priority: int | None, ecn: bool | None) -> Verdict:
    """Both sides of ECN (notification and reaction point) are on for the priority, or off where that was agreed."""
    if priority is None or ecn is None:
        return unagreed("ecn")
    required = say("notification and reaction point on for priority {priority}", priority=priority)
    if not ecn:
        required = say("notification and reaction point off for priority {priority}", priority=priority)
    sides = {item.side: item.on for item in seen.switches if item.priority == priority}
    if not sides and {"cc_config/enable_cc", "cc_config/tos_ecn"} <= seen.settings.keys():
        on = seen.settings["cc_config/enable_cc"] == 1 and seen.settings["cc_config/tos_ecn"] in (1, 2)
        sides = {"np": on, "rp": on}
    if sides.keys() != {"np", "rp"}:
        return Verdict.not_offered(
            say(
                "the driver does not show the ECN switches of both sides for priority {priority}",
                priority=priority,
            ),
            required,
        )
    words = {side: say("on") if on else say("off") for side, on in sides.items()}
    measured = say("notification point {np}, reaction point {rp}", np=words["np"], rp=words["rp"])
    return Verdict.of(all(on == ecn for on in sides.values()), measured, required)


def cnp_marked(seen: RdmaQos, agreed: int | None) -> Verdict:
    """CNPs are sent with the agreed DSCP."""
    if agreed is None:
        return unagreed("cnp_dscp")
    found = next((seen.settings[name] for name in _CNP if name in seen.settings), None)
    if found is None:
        return Verdict.not_offered(
            say("the driver does not show the DSCP of its CNPs"), say("DSCP {dscp}", dscp=agreed)
        )
    return bounds.exactly(say("DSCP of CNPs"), found, agreed)


def offers_traffic_class(seen: RdmaQos) -> bool:
    """Whether the driver has the traffic class file: it comes with the ecn folder; an empty file was never set."""
    return seen.traffic_class is not None or any(name.startswith("roce_") for name in seen.settings)
