"""Whether all storage ports treat traffic alike. One port's answer never speaks for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from checks.parsers.rdma_qos import RdmaQos
from checks.phrase import say
from checks.roce.facts import Qos
from checks.verdict import Verdict


def same_qos(ports: Mapping[str, Qos], dscp: int | None, cnp_dscp: int | None) -> Verdict:
    """Trust, PFC, what becomes of storage packets and CNPs: equal on all ports; whole maps where one tool told them."""
    settings: dict[str, dict[str, str]] = {}
    for name, qos in ports.items():
        cnp = None if cnp_dscp is None else qos.priority_of(cnp_dscp)
        settings[name] = {
            "trust": str(qos.trust),
            "PFC": ",".join(str(value) for value in qos.pfc) or "none",
            "priority of storage": _told(None if dscp is None else qos.priority_of(dscp)),
            "scheduling of CNPs": _told(None if cnp is None else qos.scheduling_of(cnp)),
        }
        settings[name] |= {f"DSCP {value} ({qos.tool})": str(priority) for value, priority in qos.dscp}
        settings[name] |= {f"class of priority {value} ({qos.tool})": str(number) for value, number in qos.classes}
    return _equal(settings, {name: qos.tool for name, qos in ports.items()})


def same_dcqcn(ports: Mapping[str, tuple[str, RdmaQos]]) -> Verdict:
    """DCQCN figures are equal on all ports of one driver. ``ports``: name -> (driver, what it says)."""
    silent = [name for name, (_, seen) in ports.items() if not seen.settings]
    if silent:
        return Verdict.undecided(say("no DCQCN figures are shown on {names}", names=", ".join(silent)))
    settings = {name: {key: str(value) for key, value in seen.settings.items()} for name, (_, seen) in ports.items()}
    return _equal(settings, {name: driver for name, (driver, _) in ports.items()})


def _told(value: object) -> str:
    return "not told" if value is None else str(value)


def _equal(settings: Mapping[str, Mapping[str, str]], kinds: Mapping[str, str]) -> Verdict:
    required = say("equal on all storage ports")
    if not settings:
        return Verdict.undecided(say("the inventory has no storage port with RDMA"), required)
    found: list[str] = []
    for kind in dict.fromkeys(kinds.values()):
        alike = {name: table for name, table in settings.items() if kinds[name] == kind}
        for key in dict.fromkeys(key for table in alike.values() for key in table):
            values = {name: table.get(key, "absent") for name, table in alike.items()}
            found += _odd(key, values)
    shared = set.intersection(*(set(table) for table in settings.values()))
    if len(set(kinds.values())) > 1:
        for key in sorted(shared):
            found += [
                text for text in _odd(key, {name: table[key] for name, table in settings.items()}) if text not in found
            ]
    if found:
        return Verdict.of(
            False, say("{found}", found="; ".join(found[:4]) + (" ..." if len(found) > 4 else "")), required
        )
    return Verdict.of(True, say("{count} ports alike", count=len(settings)), required)


def _odd(key: str, values: Mapping[str, str]) -> list[str]:
    """Which ports differ from the most frequent value, in words; none when all are equal."""
    if len(set(values.values())) == 1:
        return []
    usual, count = Counter(values.values()).most_common(1)[0]
    return [
        f"{name}: {key} {_cut(value)}, {count} others {_cut(usual)}" for name, value in values.items() if value != usual
    ]


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
