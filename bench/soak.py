"""How fast a soak is judged: nine hosts for 72 h at the planned intervals, from journal lines to Parquet, from Parquet to verdicts.

``python -m bench.soak`` makes one host's journal at full rate, takes it nine times, and prints seconds, rows a second and peak
memory of each step, for several sizes of Parquet parts. ``--hours H`` and ``--hosts N`` make it smaller.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kvgate.soak import samples
from lab.soak.journal import segments
from lab.soak.plan import plan


def make(root: Path, hours: float, hosts: int, lines: int) -> dict[str, float]:
    """Write the samples of ``hosts`` hosts whose journals have ``lines`` lines a segment; returns what that took."""
    begun = time.monotonic()
    texts = segments(plan("node-01", "node", hours), 1, step=5.0, lines=lines)
    made = time.monotonic()
    rows = samples.write(root, "bench", "node-01", texts)
    written = time.monotonic()
    for number in range(2, hosts + 1):
        shutil.copytree(
            samples.host_folder(root, "bench", "node-01"), samples.host_folder(root, "bench", f"node-{number:02d}")
        )
    size = sum(len(text) for text in texts)
    return {
        "files": float(sum(1 for _ in root.rglob("*.parquet"))), "rows": float(rows * hosts), "journal_mb": size * hosts / 1e6,
        "parquet_mb": sum(path.stat().st_size for path in root.rglob("*.parquet")) / 1e6,
        "make_s": made - begun, "write_s_a_host": written - made,
    }  # fmt: skip


def judge(root: Path) -> dict[str, float]:
    """Read every host to facts in a process of its own, so that its peak of memory is its own."""
    run = subprocess.run(
        [sys.executable, "-m", "bench.soak", "--judge", str(root)], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def _judge(root: Path) -> None:
    begun, cpu = time.monotonic(), time.process_time()
    names = samples.hosts(root, "bench")
    soaks = samples.read_all(root, "bench", names)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    qualified = min(soak.account.qualified for soak in soaks.values()) / 60
    print(
        json.dumps(
            {
                "wall_s": time.monotonic() - begun,
                "cpu_s": time.process_time() - cpu,
                "peak_mb": peak,
                "hours": qualified,
            }
        )
    )


def measure(hours: float, hosts: int, sizes: Sequence[int], folder: Path) -> list[dict[str, float]]:
    """One row a size of segments."""
    found = []
    for lines in sizes:
        root = folder / str(lines)
        row = make(root, hours, hosts, lines) | judge(root)
        row["rows_s"] = row["rows"] / row["wall_s"]
        found.append(row)
        shutil.rmtree(root)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=72.0)
    parser.add_argument("--hosts", type=int, default=9)
    parser.add_argument("--sizes", type=int, nargs="*", default=[20_000, 100_000])
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.judge:
        _judge(asked.judge)
        return
    with tempfile.TemporaryDirectory() as folder:
        for row in measure(asked.hours, asked.hosts, asked.sizes, Path(folder)):
            print(", ".join(f"{name} {value:,.1f}" for name, value in row.items()))


if __name__ == "__main__":
    main()
