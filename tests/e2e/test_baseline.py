"""G2 as an operator runs it: over SSH on two nodes with NFS beside the array's volume, behind the guard, and after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvgate.evidence.store import Evidence
from lab.load.host import LoadHost
from lab.machine import Edit
from tests.e2e.site import Site, clauses, outcomes, served, until

SERIAL = "PHLN00000001"
VOLUME, LOCAL = "/mnt/fx100", "/mnt/nvme0"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A rack that has passed G1, certified by both parties; one node's disk may be written raw."""
    with served(tmp_path_factory.mktemp("baseline"), nodes=2, nfs=True) as found:
        found.change(f'serial: "{SERIAL}", ', f'serial: "{SERIAL}", scratch: true, ')
        found.trust()
        first = found.gate()
        assert first.returncode == 0, first.stdout
        document = str(found.folder / "G1.json")
        for words in (("certify", found.runs()[0]["run"], "-o", document), ("cosign", document, "--yes")):
            party = "vendor" if words[0] == "certify" else "customer"
            done = found.kvgate(*words, *found.by(party))
            assert done.returncode == 0, done.stderr
        yield found


def measure(site: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
    return site.call(site.command("--allow-load", *arguments, gate="G2"), limit=600)


def load_of(site: Site, name: str) -> LoadHost:
    (found,) = [host.machine.computed for host in site.hosts if host.name == name]
    assert isinstance(found, LoadHost)
    return found


def verdict(site: Site, clause: str, subject: str) -> dict[str, Any]:
    (found,) = [one for one in site.last()["verdicts"] if (one["clause"], one["subject"]) == (clause, subject)]
    return dict(found)


def asked(site: Site, name: str, word: str) -> int:
    (host,) = [host for host in site.hosts if host.name == name]
    return sum(count for line, count in host.machine.asked.items() if word in line)


def rounds(site: Site, run: str) -> list[tuple[str, int, int]]:
    """Rounds that came to their end, as the evidence has them: trial, number, and its line in the journal."""
    with Evidence.open(site.evidence / run) as evidence:
        return [(str(line["id"]), int(str(line["number"])), int(str(line["seq"]))) for line in evidence.notes("round")]


#: Each read of the local disk takes its time: long enough for the gate to be killed between two of its rounds.
SLOW = Edit(ask=".*--filename=/mnt/nvme0/.kvgate-load/read-1m-q32 .*--time_based.*", delay=4.0)
WHOLE, HALF = (f"fio.read-1m-q32:node-01:{path}" for path in (VOLUME, LOCAL))


@pytest.mark.timeout(900)  # two processes make every load of G2 over SSH
def test_a_gate_that_was_killed_goes_on_without_a_key_and_repeats_no_round(site: Site) -> None:
    """The first of this file: what it measures is measured once, by two processes, of which the second signs nothing."""
    (host,) = [one for one in site.hosts if one.name == "node-01"]
    host.machine.edits += (SLOW,)
    process = subprocess.Popen(
        site.command("--allow-load", gate="G2"), cwd=Path(__file__).parents[2],
        env=site.environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until(
        lambda: asked(site, "node-01", "--filename=/mnt/nvme0/.kvgate-load/read-1m-q32 ") >= 3, 300
    )  # laid out, then read
    process.send_signal(signal.SIGKILL)
    process.communicate()
    host.machine.edits = tuple(one for one in host.machine.edits if one is not SLOW)
    run = str(site.runs()[-1]["run"])
    assert (site.runs()[-1]["gate"], site.runs()[-1]["decided"]) == ("G2", False)
    kept = rounds(site, run)
    assert {one: [name for name, _, _ in kept].count(one) for one in (WHOLE, HALF)} == {WHOLE: 3, HALF: 1}, (
        "killed in its middle"
    )
    last, before = kept[-1][2], dict(host.machine.asked)

    site.signs = False
    try:
        ended = measure(site, "--only-stale")
    finally:
        site.signs = True
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"goes on with run {run}" in ended.stderr
    whole = rounds(site, run)
    assert whole[: len(kept)] == kept
    assert len({(one, number) for one, number, _ in whole}) == len(whole), "no round was made twice"
    for trial in {one for one, _, _ in kept} - {HALF}:  # what was measured whole before is not measured again
        assert [one for one, _, _ in whole].count(trial) == [one for one, _, _ in kept].count(trial)
    # Each round is one load; of the one that was under way when the process died nothing was kept.
    after = host.machine.asked
    loads = {
        path: [one for one in after if f"{path}/.kvgate-load/read-1m-q32 " in one and "--time_based" in one]
        for path in (VOLUME, LOCAL)
    }
    assert sum(after[one] for one in loads[LOCAL]) == [one for one, _, _ in whole].count(HALF) + 1
    assert [after[one] for one in loads[VOLUME]] == [before[one] for one in loads[VOLUME]]

    found = outcomes(site.last())
    assert clauses(found, "STOP") == set()
    assert {key for key, outcome in found.items() if outcome == "UNDECIDED"} == {("G2.1.13", f"node-01:{SERIAL}")}
    assert f"--allow-destructive {SERIAL}" in str(verdict(site, "G2.1.13", f"node-01:{SERIAL}")["note"])
    both = verdict(site, "G2.1.2", f"node-01:{LOCAL}")
    assert both["outcome"] == "PASS"
    lines = [int(one.removeprefix("E")) for one in both["evidence"]]
    assert min(lines) < last < max(lines), "its verdict stands on rounds of both sittings"
    assert (
        "256 tokens x 31,744 bytes on a rank = 8,126,464 bytes" in verdict(site, "G2.1.6", f"node-01:{VOLUME}")["note"]
    )


def test_what_one_node_wrote_over_nfs_another_verified(site: Site) -> None:
    for clause in ("G2.3.1", "G2.3.2"):
        found = verdict(site, clause, "node-01:/mnt/nfs")
        assert found["outcome"] == "PASS"
        assert "written on node-01, read on node-02" in found["measured"]
    assert asked(site, "node-02", "--filename=/mnt/nfs/.kvgate-load/integrity") == 3
    assert asked(site, "node-02", "--rw=write") == 0
    assert "times" in verdict(site, "G2.4.2", "node-01:/mnt/fx100")["measured"]


def test_the_same_evidence_comes_to_the_same_decision(site: Site) -> None:
    run = site.last()["run"]
    again = site.kvgate("judge", run, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["outcome"] == "PASS"


def test_a_disk_that_is_in_use_is_refused_with_the_condition(site: Site) -> None:
    ended = measure(site, "--allow-destructive", SERIAL, "-k", "G2.1.13")
    assert ended.returncode == 6
    note = verdict(site, "G2.1.13", f"node-01:{SERIAL}")["note"]
    assert "Device or resource busy (condition: claim)" in note
    assert load_of(site, "node-01").runs.get("nvme0n1") is None


def test_a_disk_that_may_not_be_written_is_refused_before_any_host_is_met(site: Site) -> None:
    connections, runs = site.connections, len(site.runs())
    for serial in ("PHLN00000002", "S7Y0NX0W100001", "NOBODYS"):
        ended = measure(site, "--allow-destructive", serial)
        assert ended.returncode == 4
        assert serial in ended.stderr + ended.stdout
    assert (site.connections, len(site.runs())) == (connections, runs)


def test_an_unused_scratch_disk_is_filled_and_written_until_it_is_steady(site: Site) -> None:
    host = load_of(site, "node-01")
    host.unused.add("nvme0n1")
    try:
        ended = measure(site, "--allow-destructive", SERIAL, "-k", "G2.1.13")
    finally:
        host.unused.clear()
    assert ended.returncode == 6  # a part of a gate is never a PASS
    found = verdict(site, "G2.1.13", f"node-01:{SERIAL}")
    assert found["outcome"] == "PASS", found
    assert host.runs["nvme0n1"] == 6  # filled once, five rounds
