"""The engine as a process: only its files outlive it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from checks.serving import sources
from checks.serving.work import Mode, Work
from lab.engine.__main__ import made, parsed
from tests.engine.serving import load, page


def free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def engine(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lab.engine", *words], capture_output=True, text=True, check=False)


def test_a_restarted_process_finds_its_files_and_nothing_else(tmp_path: Path) -> None:
    port, pidfile = free(), tmp_path / "engine.pid"
    start = (
        "--port",
        str(port),
        "--store",
        str(tmp_path / "kv"),
        "--pace",
        "0.02",
        "--chunk",
        "64",
        "--start",
        str(pidfile),
    )
    asked = Work(
        Mode.POPULATE, (f"http://127.0.0.1:{port}",), "tiny", 11, "c4/1", 12, 200, 1, 4, (4096, 24576), limit=30.0
    )
    try:
        assert engine(*start).returncode == 0
        load(asked)
        assert len(list((tmp_path / "kv").iterdir())) == 12 * 3 * 2
        assert engine("--stop", str(pidfile)).returncode == 0
        assert {one.status for one in load(asked).requests} == {"failed"}
        assert engine(*start).returncode == 0
        before = page(f"http://127.0.0.1:{port}/metrics")
        load(asked)
        told = sources.vllm(before, page(f"http://127.0.0.1:{port}/metrics"))
        assert (told.device, told.store) == (0, 12 * 192)
    finally:
        assert engine("--stop", str(pidfile)).returncode == 0


def test_one_that_cannot_listen_says_so(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert engine("--port", port, "--start", str(tmp_path / "pid")).returncode == 1
    assert engine("--fault", "nothing").returncode == 2


def test_one_that_will_not_start_does_not(tmp_path: Path) -> None:
    pidfile = tmp_path / "engine.pid"
    assert engine("--port", str(free()), "--fault", "engine-will-not-start", "--start", str(pidfile)).returncode == 1
    assert "less than desired" in pidfile.with_suffix(".log").read_text()


def test_one_that_will_not_stop_is_killed_in_the_end(tmp_path: Path) -> None:
    pidfile, port = tmp_path / "engine.pid", free()
    assert engine("--port", str(port), "--fault", "engine-will-not-stop", "--start", str(pidfile)).returncode == 0
    number = int(pidfile.read_text())
    os.kill(number, signal.SIGTERM)
    assert page(f"http://127.0.0.1:{port}/metrics").samples
    assert engine("--stop", str(pidfile)).returncode == 0
    assert not Path(f"/proc/{number}").exists() or "Z" in Path(f"/proc/{number}/stat").read_text()


def test_pages_of_workers_may_lie_below_the_engines_own_whatever_that_is() -> None:
    for words, first in ((("--worker-port", "-1000"), 7111), (("--worker-port", "7201"), 7201), ((), 0)):
        assert made(parsed(["--port", "8111", *words])).first_worker == first


def test_what_a_modelled_device_reads_goes_by_the_folder_of_the_store_and_by_nothing_else(tmp_path: Path) -> None:
    rates = tmp_path / "devices"
    rates.write_text("/mnt/a 1e6\n/mnt/ab 2e6\n")
    for store, rate in (("/mnt/a/kv", 1e6), ("/mnt/ab/kv", 2e6)):
        assert made(parsed(["--store", store, "--devices", str(rates)])).engine.shape.read == rate
    with pytest.raises(ValueError, match="0 rates for /srv/kv"):
        made(parsed(["--store", "/srv/kv", "--devices", str(rates)]))
