"""A soak of two minutes on the virtual rack, undisturbed: it starts, ends by itself, and every clause of G4 reads what it left."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from checks.verdict import Outcome, Verdict
from lab.vm.machine import Machine
from lab.vm.rack import Rack
from tests.rack.computer import TooSlow, held_up, until, upset
from tests.rack.conftest import SHORT
from tests.rack.expected import EXPECTED, differing
from tests.rack.site import KEPT, RACK, RackSite, fresh
from tests.rack.soaked import collected, judged
from tests.rack.test_soak import asked

pytestmark = SHORT

#: Seconds after which a soak of two minutes and one to spare has not ended by itself.
_LATEST = 600.0
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
    assert {one["did"] for one in answered(site, "start", "--allow-load")} <= {
        "started",
        "attached",
    }  # where it was asked again
    node = rack.machine("node")
    until(
        lambda: {one["state"] for one in answered(site, "collect")} == {"ended"},
        _LATEST,
        lambda: node.ssh("true", 120),
        "a soak of two minutes ends",
    )
    note.append(f"ended after {time.monotonic() - began:.0f} s")
    found = judged(
        replace(rack, inventory=site.inventory),
        collected(replace(rack, inventory=site.inventory), site.soaks, tmp_path),
    )
    held_up(str(one.note) for one in found.values() if one.outcome is Outcome.UNDECIDED)
    rows = {(item.clause, item.subject): _row(one) for item, one in found.items()}
    note.append(", ".join(f"{sum(one.outcome is kind for one in found.values())} {kind}" for kind in Outcome))
    wrong = differing(rows, EXPECTED.soaked)
    upset(wrong, EXPECTED.starved, lambda place: str(place[0]))
    assert not wrong
    for machine in rack.machines():
        until(partial(_nothing_left, machine), 60, partial(machine.ssh, "true", 120), "nothing is left")


def _nothing_left(machine: Machine) -> bool:
    """Neither a unit nor a load of it."""
    return not machine.ssh("systemctl list-units --no-legend --plain 'kvgate-*'; pgrep -a fio").stdout.strip()


def _row(verdict: Verdict) -> dict[str, str]:
    """As the ledger has it."""
    return {
        "outcome": str(verdict.outcome),
        "measured": str(verdict.measured),
        "note": str(verdict.note or ""),
        "reason": "",
    }


def answered(site: RackSite, *words: str) -> list[dict[str, Any]]:
    """What every host says to `kvgate soak`; asked again where one did not answer. Raises TooSlow where it never does."""
    for _ in range(5):
        said = asked(site, *words)
        if all(one["state"] != "unknown" for one in said):
            return said
    raise TooSlow(str(said))
