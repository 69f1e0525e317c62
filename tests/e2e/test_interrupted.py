"""Ctrl-C, a killed process, two runs at once: nothing is lost, nothing passes, and what is left can be asked again."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.evidence.store import Evidence
from lab.machine import Edit
from tests.e2e.site import Site, outcomes, until

#: A host that takes its time with one command: long enough to be caught in the middle of collecting.
SLOW = {"node-01": (Edit(ask="lscpu.*", delay=9.0),)}

#: A host whose counters are long in coming the second time: what needs no counters has been judged by then.
COUNTS = Edit(ask="ethtool -S ens1f0np0", delay=60.0, again=True)


def asking(site: Site) -> bool:
    """Whether the hosts are being asked: the array has answered, the slow node has not."""
    journal = site.journal()
    return journal is not None and '"kind":"batch"' in journal.read_text("utf-8")


def judging(running: subprocess.Popen[str], tests: int) -> None:
    """Return when so many tests have been reported."""
    assert running.stdout is not None
    seen = 0
    for line in running.stdout:
        seen += bool(re.search(r"::test_\w+\[.*(PASSED|FAILED)", line))
        if seen >= tests:
            return
    raise AssertionError("the run ended before it had judged that much")


def folder(site: Site) -> Path:
    journal = site.journal()
    assert journal is not None
    return journal.parent


def nothing_says_pass(site: Site) -> None:
    (run,) = site.runs()
    assert run["outcome"] == "UNDECIDED"
    assert not run["decided"]
    listed = site.kvgate("runs").stdout
    assert "UNDECIDED" in listed
    assert "PASS" not in listed
    assert "PASS" not in site.kvgate("show", str(run["run"])).stdout.splitlines()[0]


def unfinished_is_judged_as_such(site: Site) -> None:
    """What it owed and never decided is called so, and a ledger that knows the run is not said to know nothing."""
    run = str(site.runs()[0]["run"])
    told = site.kvgate("judge", run)
    assert told.returncode == 6
    assert "holds this run and has not sealed it yet" in told.stderr
    assert "no ledger" not in told.stderr
    assert "not owed" not in told.stdout
    assert "not decided then, UNDECIDED now; the run ended before it was decided" in " ".join(told.stdout.split())
    found = json.loads(site.kvgate("judge", run, "--json").stdout)
    assert (found["held"], found["vouched"]) == (True, False)
    missing = [one for one in found["differences"] if one["then"] is None]
    assert missing
    assert all(one["owed_then"] for one in missing)
    elsewhere = site.kvgate("judge", str(folder(site)), KVGATE_LEDGER=f"sqlite:///{folder(site)}/none.db")
    assert "no ledger at" in elsewhere.stderr
    assert "not decided then" in elsewhere.stdout
    assert "not owed" not in elsewhere.stdout


def completed(site: Site, *arguments: str, status: int = 0) -> str:
    """Take the run up and finish it: the same run, everything owed decided. Return what was said meanwhile."""
    before = site.runs()[0]["run"]
    for host in site.hosts:  # it is caught, and may be quick from here on
        host.machine.edits = tuple(edit for edit in host.machine.edits if edit not in SLOW["node-01"])
    ended = site.gate("--only-stale", *arguments)
    assert ended.returncode == status, ended.stdout + ended.stderr
    (run,) = site.runs()
    assert run["run"] == before
    assert run["decided"]
    assert run["missing"] == 0
    with Evidence.open(folder(site)) as evidence:
        assert evidence.verify().ok
    return ended.stderr


def test_ctrl_c_while_hosts_are_asked_is_stored_as_interrupted(serve: Callable[..., Site]) -> None:
    site = serve(edits=SLOW)
    running = site.start()
    until(lambda: asking(site))
    for _ in range(3):  # nobody presses it once
        running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=100)
    assert running.returncode == 2, output
    assert "Traceback" not in output
    assert "the run was ended by SIGINT" in output
    assert "--only-stale asks only the rest" in output
    assert re.search(r"\d+ of \d+ verdicts and \d+ answers of hosts are stored", output)
    assert output.rstrip().splitlines()[-1].startswith("G1: UNDECIDED")
    (run,) = site.runs()
    assert run["state"] == "interrupted"
    assert "interrupted" in site.kvgate("runs").stdout
    nothing_says_pass(site)
    completed(site)


def test_ctrl_c_is_answered_at_once_and_writes_no_rack_out(serve: Callable[..., Site], tmp_path: Path) -> None:
    """pytest shows the arguments of every frame of an interrupt: of 25 hosts that took minutes, and nobody saw it."""
    (tmp_path / "spelling.py").write_text(
        "import sys\nfrom kvgate.inventory.base import Strict\n"
        "def told(self):\n    print('A RACK IS WRITTEN OUT', file=sys.__stderr__)\n    return 'one'\n"
        "Strict.__repr__ = told\n"
    )
    site = serve(edits=SLOW)
    running = site.start("-p", "spelling", PYTHONPATH=str(tmp_path))
    until(lambda: asking(site))
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=100)
    assert running.returncode == 2, output
    assert "A RACK IS WRITTEN OUT" not in output
    assert output.count("kvgate: interrupted; what was answered is kept and judged") == 1
    assert output.index("kvgate: interrupted; what was answered") < output.index("Interrupted: SIGINT")
    assert site.runs()[0]["state"] == "interrupted"


def test_ctrl_c_while_verdicts_are_made_keeps_those_that_were_made(serve: Callable[..., Site]) -> None:
    site = serve()
    running = site.start("-vv")
    judging(running, 40)
    for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        running.send_signal(one)
    output, _ = running.communicate(timeout=100)
    assert running.returncode == 2, output
    assert "Traceback" not in output
    assert site.runs()[0]["state"] == "interrupted"
    told = list(outcomes(site.last()).values())
    assert told.count("PASS") >= 40
    assert "missing" in told
    nothing_says_pass(site)
    completed(site)


def test_a_run_killed_while_hosts_are_asked_is_unfinished_and_can_be_completed(serve: Callable[..., Site]) -> None:
    site = serve("disk-media-errors", edits=SLOW)
    running = site.start()
    until(lambda: asking(site))
    running.kill()
    running.wait(100)
    assert site.runs()[0]["state"] == "unfinished"
    assert "unfinished" in site.kvgate("runs").stdout
    nothing_says_pass(site)
    unfinished_is_judged_as_such(site)
    with (folder(site) / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"seq":99,"kind":"answer","ho')  # what a killed process leaves behind at worst
    with Evidence.open(folder(site)) as evidence:
        assert not evidence.verify().ok
    completed(site, status=1)
    assert '"kind":"repaired"' in (folder(site) / "journal.jsonl").read_text("utf-8")
    assert site.runs()[0]["outcome"] == "STOP"


def test_a_run_killed_while_verdicts_are_made_is_unfinished_and_can_be_completed(serve: Callable[..., Site]) -> None:
    site = serve(edits={"node-01": (COUNTS,)})
    running = site.start("-vv")
    judging(running, 60)
    until(lambda: len(site.last()["verdicts"]) > len(site.last()["missing"]))  # while the counters run, not at the end
    running.kill()
    running.wait(100)
    for host in site.hosts:
        host.machine.edits = tuple(edit for edit in host.machine.edits if edit is not COUNTS)
    assert site.runs()[0]["state"] == "unfinished"
    nothing_says_pass(site)
    stored = len(site.last()["verdicts"])
    with Evidence.open(folder(site)) as evidence:
        assert evidence.verify().ok
    assert site.kvgate("judge", str(site.runs()[0]["run"])).returncode == 6  # the counters were read once only
    left = len(site.last()["missing"])
    said = completed(site)
    assert f"{stored} of {stored + left} verdicts are stored, {left} still to be told" in said
    assert site.kvgate("judge", str(site.runs()[0]["run"])).returncode == 0


def test_the_next_run_says_what_became_of_the_last_and_how_it_could_be_taken_up(serve: Callable[..., Site]) -> None:
    site = serve(edits=SLOW)
    running = site.start()
    until(lambda: asking(site))
    first = site.runs()[0]
    part = ("-k", "G1.1.1")  # the clause of two hosts, and not G1.1.10
    alive = site.gate(*part)
    assert alive.returncode == 4
    assert "has no end yet" in alive.stderr
    running.kill()
    running.wait(100)
    dead = site.gate(*part, "--only-stale")
    assert dead.returncode == 6
    assert f"goes on with run {first['run']} (attempt 1," in dead.stderr
    told = outcomes(site.last())
    assert {clause for (clause, _), outcome in told.items() if outcome == "PASS"} == {"G1.1.1"}
    assert "not asked: left out by -k G1.1.1" in dead.stdout
    assert site.last()["why"] == "not asked: left out by -k G1.1.1; run the gate without it"
    again = site.gate(*part)
    assert "it ended UNDECIDED" in again.stderr  # the first attempt
    assert "--only-stale goes on with the last run" in again.stderr


def test_a_mended_host_is_asked_again_alone(serve: Callable[..., Site]) -> None:
    site = serve("node-command-hangs")
    assert site.gate().returncode == 6
    node = site.hosts[1]
    node.machine.edits = ()
    array = site.hosts[0].connections
    completed(site)
    assert site.hosts[0].connections == array
    assert site.gate("--only-stale").returncode == 4  # it is decided: nothing is left


def test_a_changed_order_is_not_mixed_into_an_unfinished_run(serve: Callable[..., Site]) -> None:
    site = serve("node-command-hangs")
    assert site.gate().returncode == 6
    site.change("queues: 32", "queues: 16")
    ended = site.gate("--only-stale")
    assert ended.returncode == 4
    assert "another inventory" in ended.stderr


def test_two_campaigns_at_once_on_one_ledger_both_complete(serve: Callable[..., Site]) -> None:
    site = serve()
    other = site.inventory.with_name("other.yaml")
    other.write_text(site.inventory.read_text("utf-8").replace("campaign: demo", "campaign: second", 1), "utf-8")
    running = [site.start(), site.start("--inventory", str(other))]
    outputs = [one.communicate(timeout=120)[0] for one in running]
    assert [one.returncode for one in running] == [0, 0], outputs
    runs = site.runs()
    assert {(run["campaign"], run["attempt"]) for run in runs} == {("demo", 1), ("second", 1)}
    assert [run["outcome"] for run in runs] == ["PASS", "PASS"]
    assert all(set(outcomes(site.show(str(run["run"]))).values()) == {"PASS"} for run in runs)


def test_of_two_runs_of_one_campaign_at_once_one_is_refused(serve: Callable[..., Site]) -> None:
    site = serve()
    running = [site.start(), site.start()]
    outputs = [one.communicate(timeout=120)[0] for one in running]
    assert sorted(one.returncode for one in running) == [0, 4], outputs
    (refused,) = [text for one, text in zip(running, outputs, strict=True) if one.returncode == 4]
    assert "has no end yet" in refused or "decided something in this campaign meanwhile" in refused
    assert [run["outcome"] for run in site.runs()] == ["PASS"]


def test_an_unfinished_run_is_taken_up_by_one_process_only(serve: Callable[..., Site]) -> None:
    site = serve(edits=SLOW)
    running = site.start()
    until(lambda: asking(site))
    ended = site.gate("--only-stale")
    assert ended.returncode == 4, ended.stdout
    assert "another process is writing" in ended.stderr
    assert running.wait(100) == 0


@pytest.mark.parametrize("method", ["signal", "thread"])
def test_a_judging_that_hangs_is_cut_off_and_leaves_the_clause_undecided(
    serve: Callable[..., Site], tmp_path: Path, method: str
) -> None:
    (tmp_path / "hanging.py").write_text(
        "import time\nfrom checks.host import criteria\n"
        "criteria.kernel_ordered = lambda *_, **__: time.sleep(60)\n"
    )  # fmt: skip
    site = serve()
    ended = site.gate("-p", "hanging", "--timeout", "2", "--timeout-method", method, PYTHONPATH=str(tmp_path))
    assert ended.returncode == 6, ended.stdout + ended.stderr
    told = outcomes(site.last())
    assert told["G1.1.2", "node-01"] == "missing"
    assert "STOP" not in told.values()
    nothing_passed = site.runs()[0]
    assert nothing_passed["outcome"] == "UNDECIDED"


def test_a_gate_test_that_breaks_is_undecided_and_says_so(serve: Callable[..., Site], tmp_path: Path) -> None:
    (tmp_path / "breaking.py").write_text(
        "from checks.host import criteria\n"
        "def broken(*_, **__):\n    raise KeyError('no such key')\n"
        "criteria.kernel_ordered = broken\n"
    )
    site = serve()
    ended = site.gate("-p", "breaking", PYTHONPATH=str(tmp_path))
    assert ended.returncode == 6
    told = outcomes(site.last())
    wrong = {place for place, outcome in told.items() if outcome != "PASS"}
    assert wrong == {("G1.1.2", "node-01"), ("G1.1.2", "fx100-a")}
    assert told["G1.1.2", "node-01"] == "UNDECIDED"
    assert "KeyError" in ended.stdout
