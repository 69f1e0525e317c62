"""An error of a device stays, however the run ends that saw it: interrupted, killed before or after it was written down, or closed."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvgate import agreement as agreements
from lab.faults import every
from lab.machine import Edit
from tests.e2e.site import Site, clauses, outcomes, served, until

#: Reads of the local disk, which follow those of the volume, take so long that the run can be ended in them.
SLOW = Edit(ask=".*--filename=/mnt/nvme0/.kvgate-load/read-1m-q32 .*--time_based.*", delay=20.0)

#: A kvgate that dies before it has written anything down: what a power cut does, or an older version did.
_FORGETS = "from kvgate.gate.session import GateSession\nGateSession.stop_early = GateSession.write\n"

#: What versions did that sealed no run which ended early.
_UNSEALED = """
from kvgate.ledger.repository import Ledger
interrupt = Ledger.interrupt
Ledger.interrupt = lambda self, run, why, seal=None: interrupt(self, run, why)
"""

CLAUSES = agreements.read().acceptance.clauses


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A rack that has passed G1, certified by both parties; then its volume answers the second round of each load with an error."""
    with served(tmp_path, "fio-io-error") as found:
        found.trust()
        assert found.gate().returncode == 0
        document = str(found.folder / "G1.json")
        for words in (("certify", found.runs()[0]["run"], "-o", document), ("cosign", document, "--yes")):
            done = found.kvgate(*words, *found.by("vendor" if words[0] == "certify" else "customer"))
            assert done.returncode == 0, done.stderr
        yield found


def ended(site: Site, how: signal.Signals, **environment: str) -> tuple[int, str]:
    """Begin G2, wait until the volume's load met the error and the local disk is read, end it so; status and what was said."""
    (host,) = [one for one in site.hosts if one.name == "node-01"]
    host.machine.edits += (SLOW,)
    plugin = ("-p", "forgets") if environment else ()
    process = subprocess.Popen(
        site.command("--allow-load", "-k", "G2.1.2", *plugin, gate="G2"), cwd=Path(__file__).parents[2],
        env=site.environment(PYTHONUNBUFFERED="1", **environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until(lambda: any(re.fullmatch(SLOW.ask, line) for line in tuple(host.machine.asked)), 120)
    process.send_signal(how)
    said, _ = process.communicate()
    host.machine.edits = tuple(one for one in host.machine.edits if one is not SLOW)
    return process.returncode, said


def forbidden(site: Site) -> None:
    """A new attempt is refused for the STOP, audit finds nothing wrong, and everybody is told."""
    again = site.call(site.command("--allow-load", gate="G2"))
    assert again.returncode == 4
    assert "attempt 1 at G2" in again.stderr
    assert "had come to STOP: that counts as a STOP" in " ".join(again.stderr.split())
    assert "kvgate reopen" in again.stderr
    assert clauses(outcomes(site.last()), "STOP") == {"G2.1.2"}
    assert site.kvgate("audit").returncode == 0
    assert "may not start" in site.kvgate("status", "--inventory", str(site.inventory)).stdout


def test_an_interrupted_run_keeps_its_stop(site: Site) -> None:
    status, said = ended(site, signal.SIGINT)
    assert status == 2
    assert "STOP" in said
    assert "no new attempt takes that back" in said
    forbidden(site)


def test_a_killed_run_has_its_stop_in_the_ledger_already(site: Site) -> None:
    status, said = ended(site, signal.SIGKILL)
    assert status == -signal.SIGKILL
    assert re.search(r"decides: STOP: .*Input/output error", said)
    assert clauses(outcomes(site.last()), "STOP") == {"G2.1.2"}
    closed = site.kvgate("close", str(site.runs()[-1]["run"]), "--reason", "killed")
    assert "1 verdict of it is STOP, and counts as one" in closed.stdout
    forbidden(site)


def test_what_a_killed_run_did_not_write_down_is_judged_when_it_is_closed(site: Site) -> None:
    (site.folder / "forgets.py").write_text(_FORGETS)
    ended(site, signal.SIGKILL, PYTHONPATH=str(site.folder))
    run = str(site.runs()[-1]["run"])
    assert clauses(outcomes(site.last()), "STOP") == set()
    again = site.call(site.command("--allow-load", gate="G2"))
    assert f"kvgate close {run}" in again.stderr
    closed = site.kvgate("close", run, "--reason", "the laptop lost power")
    assert (closed.returncode, closed.stderr) == (0, "")
    assert "1 verdict of it is STOP, and counts as one" in closed.stdout
    forbidden(site)


def test_one_that_was_interrupted_without_judging_holds_the_campaign_until_it_is(site: Site) -> None:
    (site.folder / "forgets.py").write_text(_FORGETS + _UNSEALED)
    ended(site, signal.SIGINT, PYTHONPATH=str(site.folder))
    run = str(site.runs()[-1]["run"])
    again = site.call(site.command("--allow-load", gate="G2"))
    assert again.returncode == 4
    assert "nobody judged what it had seen by then" in " ".join(again.stderr.split())
    assert f"kvgate close {run}" in again.stderr
    audit = site.kvgate("audit")
    assert audit.returncode == 1
    assert "was not all judged" in " ".join(audit.stdout.split())
    assert site.kvgate("close", run, "--reason", "judge it").returncode == 0
    forbidden(site)


def test_what_pytest_did_not_come_to_is_judged_for_its_stop_all_the_same(tmp_path: Path) -> None:
    """`-x` ends the run at the first clause that does not pass: here one that cannot be told, before the disk that is bad."""
    untold = Edit(ask="lscpu.*", stdout="", stderr="sh: lscpu: not found\n", status=127)
    with served(tmp_path, "disk-media-errors", edits={"node-01": (untold,)}) as found:
        done = found.gate("-x")
        told = outcomes(found.last())
        assert done.returncode == 1, done.stdout
        assert clauses(told, "STOP") == every()["disk-media-errors"].stops
        assert "PASS" in told.values()
        assert "missing" in told.values(), "the rest was left out"


@pytest.mark.parametrize(("chosen", "status"), [("G2.1.9", 1), ("G2.1.7", 6)])
def test_a_clause_that_only_looks_on_does_not_hide_what_its_load_met(site: Site, chosen: str, status: int) -> None:
    """G2.1.9 looks on at a load that clauses rest on, chosen or not; the load of G2.1.7 is of advisory ones alone, and decides nothing."""
    done = site.call(site.command("--allow-load", "-k", chosen, gate="G2"), limit=300)
    assert done.returncode == status, done.stdout
    assert ("decides: STOP" in done.stderr) is (status == 1), done.stderr
    blocking = {clause for clause in clauses(outcomes(site.last()), "STOP") if CLAUSES[clause].blocking}
    assert bool(blocking) is (status == 1)


def test_what_died_with_the_hosts_answers_is_judged_before_it_asks_them_again(tmp_path: Path) -> None:
    """A disk that says it is bad, a process that is killed, and a disk that says it is good."""
    slow = {"node-01": (Edit(ask="nvme .*smart-log.*", delay=30.0),)}  # asked when the array has told of its disks
    with served(tmp_path, "disk-media-errors", edits=slow) as found:
        running = found.start()
        until(lambda: (journal := found.journal()) is not None and journal.read_bytes().count(b'"kind":"batch"') == 3)
        running.kill()
        running.communicate()
        for host in found.hosts:
            host.machine.edits = ()
        done = found.gate("--only-stale")
        assert done.returncode == 1, done.stdout
        assert clauses(outcomes(found.last()), "STOP") == every()["disk-media-errors"].stops


def test_taking_it_up_for_another_clause_judges_what_it_had_seen_all_the_same(site: Site) -> None:
    (site.folder / "forgets.py").write_text(_FORGETS)
    ended(site, signal.SIGKILL, PYTHONPATH=str(site.folder))
    done = site.call(site.command("--allow-load", "--only-stale", "-k", "G2.1.1", gate="G2"), limit=300)
    assert done.returncode == 1, done.stdout
    assert clauses(outcomes(site.last()), "STOP") == {"G2.1.2"}


@pytest.mark.parametrize("options", ["-x", "-k G2.1.1"])
def test_closing_judges_the_whole_whatever_pytest_is_told_by_the_environment(site: Site, options: str) -> None:
    (site.folder / "forgets.py").write_text(_FORGETS)
    ended(site, signal.SIGKILL, PYTHONPATH=str(site.folder))
    closed = site.kvgate("close", str(site.runs()[-1]["run"]), "--reason", "killed", PYTEST_ADDOPTS=options)
    assert "1 verdict of it is STOP" in closed.stdout, closed.stdout + closed.stderr
