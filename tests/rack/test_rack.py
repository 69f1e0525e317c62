"""G1 on two virtual machines with real kernels: healthy, and under faults that really happened. `make test-rack` starts them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.vm.faults import FAULTS
from lab.vm.rack import Rack
from tests.e2e.site import ROOT, Site
from tests.rack.expected import EXPECTED

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("KVGATE_RACK") != "1", reason="starts virtual machines for an hour: make test-rack"
    ),
    pytest.mark.timeout(3600),
]
Rows = Mapping[tuple[str, str], Mapping[str, Any]]


@pytest.fixture(scope="session")
def rack() -> Rack:
    """The rack of this checkout, which `make test-rack` has started; left up for the next look."""
    rack = Rack.of(ROOT)
    rack.up(print)
    return rack


def judged(rack: Rack, folder: Path, *clauses: str) -> Rows:
    """Run G1 as an operator does, or these clauses of it, in a ledger of its own, and return every verdict."""
    site = Site(folder, [])
    command = site.command(*(("-k", " or ".join(clauses)) if clauses else ()))
    command[command.index("--inventory") + 1] = str(rack.inventory)
    home = {"HOME": os.environ.get("HOME", "/")}
    ended = site.call(command, limit=1800, **home)
    assert site.runs(), ended.stdout + ended.stderr
    shown = site.last()
    shutil.rmtree(site.evidence)
    return {(row["clause"], row["subject"]): row for row in shown["verdicts"]}


def told(row: Mapping[str, Any]) -> str:
    return " ".join(str(row[key] or "") for key in ("measured", "note", "reason"))


def test_the_healthy_rack_is_judged_truly_and_what_it_cannot_tell_is_undecided(rack: Rack, tmp_path: Path) -> None:
    rows = judged(rack, tmp_path)
    found = {key: (row["outcome"], told(row)) for key, row in rows.items() if row["outcome"] != "PASS"}
    assert found.keys() == EXPECTED.of("G1").keys()
    for key, (outcome, reason) in EXPECTED.of("G1").items():
        row = rows[key]
        assert (row["outcome"], reason in told(row)) == (outcome, True), (key, told(row))
    declared = {clause for (clause, _), row in rows.items() if row["basis"] == "declared"}
    assert declared == {"G1.4.22", "G1.4.25"}


@pytest.mark.parametrize("name", sorted(EXPECTED.faults))
def test_a_fault_that_happened_stops_what_is_about_it(rack: Rack, tmp_path: Path, name: str) -> None:
    fault, expected = FAULTS[name], EXPECTED.faults[name]
    fault.make(rack)
    try:
        rows = judged(rack, tmp_path, *expected)
    finally:
        fault.mend(rack)
    for clause, outcome in expected.items():
        assert outcome in {row["outcome"] for (named, _), row in rows.items() if named == clause}, (clause, rows)
