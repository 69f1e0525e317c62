"""G1 on two virtual machines with real kernels, healthy: what it can tell is told, what it cannot is undecided with its reason."""

from __future__ import annotations

from lab.vm.rack import Rack
from tests.rack.computer import held_up, upset
from tests.rack.conftest import SHORT
from tests.rack.expected import EXPECTED, differing, told
from tests.rack.site import RackSite

pytestmark = SHORT


def test_the_healthy_rack_is_judged_truly_and_what_it_cannot_tell_is_undecided(
    rack: Rack, campaign: RackSite, note: list[str]
) -> None:
    ended = campaign.until_told("G1")
    assert campaign.runs(), ended.stdout + ended.stderr
    rows = campaign.rows()
    note.append(f"{len(rows)} verdicts, exit {ended.returncode}")
    held_up(told(row) for row in rows.values() if row["outcome"] == "UNDECIDED")
    wrong = differing(rows, EXPECTED.of("G1"))
    upset(wrong, EXPECTED.starved, lambda place: str(place[0]))
    assert not wrong
    declared = {clause for (clause, _), row in rows.items() if row["basis"] == "declared"}
    assert declared == {"G1.4.22", "G1.4.25"}
    assert ended.returncode == 0, ended.stdout
    campaign.certify("G1")
