"""G1 under faults that really happened on the virtual rack: each is stopped, or undecided with its reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.vm.faults import FAULTS
from lab.vm.rack import Rack
from tests.rack.conftest import NEEDS_RACK
from tests.rack.expected import EXPECTED, told
from tests.rack.site import Rows, fresh

pytestmark = NEEDS_RACK


def judged(folder: Path, *clauses: str) -> Rows:
    """Run these clauses of G1 in a ledger of their own, and return every verdict."""
    site = fresh(folder / "site")
    ended = site.run("G1", "-k", " or ".join(clauses))
    assert site.runs(), ended.stdout + ended.stderr
    rows = site.rows()
    shutil.rmtree(site.evidence)
    return rows


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_fault_that_happened_stops_what_is_about_it(rack: Rack, tmp_path: Path, name: str, note: list[str]) -> None:
    fault, expected = FAULTS[name], EXPECTED.faults[name]
    fault.make(rack)
    try:
        rows = judged(tmp_path, *expected)
    finally:
        fault.mend(rack)
    for clause, outcome in expected.items():
        found = [row for (named, _), row in rows.items() if named == clause]
        assert outcome in {row["outcome"] for row in found}, (clause, [told(row) for row in found])
        note += [f"{clause} {outcome}: {told(row)}" for row in found if row["outcome"] == outcome]
