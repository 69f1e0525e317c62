"""What a run on the virtual rack is held to: everything passes but what is listed, and that for its reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rack.expected import differing, undecided

EXPECTED = {("G1.1.25", "node"): ("UNDECIDED", "/dev/ipmi0")}
PASSED = {"outcome": "PASS", "measured": "1", "note": None, "reason": None}
OPEN = {"outcome": "UNDECIDED", "measured": None, "note": None, "reason": "Could not open device at /dev/ipmi0"}


@pytest.mark.parametrize(
    ("ipmi", "other", "wrong"),
    [
        (OPEN, PASSED, {}),
        (PASSED, PASSED, {("G1.1.25", "node")}),
        ({**OPEN, "reason": "ipmitool is not installed"}, PASSED, {("G1.1.25", "node")}),
        ({**OPEN, "outcome": "STOP"}, PASSED, {("G1.1.25", "node")}),
        (OPEN, {**OPEN, "outcome": "STOP"}, {("G1.1.2", "node")}),
        (None, PASSED, {("G1.1.25", "node")}),
    ],
)  # fmt: skip
def test_what_is_listed_comes_with_its_outcome_and_reason_and_the_rest_passes(
    ipmi: dict[str, Any] | None, other: dict[str, Any], wrong: set[tuple[str, str]]
) -> None:
    rows = {("G1.1.2", "node"): other} | ({} if ipmi is None else {("G1.1.25", "node"): ipmi})
    assert differing(rows, EXPECTED).keys() == set(wrong)


def test_a_verdict_that_is_not_there_leaves_nothing_open() -> None:
    assert [undecided(row) for row in (OPEN, PASSED, None)] == [True, False, False]
