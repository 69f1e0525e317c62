"""One measurement: a fresh client process, what it used, what the servers used, and what others used of the machine meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench.job import Job, Told
from bench.server import Server, children

_TICK = os.sysconf("SC_CLK_TCK")
_EVERY = 0.2  # seconds between looks at the memory of the client and its children
_LONGEST = 1200.0


@dataclass(frozen=True)
class Sample:
    """Seconds, CPU seconds and bytes. ``foreign`` is the share of all cores that neither client nor servers used."""

    way: str
    hosts: int
    wall: float
    cpu: float
    server: float
    peak: int
    imported: int
    foreign: float
    trouble: str = ""


def take(way: str, python: Path, job: Job, server: Server) -> Sample:
    """Run one client; a client that fails or does not bring everything gives a sample with ``trouble``."""
    file = job.write(Path(job.folder) / "job.json")
    for old in Path(job.folder).glob("*.out"):
        old.unlink()
    spent, busy, begun = server.cpu(), _busy(), time.monotonic()
    command = [str(python), "-m", "bench.ways", way, str(file)]
    with (
        (Path(job.folder) / "said").open("w+b") as said,
        (Path(job.folder) / "log").open("w+b") as log,
        subprocess.Popen(command, stdout=said, stderr=log) as process,
    ):
        peak = _watch(process)
        said.seek(0)
        log.seek(0)
        lines, talk = said.read().decode().splitlines(), log.read().decode(errors="replace")
    seconds = time.monotonic() - begun
    busy = _busy() - busy
    spent = server.cpu() - spent
    hosts = len(job.targets)
    try:
        told = Told(**json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        last = (talk.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
        return Sample(way, hosts, seconds, 0, spent, peak, 0, 0, trouble=last[:200])
    foreign = max(0.0, busy - told.cpu - spent) / (seconds * (os.cpu_count() or 1))
    peak = max(told.peak, peak)
    return Sample(way, hosts, told.wall, told.cpu, spent, peak, told.imported, foreign, _incomplete(way, job, told))


def _incomplete(way: str, job: Job, told: Told) -> str:
    """Say what is missing, so that nobody is fast by not answering."""
    hosts, lines = len(job.targets), len(job.lines)
    if way in ("ssh", "ssh-read"):
        end = f"KVGATE {job.nonce} END {lines} ".encode()
        whole = [one for one in Path(job.folder).glob("*.out") if end in one.read_bytes()[-200:]]
        return "" if len(whole) == hosts else f"{len(whole)} of {hosts} batches are whole"
    wanted = hosts * (1 if way.endswith("-batch") else lines)
    return "" if told.answers == wanted else f"{told.answers} of {wanted} answers"


def _watch(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end; return the largest memory of the process tree seen (proportional set size, in bytes)."""
    most, until = 0, time.monotonic() + _LONGEST
    while process.poll() is None:
        if time.monotonic() > until:
            process.kill()
        most = max(most, sum(_memory(pid) for pid in [process.pid, *children(process.pid)]))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_EVERY)
    return most


def _memory(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _busy() -> float:
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]]
    return (sum(fields) - fields[3] - fields[4]) / _TICK
