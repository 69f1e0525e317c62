"""A healthy soak passes; each fault stops exactly its clauses and they name its minute; everyday trouble stops nothing."""

from __future__ import annotations

import re

import pytest

from checks.verdict import Outcome
from lab.soak.faults import FAULTS, HARMLESS, HOURS, SoakFault, every
from tests.gates.soaking import array, clauses, judge, node, told


def test_a_healthy_soak_passes_every_clause() -> None:
    verdicts = judge({"fx100-a": array(), "node-01": node()})
    assert len({item.clause for item in verdicts}) == 30
    assert not clauses(verdicts, Outcome.STOP) | clauses(verdicts, Outcome.UNDECIDED), told(verdicts)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_is_noticed_by_exactly_its_clauses_in_its_minute(fault: SoakFault) -> None:
    verdicts = judge({"fx100-a": array(), "node-01": node(fault)}, arrival=fault.arrival)
    assert clauses(verdicts, Outcome.STOP) == fault.stops, told(verdicts)
    assert clauses(verdicts, Outcome.UNDECIDED) - fault.stops == fault.undecided, told(verdicts)
    if fault.minute is None:
        return
    for item, one in verdicts.items():
        if one.outcome is Outcome.STOP and item.clause != "G4.4.4":  # what is gone at the end was lost in G4.2's minute
            named = [int(found) for found in re.findall(r"minute (\d+)", f"{one.measured} {one.note}")]
            assert any(fault.minute <= minute <= fault.minute + fault.late for minute in named), (
                f"{item.clause}: {told(verdicts)}"
            )


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.name)
def test_everyday_trouble_stops_nothing(fault: SoakFault) -> None:
    verdicts = judge({"fx100-a": array(), "node-01": node(fault)})
    assert not clauses(verdicts, Outcome.STOP) | clauses(verdicts, Outcome.UNDECIDED), told(verdicts)


def test_a_soak_that_still_runs_passes_nothing_and_says_how_long_it_will() -> None:
    verdicts = judge({"fx100-a": array(), "node-01": node(until=HOURS * 1800)})
    mine = {item: one for item, one in verdicts.items() if item.subject != "fx100-a"}
    assert not [item for item, one in mine.items() if one.outcome is Outcome.PASS], told(verdicts)
    assert any("another 8.0 h" in str(one.note) for one in mine.values()), told(verdicts)


def test_there_are_at_least_thirty_faults_and_no_name_is_used_twice() -> None:
    assert len(FAULTS) >= 30
    assert len(every()) == len(FAULTS) + len(HARMLESS)
    assert all(len(one.text.split()) >= 3 and one.zh for one in every().values())
