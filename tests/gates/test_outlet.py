"""Who reads along has no say in how a gate ends. Each test is a small process with streams that fail."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HEAD = "import os, sys\nfrom kvgate.gate import outlet\noutlet.unfailing()\n"
TALK = (
    HEAD
    + "for number in range(3000): print('line', number)\nsys.stdout.flush(); sys.stderr.write('end\\n'); sys.exit(6)"
)


def started(body: str, **more: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(body)], cwd=ROOT, **more)


def test_a_reader_that_has_left_changes_no_exit_status_and_nothing_is_said_of_it() -> None:
    reader, writer = os.pipe()
    running = started(TALK, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    os.close(reader)
    assert running.communicate(timeout=60)[1] == b"end\n"
    assert running.returncode == 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_said_once_on_standard_error() -> None:
    with Path("/dev/full").open("wb") as full:
        running = started(TALK, stdout=full, stderr=subprocess.PIPE)
    said = running.communicate(timeout=60)[1].decode()
    assert said.count("standard output cannot be written: No space left on device") == 1
    assert said.endswith("end\n")
    assert running.returncode == 6


def test_a_terminal_that_was_closed_is_not_missed() -> None:
    leader, follower = os.openpty()
    body = (
        HEAD + "sys.stdin.readline(); print('to nobody'); sys.stdout.flush(); print('x', file=sys.stderr); sys.exit(6)"
    )
    running = started(body, stdin=subprocess.PIPE, stdout=follower, stderr=follower)
    os.close(follower)
    os.close(leader)
    running.communicate(b"\n", timeout=60)
    assert running.returncode == 6


def test_closed_streams_are_opened_so_that_no_file_takes_their_place(tmp_path: Path) -> None:
    body = (
        HEAD
        + f"""
file = open({str(tmp_path / "journal")!r}, "w")
print("said"); sys.stdout.flush(); sys.stderr.write("said"); sys.stderr.flush()
sys.exit(6 if file.fileno() > 2 else 7)
"""
    )
    done = subprocess.run(["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, body], cwd=ROOT, timeout=60)
    assert done.returncode == 6
    assert (tmp_path / "journal").read_text() == ""


def test_what_the_encoding_cannot_say_is_written_all_the_same() -> None:
    body = HEAD + "print('\\u4e2d')"
    done = subprocess.run(
        [sys.executable, "-c", body], cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True
    )
    assert (done.returncode, done.stdout) == (0, b"\\u4e2d\n")
