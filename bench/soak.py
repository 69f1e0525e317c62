"""How fast a soak is judged: nine hosts for 72 h at the planned intervals, from journal lines to Parquet, from Parquet to verdicts.

``python -m bench.soak`` makes one host's journal at full rate, takes it nine times, and prints seconds, rows a second and peak
memory of each step, for several sizes of Parquet parts. ``--gate`` reads the journals from the evidence as the gate does.
``--hours H`` and ``--hosts N`` make it smaller.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.soaked import READERS, Soaked, kept
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


def renamed(texts: Sequence[str], host: str) -> list[bytes]:
    """The same journal as that of another host: its name in it, and every line's digest anew."""
    prev = hashlib.sha256(f"soak-lab/{host}".encode()).hexdigest()
    found = []
    for text in texts:
        lines = []
        for line in text.splitlines(keepends=True):
            at = line.index('"prev":"') + 8
            line = line[:at] + prev + line[at + 64 :]
            if '"kind":"sample"' not in line:
                line = line.replace('"node-01"', f'"{host}"').replace('\\"node-01\\"', f'\\"{host}\\"')
            lines.append(line.encode("ascii"))
            prev = hashlib.sha256(lines[-1]).hexdigest()
        found.append(b"".join(lines))
    return found


def keep(folder: Path, hours: float, hosts: int, lines: int) -> dict[str, float]:
    """Take the journals of ``hosts`` hosts into the evidence of a run, as the gate does; returns what that took."""
    texts = segments(plan("node-01", "node", hours), 1, step=5.0, lines=lines)
    took = 0.0
    with Evidence.create(folder, "bench", {"gate": "G4"}) as evidence:
        soaked = Soaked(Answers(evidence))
        for number in range(1, hosts + 1):
            mine = renamed(texts, f"node-{number:02d}")
            begun = time.monotonic()
            soaked.keep(f"node-{number:02d}", mine)
            took += time.monotonic() - begun
    return {"files": float(len(texts) * hosts), "journal_mb": sum(map(len, texts)) * hosts / 1e6, "keep_s": took}


def judge_journals(folder: Path) -> dict[str, float]:
    """Read every host's journal from the evidence in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "bench.soak", "--journals", str(folder / "bench")],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def _judge_journals(folder: Path) -> None:
    begun, cpu = time.monotonic(), time.process_time()
    evidence = Evidence.open(folder)
    found = kept(evidence)
    took = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    peak = (
        took[0].ru_maxrss + READERS * took[1].ru_maxrss
    )  # the largest child, as often as there are at once: an upper bound
    print(
        json.dumps(
            {
                "wall_s": time.monotonic() - begun,
                "cpu_s": time.process_time() - cpu + took[1].ru_utime + took[1].ru_stime,
                "peak_mb": peak * 1024 / 1e6,
                "hosts": len(found),
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
    parser.add_argument(
        "--gate", action="store_true", help="from the evidence, as the gate reads it, in place of from Parquet"
    )
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--journals", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.journals:
        _judge_journals(asked.journals)
        return
    if asked.judge:
        _judge(asked.judge)
        return
    with tempfile.TemporaryDirectory() as folder:
        for lines in asked.sizes if asked.gate else ():
            place = Path(folder) / f"gate-{lines}"
            row = keep(place, asked.hours, asked.hosts, lines)
            row |= judge_journals(place)
            print(f"segments of {lines:,} lines:", ", ".join(f"{name} {value:,.1f}" for name, value in row.items()))
            shutil.rmtree(place)
        if asked.gate:
            return
        for row in measure(asked.hours, asked.hosts, asked.sizes, Path(folder)):
            print(", ".join(f"{name} {value:,.1f}" for name, value in row.items()))


if __name__ == "__main__":
    main()
