"""The plan of a campaign is read strictly: days that cannot follow one another are refused, and none is made up."""

from __future__ import annotations

from datetime import date

import pytest

from kvgate.inventory import reader
from tests.inventory.test_reader import faults, written

PLAN = """calendar:
  begins: 2026-10-05
  gates:
    G1: {start: 2026-10-05, end: 2026-10-16, valid: 28 d}
    G2: {start: 2026-10-19, end: 2026-10-30, valid: 4 weeks}
    G3: {start: 2026-11-02, end: 2026-11-20}
    G4: {start: 2026-11-23, end: 2026-12-13}
"""


def planned(old: str = "", new: str = "") -> str:
    assert old in PLAN
    return written(nodes=1).replace("defaults:", PLAN.replace(old, new, 1) + "defaults:", 1)


def test_a_plan_is_read_to_days() -> None:
    calendar = reader.parse(planned()).rack.calendar
    assert calendar is not None
    assert (calendar.begins, calendar.weeks) == (date(2026, 10, 5), 10)
    assert (calendar.gates.G1.end, calendar.gates.G1.valid) == (date(2026, 10, 16), 28)
    assert (calendar.gates.G2.valid, calendar.gates.G3.valid) == (28, 70)


def test_a_rack_without_a_plan_is_one() -> None:
    assert reader.parse(written(nodes=1)).rack.calendar is None


@pytest.mark.parametrize(
    "old, new, found",
    [
        ("end: 2026-12-13", "end: 2026-12-14", "2026-12-14"),  # the day after week ten
        ("begins: 2026-10-05", "begins: 2026-10-06", "2026-10-05"),
        ("G2: {start: 2026-10-19", "G2: {start: 2026-10-04", "2026-10-04"),
        ("end: 2026-10-16", "end: 2026-10-04", "2026-10-04, before its start"),
        ("valid: 28 d", "valid: 0 d", "0 d"),
    ],
)
def test_days_that_cannot_be_are_refused(old: str, new: str, found: str) -> None:
    assert found in {str(fault.found) for fault in faults(planned(old, new))}


@pytest.mark.parametrize(
    "old, new",
    [
        ("valid: 28 d", "valid: 28"), ("valid: 28 d", "valid: 28 h"), ("valid: 28 d", "valid: 1.5 d"),
        ("start: 2026-10-05", "start: soon"), ("    G3: {start: 2026-11-02, end: 2026-11-20}\n", ""),
        ("G4:", "G5:"), ("begins: 2026-10-05", "begins: 2026-10-32"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused(old: str, new: str) -> None:
    assert all(fault.line for fault in faults(planned(old, new)))
