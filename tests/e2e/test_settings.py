"""Where settings come from (command line, environment, pyproject.toml), in which language and with which colours one reads."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Run
from tests.e2e.site import ROOT, Site, outcomes

CHINESE = re.compile(r"[\u4e00-\u9fff]")
COLOUR = "\x1b["


def test_every_place_can_be_set_in_the_environment(serve: Callable[..., Site], tmp_path: Path) -> None:
    site = serve()
    places = {
        "KVGATE_INVENTORY": str(site.inventory),
        "KVGATE_LEDGER": f"sqlite:///{tmp_path}/other.db",
        "KVGATE_EVIDENCE": str(tmp_path / "other"),
    }
    ended = site.pytest("-m", "G1", cwd=tmp_path, **places)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [path.parent.parent for path in (tmp_path / "other").glob("*/journal.jsonl")] == [tmp_path / "other"]
    assert not site.evidence.exists()
    shown = site.kvgate("runs", **places)
    assert "PASS" in shown.stdout


def test_a_summary_that_cannot_be_shown_changes_neither_the_decision_nor_the_exit_status(
    serve: Callable[..., Site], tmp_path: Path
) -> None:
    """A plugin that leaves a standard output behind on which nothing can be written: the decision is stored by then."""
    site = serve()
    (tmp_path / "mute.py").write_text(
        "import io, sys\n\nclass Mute(io.StringIO):\n    def write(self, text):\n        raise ValueError('mute')\n\n"
        "def pytest_sessionfinish():\n    sys.stdout = Mute()\n"
    )
    ended = site.gate("-p", "mute", PYTHONPATH=f"{ROOT}:{tmp_path}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    assert "G1: PASS; its summary cannot be shown" in ended.stderr
    assert set(outcomes(site.last()).values()) == {"PASS"}


def test_every_place_can_be_set_in_pyproject_and_the_command_line_wins(
    serve: Callable[..., Site], tmp_path: Path
) -> None:
    site = serve()
    project = tmp_path / "campaign"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\nkvgate_inventory = 'none.yaml'\n"
        f"kvgate_ledger = 'sqlite:///{project}/ours.db'\nkvgate_evidence = '{project}/ours'\n"
    )
    # An inventory outside of the project: pytest itself would look for its settings beside that file.
    ended = site.pytest("-m", "G1", "--inventory", str(site.inventory), cwd=project)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (project / "ours.db").is_file()
    assert len(list((project / "ours").iterdir())) == 1
    assert not list(project.rglob(".pytest_cache"))
    assert not list(site.inventory.parent.glob(".pytest_cache"))
    refused = site.pytest("-m", "G1", cwd=project)
    assert refused.returncode == 4
    assert "none.yaml" in refused.stderr


def test_settings_that_lie_beside_the_inventory_are_not_those_of_the_run(
    serve: Callable[..., Site], tmp_path: Path
) -> None:
    """pytest takes the value of --inventory for a path of tests, and the settings beside it for its own."""
    site = serve()
    project = tmp_path / "campaign"
    project.mkdir()
    for folder, name in ((project, "ours"), (site.inventory.parent, "theirs")):
        (folder / "pyproject.toml").write_text(
            "[tool.pytest.ini_options]\n"
            f"kvgate_ledger = 'sqlite:///{tmp_path}/{name}.db'\nkvgate_evidence = '{tmp_path}/{name}'\n"
        )
    ended = site.pytest("-m", "G1", "--inventory", str(site.inventory), cwd=project, PYTHONPATH=str(ROOT))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "ours.db").is_file()
    assert not (tmp_path / "theirs.db").exists()
    assert not (tmp_path / "theirs").exists()


def replay(run: Run, *arguments: str) -> list[str]:
    journal = run.site.journal()
    assert journal is not None
    return [sys.executable, "-m", "pytest", "-q", "-m", "G1", "--replay", str(journal.parent), *arguments]


def test_whoever_sets_nothing_signs_nothing_and_g1_runs(serve: Callable[..., Site]) -> None:
    """With the settings of the checkout in force, as for an inventory that lies in it: what they leave open is not given."""
    site = serve()
    place = ("--inventory", str(site.inventory), "--ledger", site.ledger, "--evidence", str(site.evidence))
    ended = site.pytest("-c", str(ROOT / "pyproject.toml"), "-m", "G1", *place)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "not signed: this run can be shown" in " ".join((ended.stdout + ended.stderr).split())


def test_a_chinese_locale_is_answered_in_chinese(stopped: Run) -> None:
    env = {name: value for name, value in stopped.site.environment().items() if name != "LC_ALL"}
    command = replay(stopped)
    ended = subprocess.run(command, cwd=ROOT, env={**env, "LANG": "zh_CN.UTF-8"}, capture_output=True, text=True)
    assert ended.returncode == 1
    block = ended.stdout[ended.stdout.index("STOP G1.2.9") :].splitlines()
    assert len([line for line in block if CHINESE.search(line)]) >= 3
    for word in ("measured", "required at most", "do:", "verdicts on"):
        assert word not in ended.stdout, word
    assert "STOP" in ended.stdout.splitlines()[-1]  # outcomes are words of the agreement in both languages


def test_a_refusal_is_said_in_chinese_too(stopped: Run) -> None:
    ended = stopped.site.pytest("-m", "G1", KVGATE_LANG="zh")
    assert ended.returncode == 4
    assert CHINESE.search(ended.stderr)


def on_a_terminal(command: list[str], env: dict[str, str]) -> str:
    leader, follower = pty.openpty()
    running = subprocess.Popen(command, cwd=ROOT, env=env, stdout=follower, stderr=follower, stdin=follower)
    os.close(follower)
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    running.wait(30)
    return text.decode()


def test_colours_are_for_terminals_and_for_those_who_want_them(stopped: Run) -> None:
    plain = {name: value for name, value in stopped.site.environment().items() if name != "NO_COLOR"}
    piped = subprocess.run(replay(stopped), cwd=ROOT, env=plain, capture_output=True, text=True)
    assert COLOUR not in piped.stdout + piped.stderr
    terminal = {**plain, "TERM": "xterm-256color"}
    assert COLOUR in on_a_terminal(replay(stopped), terminal)
    unwanted = on_a_terminal(replay(stopped), {**terminal, "NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", unwanted), "a colour in spite of NO_COLOR"
    assert "STOP G1.2.9" in re.sub(r"\x1b\[[0-9;]*m", "", unwanted)


def test_more_nodes_are_more_verdicts_and_a_pass_all_the_same(serve: Callable[..., Site]) -> None:
    site = serve(nodes=32)
    ended = site.gate()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = outcomes(site.last())
    assert set(told.values()) == {"PASS"}
    assert len({subject.split(":")[0] for _, subject in told}) == 34  # 33 hosts and the rack
    assert len(told) > 4000


@pytest.mark.parametrize("name", ["KVGATE_PLAN", "KVGATE_REPLAY", "KVGATE_ONLY_STALE", "KVGATE_PLN"])
def test_a_setting_that_no_gate_reads_is_refused_and_not_ignored(serve: Callable[..., Site], name: str) -> None:
    site = serve()
    ended = site.gate(**{name: "1"})
    assert ended.returncode == 4
    assert name in ended.stderr
    assert site.connections == 0
