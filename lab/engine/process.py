"""An engine as a process of its own: started into the background until it listens, and ended by the process id it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

_PATIENCE = 30.0  # seconds


def start(words: list[str], port: int, pidfile: Path) -> int:
    """Start ``python -m lab.engine WORDS``; 0 once it answers, 1 where it ends or stays silent."""
    with pidfile.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab.engine", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    pidfile.write_text(f"{process.pid}\n", "utf-8")
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if _answers(port):
            return 0
        time.sleep(0.05)
    return 1


def stop(pidfile: Path) -> int:
    """End the process and wait until it is gone; one that is gone already is no trouble."""
    try:
        number = int(pidfile.read_text("utf-8"))
    except (OSError, ValueError):
        return 0
    until = time.monotonic() + _PATIENCE
    while _alive(number):
        late = time.monotonic() > until - _PATIENCE / 2
        os.kill(number, signal.SIGKILL if late else signal.SIGTERM)
        if time.monotonic() > until:
            return 1
        time.sleep(0.05)
    pidfile.unlink(missing_ok=True)
    return 0


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/version", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _alive(number: int) -> bool:
    """Whether it runs; a zombie that nobody waited for does not. Its command line says that it is ours."""
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False
    return b"lab.engine" in words
