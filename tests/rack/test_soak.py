"""G4 on the virtual rack, unscaled, minutes for hours: real units of systemd, a lost path, a power cut, an operator who goes away."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks.verdict import Outcome
from lab.vm.rack import Rack
from tests.rack.computer import TooSlow
from tests.rack.conftest import NEEDS_RACK
from tests.rack.site import KEPT, RackSite, fresh
from tests.rack.soaked import collected, judged

pytestmark = NEEDS_RACK

_UNITS = "systemctl list-units --no-legend --plain 'kvgate-*' | cut -d' ' -f1"


@pytest.fixture(scope="module")
def site(rack: Rack) -> RackSite:
    return fresh(KEPT / "soak")


def test_a_soak_outlives_the_operator_a_lost_path_and_a_power_cut_and_says_all_of_it(
    rack: Rack, site: RackSite, note: list[str]
) -> None:
    array, node = rack.machine("array"), rack.machine("node")
    began = time.monotonic()
    asked(site, "start", "--allow-load")
    _until(lambda: _states(site) == {"array": "running", "node": "running"}, 300)
    for machine in (array, node):
        (unit,) = machine.ssh(_UNITS).stdout.split()
        assert f"MemoryMax={512 * 2**20}" in machine.ssh(f"systemctl show -p MemoryMax {unit}").stdout
    note.append(f"one transient unit of systemd on each machine ({unit})")
    _operator_killed(site)
    assert {one["did"] for one in asked(site, "start", "--allow-load")} == {"attached"}
    _minutes(began, 2)
    for up in (False, True):
        for machine in (array, node):
            machine.ask("set_link", name="nic", up=up)
        time.sleep(60)
    _minutes(began, 6)
    node.cut_power()
    assert _states(site) == {"array": "running", "node": "unknown"}
    rack.start(node)
    states = {one["host"]: (one["state"], one["rebooted"]) for one in asked(site, "status")}
    assert states == {"array": ("running", False), "node": ("vanished", True)}
    resumed = {one["host"]: one["did"] for one in asked(site, "start", "--allow-load")}
    assert resumed == {"array": "attached", "node": "resumed"}
    note.append(f"resumed after a power cut, {(time.monotonic() - began) / 60:.0f} min after the begin")
    _until(lambda: {one["state"] for one in asked(site, "collect")} == {"ended"}, 3600)
    note.append(f"ended after {(time.monotonic() - began) / 60:.0f} min")
    for machine in (array, node):
        assert not machine.ssh(f"{_UNITS}; pgrep -a fio; ls -d /mnt/fx100/.kvgate-soak 2>/dev/null").stdout.strip()


def test_every_clause_of_g4_reads_it_and_what_happened_stops_what_is_about_it(
    rack: Rack, site: RackSite, tmp_path: Path, note: list[str]
) -> None:
    verdicts = judged(rack, collected(rack, site.soaks, tmp_path))
    found = {(item.clause, item.subject): verdict for item, verdict in verdicts.items()}
    said = {
        f"{clause} {subject}": (str(one.outcome), str(one.measured), str(one.note))
        for (clause, subject), one in found.items()
    }
    (KEPT / "soak.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for clause in ("G4.1.2", "G4.2.6", "G4.2.7"):  # interrupted, a path lost, a link down: on both ends
        for host in ("array", "node"):
            assert found[clause, host].outcome is Outcome.STOP, (clause, host, str(found[clause, host].measured))
    assert found["G4.4.4", "array"].outcome is Outcome.PASS, str(found["G4.4.4", "array"].measured)
    assert (
        found["G4.4.1", "rack"].outcome is not Outcome.STOP
    )  # the pass that the power cut ended tells nothing of blocks
    assert "passes: 0" not in str(found["G4.4.1", "rack"].measured)
    counts = {kind: sum(one.outcome is kind for one in found.values()) for kind in Outcome}
    note.append(", ".join(f"{count} {kind}" for kind, count in counts.items()))


def _operator_killed(site: RackSite) -> None:
    """Watch the soak from a process that is killed with no word."""
    watching = subprocess.Popen(
        site.soak_command("watch", "--every", "5"),
        env=site.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert watching.stdout is not None
    assert watching.stdout.readline()
    watching.send_signal(signal.SIGKILL)
    watching.stdout.close()
    assert watching.wait() == -signal.SIGKILL


def asked(site: RackSite, *words: str) -> list[dict[str, Any]]:
    """What `kvgate soak` says of each host. A busy machine may answer none in time (exit status 6): then it is asked again."""
    for _ in range(5):
        done = site.soak(*words, "--json")
        if done.stdout:
            found: list[dict[str, Any]] = json.loads(done.stdout)["hosts"]
            return found
        assert done.returncode == 6, done.stderr
    raise TooSlow(done.stderr)


def _states(site: RackSite) -> dict[str, str]:
    return {one["host"]: one["state"] for one in asked(site, "status")}


def _minutes(began: float, minutes: float) -> None:
    time.sleep(max(0.0, began + 60 * minutes - time.monotonic()))


def _until(holds: Callable[[], object], limit: float) -> None:
    end = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(10)
