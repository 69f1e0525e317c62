"""G4 as an operator types it, on the embedded rack: UNDECIDED while the soak runs, judged at its end, a fault named by its minute."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate import agreement as agreements
from kvgate.certificates import simulated
from kvgate.certificates.trust import PARTIES
from kvgate.cli.demo import login_key
from kvgate.cli.demo_soak import SCALE, soaked
from kvgate.evidence.store import Evidence
from kvgate.reports.messages import Reader
from lab.rack import EmbeddedRack, build
from tests.campaign import sample
from tests.certificates.conftest import Keys
from tests.e2e.cut import nothing_stops_early
from tests.e2e.site import Site, until

Served = Callable[..., "Soaked"]


@dataclass
class Soaked:
    """A rack that passed G1 to G3 by its parties' signatures, and a soak of it."""

    site: Site
    trust: Path

    def gate(self, *words: str) -> subprocess.CompletedProcess[str]:
        places = ("--allow-load", "--soaks", str(self.site.folder / "soaks"), "--trust", str(self.trust))
        return self.site.call(self.site.command(*places, *words, gate="G4"), limit=300)

    def soak(self, verb: str, *words: str) -> dict[str, Any]:
        places = ("--inventory", str(self.site.inventory), "--soaks", str(self.site.folder / "soaks"))
        signed = self.site.by("vendor") if verb == "start" else ()
        done = self.site.kvgate("soak", verb, "--json", *places, *words, *signed)
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def over(self) -> bool:
        return all(host["state"] == "ended" for host in self.soak("collect")["hosts"])


@pytest.fixture
def serve_soak(tmp_path: Path) -> Iterator[Served]:
    with ExitStack() as stack:

        def start(*faults: str) -> Soaked:
            hosts = build(1, "rocm", faults)
            rack = stack.enter_context(EmbeddedRack(hosts))
            text = rack.inventory(login_key(tmp_path / "keys"))
            keys = [Keys(Ed25519PrivateKey.generate()) for _ in PARTIES]
            for party, pair in zip(PARTIES, keys, strict=True):
                pair.write(tmp_path / "keys" / party)
            campaign = sample.Site(tmp_path, *keys, text=text, agreement=agreements.read())
            for gate in ("G1", "G2", "G3"):
                campaign.passed(gate)
            campaign.ledger.close()
            site = Site(tmp_path, hosts)
            site.inventory.write_text(text, "utf-8")
            return Soaked(site, campaign.trust_file)

        yield start


@pytest.mark.timeout(900)
def test_undecided_with_the_time_left_until_the_soak_has_ended_then_judged_and_judged_again(serve_soak: Served) -> None:
    rack = serve_soak()
    # Seventy-six hours in more than two minutes, far more than the gate takes: it finds the soak running. Slower, and
    # samples are closer together than the embedded hosts can make up in that time.
    begun = rack.soak("start", "--scale", str(SCALE / 10), "--allow-load")
    assert begun["new"] is True
    early = rack.gate()
    assert early.returncode == 6, early.stdout + early.stderr
    assert "the soak runs for another" in early.stdout
    assert rack.soak("start", "--scale", str(SCALE / 10), "--allow-load")["new"] is False
    until(rack.over, 500)
    ended = rack.gate()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    run = rack.site.last()
    assert run["outcome"] == "PASS"
    assert {row["outcome"] for row in run["verdicts"]} == {"PASS"}
    for path in (rack.site.folder / "soaks").rglob("journal-*.jsonl"):
        path.unlink()  # nothing but the evidence is needed any more
    again = rack.site.kvgate("judge", run["run"])
    assert again.returncode == 0, again.stdout + again.stderr
    assert simulated.scaled(Evidence.open(rack.site.evidence / run["run"])) == ["fx100-a", "node-01"]
    assert nothing_stops_early(rack.site.evidence / run["run"], 12, rack.site.folder) == {}
    assert len(list((rack.site.folder / "soaks").glob("soak-*"))) == 1


def test_a_path_that_came_back_is_a_stop_that_names_its_minute(
    serve_soak: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    rack = serve_soak("path-lost-83s")
    soaked(rack.site.inventory, rack.site.folder / "soaks", rack.site.ledger, Reader("en"))  # as the demo does
    assert "TIME-SCALED: 76 h of soak at 20000 times the speed" in capsys.readouterr().err
    assert rack.over()
    ended = rack.gate()
    assert ended.returncode == 1, ended.stdout + ended.stderr
    stopped = {row["clause"]: row for row in rack.site.last()["verdicts"] if row["outcome"] == "STOP"}
    assert set(stopped) == {"G4.1.1", "G4.1.2", "G4.1.6", "G4.2.6"}
    assert "minute 400" in stopped["G4.2.6"]["note"]
    assert "minute 400" in " ".join(ended.stdout.split()), ended.stdout  # wherever the line was broken


def test_without_leave_for_load_no_soak_is_begun(serve_soak: Served) -> None:
    rack = serve_soak()
    words = ("--trust", str(rack.trust), "--soaks", str(rack.site.folder / "soaks"))
    done = rack.site.call(rack.site.command(*words, gate="G4"))
    assert done.returncode == 6, done.stdout + done.stderr
    assert "no soak runs on this rack" in done.stdout + done.stderr
    assert not (rack.site.folder / "soaks").exists()
