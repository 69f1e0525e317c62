"""Whether all storage ports treat traffic alike. One port's answer never speaks for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from checks.parsers.rdma_qos import RdmaQos
from checks.phrase import Phrase, joined, plain, say
from checks.roce.facts import Qos
from checks.verdict import Verdict

_NAMED = 4  # differences that a verdict names one by one


def same_qos(ports: Mapping[str, Qos], dscp: int | None, cnp_dscp: int | None) -> Verdict:
    """Trust, PFC, what becomes of storage packets and CNPs: equal on all ports; whole maps where one tool told them."""
    settings: dict[str, dict[Phrase, Phrase]] = {}
    for name, qos in ports.items():
        cnp = None if cnp_dscp is None else qos.priority_of(cnp_dscp)
        settings[name] = {
            say("trust"): plain(str(qos.trust)),
            say("PFC"): plain(",".join(str(value) for value in qos.pfc)) if qos.pfc else say("none"),
            say("priority of storage"): _told(None if dscp is None else qos.priority_of(dscp)),
            say("scheduling of CNPs"): _told(None if cnp is None else qos.scheduling_of(cnp)),
        }
        settings[name] |= {
            say("DSCP {dscp} ({tool})", dscp=value, tool=qos.tool): plain(str(priority)) for value, priority in qos.dscp
        }
        settings[name] |= {
            say("class of priority {priority} ({tool})", priority=value, tool=qos.tool): plain(str(number))
            for value, number in qos.classes
        }
    return _equal(settings, {name: qos.tool for name, qos in ports.items()})


def same_dcqcn(ports: Mapping[str, tuple[str, RdmaQos]]) -> Verdict:
    """DCQCN figures are equal on all ports of one driver. ``ports``: name -> (driver, what it says)."""
    silent = [name for name, (_, seen) in ports.items() if not seen.settings]
    if silent:
        return Verdict.undecided(say("no DCQCN figures are shown on {names}", names=", ".join(silent)))
    settings = {
        name: {plain(key): plain(str(value)) for key, value in seen.settings.items()}
        for name, (_, seen) in ports.items()
    }
    return _equal(settings, {name: driver for name, (driver, _) in ports.items()})


def _told(value: object) -> Phrase:
    return say("not told") if value is None else plain(str(value))


def _equal(settings: Mapping[str, Mapping[Phrase, Phrase]], kinds: Mapping[str, str]) -> Verdict:
    required = say("equal on all storage ports")
    if not settings:
        return Verdict.undecided(say("the inventory has no storage port with RDMA"), required)
    found: list[Phrase] = []
    for kind in dict.fromkeys(kinds.values()):
        alike = {name: table for name, table in settings.items() if kinds[name] == kind}
        for key in dict.fromkeys(key for table in alike.values() for key in table):
            values = {name: table.get(key, say("absent")) for name, table in alike.items()}
            found += _odd(key, values)
    shared = set.intersection(*(set(table) for table in settings.values()))
    if len(set(kinds.values())) > 1:
        for key in sorted(shared, key=str):
            found += [
                text for text in _odd(key, {name: table[key] for name, table in settings.items()}) if text not in found
            ]
    if found:
        measured = joined(found[:_NAMED])
        if len(found) > _NAMED:
            measured = say("{listed}; and {more} more differences", listed=measured, more=len(found) - _NAMED)
        return Verdict.of(False, measured, required)
    return Verdict.of(True, say("{count} ports alike", count=len(settings)), required)


def _odd(key: Phrase, values: Mapping[str, Phrase]) -> list[Phrase]:
    """Which ports differ from the most frequent value, in words; none when all are equal."""
    if len(set(values.values())) == 1:
        return []
    usual, count = Counter(values.values()).most_common(1)[0]
    return [
        say("{port}: {key} {value}, {count} others {usual}", port=name, key=key, value=value, count=count, usual=usual)
        for name, value in values.items()
        if value != usual
    ]
