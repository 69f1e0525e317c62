"""What looks like a fault of RoCE and is none: another tool answers, an index moved, old errors stand. No verdict may change."""

from __future__ import annotations

import pytest

from checks.verdict import Outcome
from lab.faults import roce
from tests.gates.harness import judge


@pytest.mark.parametrize("twin", [twin.name for twin in roce.TWINS])
def test_what_is_no_fault_changes_no_verdict(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roce, "FAULTS", (*roce.FAULTS, *roce.TWINS))
    result = judge([twin], only=r"G1\.4\..*")
    assert result.unused == []
    assert result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED) == set()


def test_the_lossy_port_is_named_beside_the_others() -> None:
    result = judge(["node-trusts-pcp"], only=r"G1\.4\.(8|9|18)")
    assert any("node-01:ens1f0np0: trust pcp, 2 others dscp" in why for why in result.why("G1.4.18"))
    assert [why.split(":")[0] for why in result.why("G1.4.8")] == ["node-01"]


def test_a_port_that_cannot_be_asked_is_undecided_though_its_neighbours_are_right() -> None:
    result = judge(["node-qos-unknown"], only=r"G1\.4\.(8|9|18)")
    assert result.clauses(Outcome.STOP) == set()
    assert result.clauses(Outcome.UNDECIDED) == {"G1.4.8", "G1.4.9", "G1.4.18"}
    assert "dcb is not installed" in result.why("G1.4.8")[0]
