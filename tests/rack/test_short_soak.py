"""A soak of two minutes on the virtual rack, undisturbed: it starts, ends by itself, and every clause of G4 reads what it left."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from checks.verdict import Outcome
from lab.vm.rack import Rack
from tests.rack.conftest import SHORT, too_slow
from tests.rack.site import KEPT, RACK, RackSite, fresh
from tests.rack.soaked import collected, judged
from tests.rack.test_soak import asked

pytestmark = SHORT

_CHANGES = (
    ("acceptance: ../", f"acceptance: {RACK.inventory.parents[1]}/"),
    ("duration: 10 min", "duration: 2 min"),
    ("spare: 8 min", "spare: 1 min"),
    ("every: 2 min", "every: 1 min"),
)


@dataclass
class ShortSite(RackSite):
    """The same rack, soaked for two minutes."""

    @property
    def inventory(self) -> Path:
        return self.folder / "vm.yaml"


def test_a_soak_of_minutes_ends_by_itself_and_is_read(rack: Rack, tmp_path: Path, note: list[str]) -> None:
    site = ShortSite(fresh(KEPT / "short-soak").folder, [])
    text = rack.inventory.read_text("utf-8")
    for old, new in _CHANGES:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    site.inventory.write_text(text, "utf-8")
    began = time.monotonic()
    assert {one["did"] for one in asked(site, "start", "--allow-load")} == {"started"}
    while {one["state"] for one in asked(site, "collect")} != {"ended"}:
        assert time.monotonic() - began < 1200, "it never ended"
        time.sleep(10)
    note.append(f"ended after {time.monotonic() - began:.0f} s")
    found = judged(
        replace(rack, inventory=site.inventory),
        collected(replace(rack, inventory=site.inventory), site.soaks, tmp_path),
    )
    too_slow(str(one.note) for one in found.values() if one.outcome is Outcome.UNDECIDED)
    wrong = {
        f"{item.clause} {item.subject}": f"{one.outcome}: {one.measured} {one.note}" for item, one in found.items()
    }
    note += [f"{place} {said}" for place, said in wrong.items() if not said.startswith(str(Outcome.PASS))]
    for machine in rack.machines():
        assert not machine.ssh("systemctl list-units --no-legend --plain 'kvgate-*'; pgrep -a fio").stdout.strip()
