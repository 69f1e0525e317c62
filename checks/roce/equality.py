"""Whether all storage ports treat traffic alike. One port's answer never speaks for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from checks.parsers.rdma_qos import RdmaQos
from checks.phrase import Phrase, say
from checks.phrase import joined as in_one
from checks.roce.treatment import Qos
from checks.verdict import Verdict

Word = Phrase | str
Settings = Mapping[str, Mapping[Word, Word]]

_ABSENT = say("absent")


def same_qos(ports: Mapping[str, Qos], dscp: int | None, cnp_dscp: int | None) -> Verdict:
    """Trust, PFC, and what becomes of storage packets and CNPs: equal on all ports; whole maps where one tool told them."""
    meaning: dict[str, dict[Word, Word]] = {}
    maps: dict[str, dict[str, dict[Word, Word]]] = {}
    for name, qos in ports.items():
        cnp = None if cnp_dscp is None else qos.priority_of(cnp_dscp)
        meaning[name] = {
            say("trust"): _told(qos.trust),
            say("PFC"): listed(qos.pfc),
            say("priority of storage"): _told(None if dscp is None else qos.priority_of(dscp)),
            say("scheduling of CNPs"): _told(None if cnp is None else qos.scheduling_of(cnp)),
        }
        whole: dict[Word, Word] = {say("priority of DSCP {dscp}", dscp=value): str(found) for value, found in qos.dscp}
        whole |= {say("class of priority {priority}", priority=value): str(found) for value, found in qos.classes}
        maps.setdefault(qos.tool, {})[name] = whole
    odd = [text for table in (meaning, *maps.values()) for text in differences(table)]
    return _verdict(odd, len(ports))


def same_dcqcn(ports: Mapping[str, tuple[str, RdmaQos]]) -> Verdict:
    """DCQCN figures are equal on all ports of one driver. ``ports``: name -> (driver, what it says).

    A figure that one driver shows and the same driver elsewhere does not is another version: it cannot be compared.
    """
    silent = [name for name, (_, seen) in ports.items() if not seen.settings]
    if silent:
        return Verdict.undecided(say("no DCQCN figures are shown on {names}", names=", ".join(silent)))
    odd: list[Phrase] = []
    alone: list[str] = []
    for driver in dict.fromkeys(driver for driver, _ in ports.values()):
        tables = {name: seen.settings for name, (found, seen) in ports.items() if found == driver}
        shared = set.intersection(*(set(table) for table in tables.values()))
        alone += sorted({key for table in tables.values() for key in table} - shared)
        odd += differences({name: {key: str(table[key]) for key in sorted(shared)} for name, table in tables.items()})
    if not odd and alone:
        return Verdict.undecided(
            say("not shown on every port: {names}; install the same driver", names=", ".join(alone[:4]))
        )
    return _verdict(odd, len(ports))


def _told(value: object) -> Word:
    return say("not told") if value is None else str(value)


def listed(priorities: Sequence[int]) -> Word:
    """Priorities as text, or the word for none."""
    return ",".join(str(priority) for priority in priorities) or say("none")


def _verdict(odd: Sequence[Phrase], count: int) -> Verdict:
    required = say("equal on all storage ports")
    if count == 0:
        return Verdict.undecided(say("the inventory has no storage port with RDMA"), required)
    if odd:
        return Verdict.of(False, joined(odd), required)
    return Verdict.of(True, say("{count} ports alike", count=count), required)


def differences(settings: Settings) -> list[Phrase]:
    """Which ports differ from the most frequent value, one sentence each; none when all are equal."""
    found: list[Phrase] = []
    for key in dict.fromkeys(key for table in settings.values() for key in table):
        values = {name: table.get(key, _ABSENT) for name, table in settings.items()}
        usual, count = Counter(values.values()).most_common(1)[0]
        found += [
            say(
                "{name}: {key} {value}, {count} others {usual}",
                name=name,
                key=key,
                value=value,
                count=count,
                usual=usual,
            )
            for name, value in values.items()
            if value != usual
        ]
    return found


def joined(odd: Sequence[Phrase], most: int = 4) -> Phrase:
    """Sentences in one, the first few of them."""
    text = in_one(odd[:most])
    return text if len(odd) <= most else say("{listed}; and {more} more differences", listed=text, more=len(odd) - most)
