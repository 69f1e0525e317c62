"""Whether the network ports of all NPUs of a host treat traffic alike."""

from __future__ import annotations

from collections.abc import Sequence

from checks.parsers.hccn_tool import DscpToTc, Pfc, Reply, of
from checks.phrase import say
from checks.roce.equality import Word, differences, joined, listed
from checks.verdict import Verdict


def same_npu_qos(replies: tuple[Reply, ...], devices: Sequence[int]) -> Verdict:
    """The ports of all NPUs of a host have PFC on one and the same priority and the same DSCP map."""
    required = say("PFC on one priority, and one DSCP map, on all {count} ports", count=len(devices))
    if not devices:
        return Verdict.undecided(say("the inventory orders no NPU"), required)
    flow, maps = of(replies, Pfc), of(replies, DscpToTc)
    if missing := [str(device) for device in devices if device not in flow or device not in maps]:
        return Verdict.undecided(say("no answer for NPU {names}", names=", ".join(missing)), required)
    table: dict[str, dict[Word, Word]] = {}
    for device in devices:
        table[f"NPU {device}"] = {say("PFC"): listed(flow[device].enabled)}
        table[f"NPU {device}"] |= {
            say("class of DSCP {dscp}", dscp=dscp): str(found) for dscp, found in maps[device].classes
        }
    if odd := differences(table):
        return Verdict.of(False, joined(odd), required)
    priorities = flow[devices[0]].enabled
    return Verdict.of(len(priorities) == 1, say("PFC {priorities} on all", priorities=listed(priorities)), required)
