"""The embedded rack is never taken for a real one: the demo says so, and so does who hides it in the inventory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvgate.certificates import decision, envelope, simulated
from lab.order import PLATFORMS, rack
from lab.rack import fingerprint, host_key
from tests.certificates.conftest import Desk, Lay
from tests.e2e.site import served


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_host_of_the_embedded_rack_bears_both_marks(platform: str) -> None:
    for one in rack(4, platform):
        assert str(one.values["boot_id"]).startswith(simulated.BOOT_ID)
        for generation in (0, 1):
            assert fingerprint(host_key(one.name, generation)) == simulated.fingerprint(one.name, generation)


def test_the_demo_ends_with_a_certificate_that_both_parties_signed(passed: Desk) -> None:
    (path,) = (passed.folder / "by-the-demo").glob("*.json")
    known = passed.folder / "var/demo/allowed_signers"
    words = ("verify", path, "--trust", known, "--evidence", passed.folder / "var/evidence")
    shown = passed.kvgate(*words, "--simulated", "--json")
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert (told["state"], told["simulated"], told["attempt"]) == ("FINAL", True, 2)
    assert passed.kvgate(*words).exit_code == 1
    pages = sorted(one.name for one in path.parent.glob("*.html"))
    assert pages == [f"{path.name}.en.html", f"{path.name}.zh.html"]
    assert "SIMULATED" in (path.parent / pages[0]).read_text("utf-8")


def test_an_inventory_that_hides_it_changes_nothing(tmp_path: Path, lay: Lay) -> None:
    with served(tmp_path / "made") as site:
        site.change("\nsimulated: true\n", "\n")
        ended = site.gate()
        assert ended.returncode == 0, ended.stdout
        assert site.last()["simulated"] is False
        (site.folder / "var").mkdir()
        site.evidence.rename(site.folder / "var/evidence")
        (site.folder / "kvgate.db").rename(site.folder / "var/kvgate.db")
    desk = lay(site.folder)
    made = desk.certify(desk.runs[0])
    assert made.exit_code == 0, made.output
    assert "G1 embedded (simulated): PASS" in made.stderr
    assert decision.read(envelope.load(desk.certificate)).predicate.simulated is True
