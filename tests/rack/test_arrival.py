"""G1 on two virtual machines with real kernels, healthy: what it can tell is told, what it cannot is undecided with its reason."""

from __future__ import annotations

from lab.vm.rack import Rack
from tests.rack.conftest import SHORT, too_slow
from tests.rack.expected import EXPECTED
from tests.rack.site import RackSite, told

pytestmark = SHORT


def test_the_healthy_rack_is_judged_truly_and_what_it_cannot_tell_is_undecided(
    rack: Rack, campaign: RackSite, note: list[str]
) -> None:
    ended = campaign.until_told("G1")
    assert campaign.runs(), ended.stdout + ended.stderr
    rows = campaign.rows()
    note.append(f"{len(rows)} verdicts, exit {ended.returncode}")
    too_slow(told(row) for row in rows.values() if row["outcome"] == "UNDECIDED")
    found = {key: (row["outcome"], told(row)) for key, row in rows.items() if row["outcome"] != "PASS"}
    assert found.keys() == EXPECTED.of("G1").keys()
    for key, (outcome, reason) in EXPECTED.of("G1").items():
        row = rows[key]
        assert (row["outcome"], reason in told(row)) == (outcome, True), (key, told(row))
    declared = {clause for (clause, _), row in rows.items() if row["basis"] == "declared"}
    assert declared == {"G1.4.22", "G1.4.25"}
    assert ended.returncode == 0, ended.stdout
    campaign.certify("G1")
