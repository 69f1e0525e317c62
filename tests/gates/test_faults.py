"""A healthy rack passes; each fault stops exactly its clauses. Nothing else changes, on any platform."""

from __future__ import annotations

import pytest

from checks.verdict import Outcome
from lab.faults import every
from lab.soak.faults import EMBEDDED
from tests.gates.harness import Result, judge

PLATFORMS = ("rocm", "ascend", "nvidia")
#: Faults of the host itself show only over a real connection: tests/e2e.
IN_ANSWERS = sorted(
    name for name, fault in every().items() if fault.edits or fault.load or fault.serving or fault.untold
)
#: The smallest experiment that every clause of G3 can be told from; the healthy rack makes the whole one.
SMALL = (8,)


def told(result: Result) -> str:
    ids = sorted(result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED))
    return "\n".join(f"{clause}: {result.why(clause)[:2]}" for clause in ids)


def test_a_name_means_one_fault_whether_of_a_soak_or_not() -> None:
    assert not {one.name for one in EMBEDDED} & every().keys()


@pytest.mark.parametrize(("gate", "least"), [("G1", 300), ("G2", 15), ("G3", 20)])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_healthy_rack_passes_every_clause(platform: str, gate: str, least: int) -> None:
    result = judge(platform=platform, gate=gate)
    assert len(result.verdicts) > least
    assert not result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED), told(result)


@pytest.mark.parametrize(("tool", "engine"), [("vllm-bench", "vllm"), ("aiperf", "vllm"), ("sglang-bench", "sglang")])
def test_a_healthy_rack_that_a_load_tool_drives_passes_every_clause(tool: str, engine: str) -> None:
    result = judge(gate="G3", concurrencies=SMALL, tool=tool, engine=engine)
    assert len(result.verdicts) > 7
    assert not result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED), told(result)


@pytest.mark.parametrize("gate", ["G2", "G3"])
def test_a_healthy_rack_that_sglang_serves_passes_every_clause(gate: str) -> None:
    result = judge(gate=gate, concurrencies=SMALL, engine="sglang", only=r"G2\.6\..*|G3\..*")
    assert result.verdicts
    assert not result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED), told(result)


def test_a_healthy_rack_whose_engines_are_containers_passes_every_clause() -> None:
    result = judge(gate="G3", concurrencies=SMALL, containers=True)
    assert not result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED), told(result)


@pytest.mark.parametrize("gate", ["G1", "G2"])
def test_a_healthy_rack_with_nfs_beside_its_volume_passes_too(gate: str) -> None:
    result = judge(gate=gate, nfs=True)
    assert not result.clauses(Outcome.STOP) | result.clauses(Outcome.UNDECIDED), told(result)
    assert {item.subject for item in result.verdicts if item.subject.endswith("/mnt/nfs")}


@pytest.mark.parametrize("name", IN_ANSWERS)
def test_each_fault_is_noticed_by_exactly_its_clauses(name: str) -> None:
    fault = every()[name]
    result = judge([name], platform=fault.platform or "rocm", gate=fault.gate, concurrencies=SMALL)
    assert result.clauses(Outcome.STOP) == fault.stops, told(result)
    assert result.clauses(Outcome.UNDECIDED) - fault.stops == fault.undecided - fault.stops, told(result)
    assert not result.unused, "an edit that meets no command breaks nothing"
