"""G2 as an operator runs it: over SSH on two nodes with NFS beside the array's volume, behind the guard, and after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.load.host import LoadHost
from tests.e2e.site import Site, clauses, outcomes, served, until

SERIAL = "PHLN00000001"


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


@pytest.mark.timeout(600)  # two processes make every load of G2 over SSH
def test_a_gate_that_was_killed_goes_on_without_repeating_its_rounds(site: Site) -> None:
    """The first of this file: what it measures is measured once, by two processes."""
    process = subprocess.Popen(
        site.command("--allow-load", gate="G2"), cwd=Path(__file__).parents[2],
        env=site.environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until(lambda: asked(site, "node-01", "--rw=read --bs=1048576 --iodepth=32") >= 4, 300)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = asked(site, "node-01", "--rw=read --bs=1048576 --iodepth=32")
    ended = measure(site, "--only-stale")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "goes on with run" in ended.stderr
    # three rounds on each of local disk, volume and NFS; the one that was under way may have been made again
    assert done <= asked(site, "node-01", "--rw=read --bs=1048576 --iodepth=32") <= 10
    found = outcomes(site.last())
    assert clauses(found, "STOP") == set()
    assert {key for key, outcome in found.items() if outcome == "UNDECIDED"} == {("G2.1.13", f"node-01:{SERIAL}")}
    assert f"--allow-destructive {SERIAL}" in str(verdict(site, "G2.1.13", f"node-01:{SERIAL}")["note"])


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
