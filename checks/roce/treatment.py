"""How a port treats traffic, in one shape whichever tool told it: trust, PFC, DSCP map, scheduling, congestion settings."""

from __future__ import annotations

import json
from dataclasses import dataclass

from checks.lexing import json_documents
from checks.parsers import dcb_app, dcb_ets, dcb_pfc, mlnx_qos, niccli, rdma_qos
from checks.parsers.rdma_qos import RdmaQos
from checks.probe import NotOffered, UnreadableOutput


@dataclass(frozen=True, slots=True)
class Qos:
    """How a port tells traffic apart and schedules it, from ``tool``.

    ``dscp`` are pairs DSCP -> priority, ``classes`` priority -> traffic class, ``tsa`` traffic class -> strict, ets, vendor.
    """

    tool: str
    trust: str | None
    pfc: tuple[int, ...]
    dscp: tuple[tuple[int, int], ...]
    classes: tuple[tuple[int, int], ...]
    tsa: tuple[tuple[int, str], ...]

    def priority_of(self, dscp: int) -> int | None:
        """Priority that packets with this DSCP get; None when the map does not name it."""
        return dict(self.dscp).get(dscp)

    def scheduling_of(self, priority: int) -> str | None:
        """How the traffic class of this priority is scheduled; None when the tool does not say."""
        traffic_class = dict(self.classes).get(priority)
        return None if traffic_class is None else dict(self.tsa).get(traffic_class)


def qos_from_mlnx(text: str) -> Qos:
    """Read ``mlnx_qos -i IF``."""
    said = mlnx_qos.parse(text)
    return Qos(
        tool="mlnx_qos",
        trust=said.trust,
        pfc=said.pfc,
        dscp=said.dscp,
        classes=tuple(sorted((priority, item.number) for item in said.classes for priority in item.priorities)),
        tsa=tuple((item.number, item.tsa) for item in said.classes),
    )


def qos_from_niccli(text: str) -> Qos:
    """``niccli ... qos --ets --show``: a port without any DSCP entry tells packets apart by their VLAN priority alone."""
    said = niccli.parse(text)
    return Qos("niccli", "dscp" if said.dscp else "pcp", said.pfc, said.dscp, said.classes, said.tsa)


def qos_from_dcb(text: str) -> Qos:
    """``dcb -j`` of pfc, app and ets, one document each in this order. Drivers trust DSCP from the first DSCP entry on."""
    documents = [json.dumps(document) for document in json_documents(text)]
    if len(documents) != 3:
        raise UnreadableOutput(f"{len(documents)} JSON documents, wanted three: pfc, app and ets")
    flow, map_, schedule = dcb_pfc.parse(documents[0]), dcb_app.parse(documents[1]), dcb_ets.parse(documents[2])
    return Qos(
        tool="dcb",
        trust="dscp" if map_.dscp else "pcp",
        pfc=tuple(priority for priority, on in enumerate(flow.on) if on),
        dscp=map_.dscp,
        classes=tuple(enumerate(schedule.classes)),
        tsa=tuple(enumerate(schedule.tsa)),
    )


def congestion(text: str) -> RdmaQos:
    """Read a dump of ECN and DCQCN files. Raises NotOffered when the driver has none of them."""
    if not text:
        raise NotOffered("the driver shows none of these ECN and DCQCN files (the inbox driver has no ECN switch)")
    return rdma_qos.parse(text)
