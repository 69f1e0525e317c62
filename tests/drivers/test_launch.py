"""The launcher as a load host runs it: programs that are there, dataset, limit, signals, and nothing left behind."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from checks.parsers import kvgate_launcher
from checks.parsers.kvgate_launcher import Launched
from checks.serving.driven import COMMAND
from kvgate.drivers.prompts import prompt

#: Stands for a tool: copies its dataset to its result and says something.
COPY = "import sys; text = open(sys.argv[1]).read(); open(sys.argv[2], 'w').write(text); print('done')"


def options(folder: Path, **more: Any) -> dict[str, Any]:
    table = {
        "version": [sys.executable, "-c", "print('1.2.3')"],
        "argv": [sys.executable, "-c", COPY, "{dataset}", "{folder}/result.json"],
        "environment": {"TMPDIR": str(folder)}, "seed": 7, "set": "c2/r1", "count": 3, "tokens": 4, "ids": [100, 900],
        "row": {"stream": True}, "form": "lines", "results": ["result.json"], "limit": 30.0,
    }  # fmt: skip
    return table | more


def started(folder: Path, table: object) -> subprocess.Popen[str]:
    words = [sys.executable, *COMMAND[1:], json.dumps(table)]
    environment = {"TMPDIR": str(folder), "PATH": "/usr/bin:/bin"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def run(folder: Path, **more: Any) -> Launched:
    told, said = started(folder, options(folder, **more)).communicate(timeout=60)
    assert told, said
    assert not list(folder.iterdir()), "the launcher left something"
    return kvgate_launcher.parse(told)


def test_a_tool_is_given_the_prompts_of_the_seed_and_its_results_are_brought_home(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert (found.status, found.cut, found.tool_version, found.said.strip()) == (0, False, "1.2.3", "done")
    rows = [json.loads(line) for line in str(found.results["result.json"]).splitlines()]
    ids = [prompt(7, "c2/r1", index, 4, 100, 900) for index in range(3)]
    assert rows == [{"stream": True, "prompt": one} for one in ids]
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in ids)
    assert found.prompts == hashlib.sha256(text.encode()).hexdigest()
    assert 0 < found.seconds < 30


def test_the_other_form_of_the_dataset_is_one_session_a_prompt(tmp_path: Path) -> None:
    found = run(tmp_path, form="sessions")
    sessions = json.loads(str(found.results["result.json"]))["data"]
    assert [one["session_id"] for one in sessions] == ["p0", "p1", "p2"]
    assert [one["payloads"] for one in sessions] == [
        [{"stream": True, "prompt": prompt(7, "c2/r1", index, 4, 100, 900)}] for index in range(3)
    ]


def test_a_tool_that_fails_a_result_that_is_not_there_and_a_tool_that_is_none_are_told(tmp_path: Path) -> None:
    found = run(tmp_path, argv=[sys.executable, "-c", "import sys; sys.exit('out of memory')"])
    assert (found.status, found.said.strip(), found.results["result.json"]) == (1, "out of memory", None)
    found = run(tmp_path, argv=["/nowhere/bin/tool"], version=["/nowhere/bin/python3"])
    assert (found.status, found.tool_version) == (None, "")
    assert "No such file" in found.said


def test_at_its_limit_a_tool_is_ended_with_what_it_started(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    told = tmp_path_factory.mktemp("told") / "pid"
    inner = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        f"open({str(told)!r}, 'w').write(str(child.pid)); child.wait()"
    )
    found = run(tmp_path, argv=[sys.executable, "-c", inner], limit=3.0)
    assert found.cut
    assert found.status == -signal.SIGTERM
    started_by_it = int(told.read_text())
    until = time.monotonic() + 30
    while _lives(started_by_it) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _lives(started_by_it)


def _lives(pid: int) -> bool:
    """Whether a process runs; one that is dead and that nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_signal_ends_the_tool_and_the_document_is_whole(tmp_path: Path) -> None:
    table = options(tmp_path, argv=[sys.executable, "-c", "print('begun', flush=True); import time; time.sleep(600)"])
    process = started(tmp_path, table)
    until = time.monotonic() + 30
    while time.monotonic() < until and not any("begun" in one.read_text() for one in tmp_path.glob("*/said")):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    told, _ = process.communicate(timeout=60)
    found = kvgate_launcher.parse(told)
    assert (found.cut, found.status, found.said.strip()) == (True, -signal.SIGTERM, "begun")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change, said",
    [
        ({"argv": []}, "no words"),
        ({"argv": ["tool", 1]}, "no words"),
        ({"form": "table"}, "form is unknown"),
        ({"results": ["../passwd"]}, "wanted names of files"),
        ({"count": 0}, "out of range"),
        ({"ids": [900, 100]}, "out of range"),
        ({"limit": "long"}, "limit is 'long'"),
        ({"extra": 1}, "wanted ["),
    ],
)
def test_options_that_cannot_be_used_are_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    process = started(tmp_path, options(tmp_path) | change)
    told, why = process.communicate(timeout=60)
    assert (process.returncode, told) == (2, "")
    assert said in why
    assert not list(tmp_path.iterdir())
