"""G3 as an operator runs it over SSH: it is killed in the middle, its rounds are kept, and the next sitting makes only the rest."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvgate.evidence.store import Evidence
from kvgate.gate.baseline import BASELINE, Baseline
from lab.load.host import LoadHost
from lab.serving.host import ServingHost
from tests.e2e.cut import nothing_stops_early
from tests.e2e.site import ROOT, Site, clauses, outcomes, served, until

PARTIES = ("vendor", "customer")

pytestmark = pytest.mark.timeout(900)  # two gates are passed before the first test


def certified(site: Site, gate: str) -> None:
    """Pass a gate, and have both parties sign that."""
    ended = site.call(site.command("--allow-load", gate=gate), limit=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = str(site.folder / f"{gate}.json")
    run = next(run["run"] for run in site.runs() if run["gate"] == gate)
    for party, words in zip(PARTIES, (("certify", run, "-o", document), ("cosign", document, "--yes")), strict=True):
        done = site.kvgate(*words, *site.by(party))
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A rack that has passed G1 and G2; G3 asks one concurrency."""
    with served(tmp_path_factory.mktemp("benefit"), nodes=2) as found:
        found.change("concurrencies: [8, 16, 32]", "concurrencies: [8]")
        found.trust()
        for gate in ("G1", "G2"):
            certified(found, gate)
        yield found


def engines(site: Site) -> ServingHost:
    (machine,) = [host.machine.computed for host in site.hosts if host.name == "node-01"]
    assert isinstance(machine, LoadHost)
    assert machine.serving is not None
    return machine.serving


def rounds(site: Site, run: str) -> list[tuple[str, int]]:
    """Rounds that ended, as the evidence has them."""
    with Evidence.open(site.evidence / run) as evidence:
        return [(str(line["id"]), int(str(line["number"]))) for line in evidence.notes("round")]


def test_the_main_gate_survives_kill_9_without_repeating_a_round(site: Site) -> None:
    host = engines(site)
    before = sum(host.windows.values())
    process = subprocess.Popen(
        site.command("--allow-load", gate="G3"), cwd=ROOT, env=site.environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until(lambda: sum(host.windows.values()) >= before + 5, 300)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    run = next(one for one in site.runs() if one["gate"] == "G3")
    assert run["outcome"] == "UNDECIDED"
    assert not run["decided"]
    kept = rounds(site, str(run["run"]))
    assert kept, "two windows are a round, and five were measured"

    ended = site.call(site.command("--allow-load", "--only-stale", gate="G3"), limit=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "goes on with run" in ended.stderr
    assert clauses(outcomes(site.show(str(run["run"]))), "PASS") >= {
        "G3.1.1", "G3.2.2", "G3.2.4", "G3.3.1", "G3.4.1", "G3.5.1",
    }  # fmt: skip
    whole = rounds(site, str(run["run"]))
    assert whole[: len(kept)] == kept
    assert len(set(whole)) == len(whole), "no round was made twice"
    assert [name for name, _ in whole].count("serving.paired:tp8:c8") == 5
    assert not host.running, "no engine is left up"
    assert not any(host.stores.values()), "and nothing in the stores"


def test_it_compares_with_the_certified_baseline_that_its_own_evidence_holds(site: Site) -> None:
    runs = {str(run["gate"]): str(run["run"]) for run in site.runs()}
    with Evidence.open(site.evidence / runs["G3"]) as evidence:
        (note,) = evidence.notes(BASELINE)
        then = Baseline(evidence)("G2.6.1", "tp8/c8")
    assert note["run"] == runs["G2"], "taken over once, by the first of two sittings"
    assert then is not None
    assert str(then.measured) == measured(site, runs["G2"], "G2.6.1")
    assert " -> " in measured(site, runs["G3"], "G3.2.4")
    again = site.kvgate("judge", runs["G3"], "--json")
    assert again.returncode == 0, again.stderr


def measured(site: Site, run: str, clause: str) -> str:
    (found,) = [one for one in site.show(run)["verdicts"] if (one["clause"], one["subject"]) == (clause, "tp8/c8")]
    return str(found["measured"])


@pytest.mark.parametrize("gate", ["G1", "G2", "G3"])
def test_no_part_of_its_evidence_comes_to_a_stop_that_the_whole_does_not(site: Site, gate: str, tmp_path: Path) -> None:
    """What is judged of a run that died must not accuse a good rack."""
    (run,) = [str(run["run"]) for run in site.runs() if run["gate"] == gate]
    assert nothing_stops_early(site.evidence / run, 12, tmp_path) == {}


def test_its_report_stands_on_the_rounds_of_both_sittings(site: Site, tmp_path: Path) -> None:
    run = next(str(one["run"]) for one in site.runs() if one["gate"] == "G3")
    done = site.kvgate("report", run)
    assert done.returncode == 0, done.stderr
    for wanted in (
        "Array against local disk",
        "Proof that the judgement can fail",
        "bytes read on the block device",
        "●",
    ):
        assert wanted in done.stdout
    page = tmp_path / "g3.html"
    assert site.kvgate("report", run, "--html", str(page), "--lang", "zh").returncode == 0
    html = page.read_text("utf-8")
    assert "阵列与本地盘对比" in html
    assert html.count('class="plotly-graph-div"') >= 6
