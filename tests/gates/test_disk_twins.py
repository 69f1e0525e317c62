"""What looks like a fault of a disk and is none. No verdict may change."""

from __future__ import annotations

import pytest

from checks.verdict import Outcome
from lab.faults import disks
from tests.gates.harness import judge


@pytest.mark.parametrize("twin", [twin.name for twin in disks.TWINS])
def test_what_is_no_fault_changes_no_verdict(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "FAULTS", (*disks.FAULTS, *disks.TWINS))
    result = judge([twin], only=r"G1\.2\..*")
    assert result.unused == []
    assert result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED) == set()
