"""What a gate run comes to, and what an operator and a program read of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from kvgate import agreement as agreements
from kvgate.inventory import reader
from lab.faults import every
from tests.e2e.conftest import Run
from tests.e2e.cut import nothing_stops_early
from tests.e2e.site import Verdicts, clauses, outcomes, properties

CLAUSES = agreements.read().acceptance


def owed(run: Run) -> set[tuple[str, str]]:
    rack = reader.read(run.site.inventory).rack
    found = agreements.what_is_owed(agreements.read(), rack, "inventory", "G1")
    return {(item.clause, item.subject) for item, _ in found}


def stored(run: Run) -> Verdicts:
    return outcomes(run.site.show(run.id))


def test_a_healthy_rack_passes(passed: Run) -> None:
    assert passed.ended.returncode == 0, passed.ended.stdout
    shown = passed.site.show(passed.id)
    assert shown["outcome"] == "PASS"
    assert shown["decided"]
    assert shown["simulated"]
    assert shown["problems"] == []
    assert set(outcomes(shown).values()) == {"PASS"}


def test_a_fault_stops_the_gate_and_exactly_its_clauses(stopped: Run) -> None:
    assert stopped.ended.returncode == 1
    assert stopped.site.runs()[0]["outcome"] == "STOP"
    assert clauses(stored(stopped), "STOP") == every()["disk-media-errors"].stops
    assert clauses(stored(stopped), "UNDECIDED") == set()


def test_part_of_the_evidence_stops_the_gate_for_nothing_else(stopped: Run, tmp_path: Path) -> None:
    found = nothing_stops_early(stopped.site.evidence / stopped.id, 12, tmp_path)
    assert {clause for clause, _ in found} == every()["disk-media-errors"].stops


def test_what_could_not_be_told_leaves_the_gate_undecided(undecided: Run) -> None:
    assert undecided.ended.returncode == 6
    assert undecided.site.runs()[0]["outcome"] == "UNDECIDED"
    assert clauses(stored(undecided), "STOP") == set()
    assert clauses(stored(undecided), "UNDECIDED") == every()["node-down"].undecided


@pytest.mark.parametrize("which", ["passed", "stopped", "undecided"])
def test_every_verdict_owed_is_decided_and_no_other(which: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(which)
    assert stored(run).keys() == owed(run)
    assert "missing" not in stored(run).values()


def test_the_last_lines_say_what_stopped_the_gate_and_what_to_do(stopped: Run) -> None:
    text = stopped.ended.stdout
    last = [line for line in text.splitlines() if line.strip()][-1]
    assert last.startswith("G1: STOP")
    block = text[text.index("STOP G1.2.9") :]
    assert "fx100-a:S7Y0NX0W100003" in block
    assert "measured 7" in block
    assert "required at most 0" in block
    assert "E" in block
    assert "do: " in block
    assert "kvgate runbook G1.2.9" in block
    assert CLAUSES.clauses["G1.2.9"].text.en in block
    assert f"kvgate judge {stopped.id}" in block


def test_a_passed_gate_shows_no_clause_and_ends_in_its_decision(passed: Run) -> None:
    lines = [line for line in passed.ended.stdout.splitlines() if line.strip()]
    assert lines[-1].startswith("G1: PASS")
    assert not any(line.startswith(("STOP", "UNDECIDED")) for line in lines)
    assert "simulated" in passed.ended.stdout


def test_one_dead_host_is_told_once_and_not_a_hundred_times(undecided: Run) -> None:
    text = undecided.ended.stdout
    assert text.count("refused the connection") <= 4
    assert len(text.splitlines()) < 120
    assert "G1.1: 1-10" in text


def test_the_decision_stands_before_its_clauses(stopped: Run) -> None:
    text = stopped.ended.stdout
    assert text.index("G1 embedded") < text.index("STOP G1.2.9")


def test_junit_xml_carries_every_verdict_with_its_evidence(stopped: Run) -> None:
    root = ET.parse(stopped.report).getroot()
    tests = properties(stopped.report)
    assert len(tests) == len(owed(stopped)) == int(root.find("testsuite").get("tests", "0"))  # type: ignore[union-attr]
    for test in tests:
        assert test["outcome"] in ("PASS", "STOP", "UNDECIDED")
        assert test["required"] or test["basis"] == "declared"
        assert test["measured"] or test["outcome"] == "UNDECIDED"
        assert (
            test["evidence"].startswith("E") or test["basis"] == "declared" or test["clause"] in ("G1.1.1", "G1.1.22")
        )
    failed = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["test_has_lost_no_data[fx100-a:S7Y0NX0W100003]"]
    assert all(str(case.get("classname")).startswith("gates.g1_arrival.test_") for case in root.iter("testcase"))


def test_evidence_named_by_a_verdict_is_a_line_of_the_journal(stopped: Run) -> None:
    journal = stopped.site.journal()
    assert journal is not None
    lines = journal.read_text("utf-8").splitlines()
    (row,) = [row for row in stopped.site.show(stopped.id)["verdicts"] if row["outcome"] == "STOP"]
    for name in row["evidence"]:
        assert f'"seq":{name[1:]},' in lines[int(name[1:]) - 1]
        assert "S7Y0NX0W100003" in lines[int(name[1:]) - 1]
