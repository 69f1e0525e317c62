"""Measures what ``pytest -m G1`` adds to the probes, on nine hosts of an embedded rack in another process."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.fan_out import conditions
from bench.server import Rack, end_cleanly
from bench.table import put

_ROOT = Path(__file__).parents[1]
_PLUGINS = ("-p", "kvgate.pytest_plugin", "-p", "bench.stopwatch")


@dataclass(frozen=True)
class Run:
    """Seconds of one gate run: in all, in the transport, waiting between samples; CPU seconds; exit status."""

    wall: float
    probes: float
    interval: float
    cpu: float
    status: int

    @property
    def added(self) -> float:
        """What pytest, kvgate, ledger and evidence take beside the probes."""
        return self.wall - self.probes - self.interval


def measure(count: int, samples: int, folder: Path) -> list[Run]:
    """Run the gate ``samples`` times, each in a fresh process, on one ledger; a first run that makes it does not count."""
    runs = []
    with Rack(folder / "rack", count) as rack:
        _run(rack.inventory, folder / "first")
        for number in range(samples):
            runs.append(_run(rack.inventory, folder / f"run-{number}"))
            print(f"{runs[-1]} added {runs[-1].added:.2f} s", file=sys.stderr, flush=True)
    return runs


def _run(inventory: Path, folder: Path) -> Run:
    folder.mkdir()
    command = [sys.executable, "-m", "pytest", *_PLUGINS, "-q", "-m", "G1", "--inventory", str(inventory)]
    command += ["--ledger", f"sqlite:///{folder.parent / 'kvgate.db'}", "--evidence", str(folder / "evidence")]
    asked = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**asked, "BENCH_STOPWATCH": str(folder / "stopwatch.json")}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with (folder / "log").open("wb") as log:
        status = subprocess.run(command, cwd=_ROOT, env=environment, stdout=log, stderr=log, check=False).returncode
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        print((folder / "log").read_text("utf-8", "replace")[-4000:], file=sys.stderr)
    spent = json.loads((folder / "stopwatch.json").read_text("utf-8"))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, spent["probes"], spent["interval"], cpu, status)


def table(count: int, runs: Sequence[Run]) -> str:
    """One row of medians."""
    cells = [median(getattr(run, name) for run in runs) for name in ("wall", "probes", "interval", "added", "cpu")]
    outcomes = ", ".join(sorted({str(run.status) for run in runs}))
    return "\n".join(
        [
            f"{conditions()}; medians.",
            "",
            "| hosts | wall s | probes s | interval s | **added s** | CPU s | exit status | n |",
            "|---|---|---|---|---|---|---|---|",
            f"| {count} | " + " | ".join(f"{cell:.2f}" for cell in cells) + f" | {outcomes} | {len(runs)} |",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__)
    parser.add_argument("--hosts", type=int, default=9)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    given = parser.parse_args(argv)
    end_cleanly()
    with tempfile.TemporaryDirectory(prefix="kvgate-bench-") as folder:
        runs = measure(given.hosts, given.samples, Path(folder))
    text = table(given.hosts, runs)
    print(text)
    if given.write:
        put("gate", text)
    return 0 if all(run.status == 0 for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
