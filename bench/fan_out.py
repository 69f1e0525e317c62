"""Measures fan-outs: all ways on the same hosts in one run, in random order. ``python -m bench.fan_out --help``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path

from bench.job import Job
from bench.probes import Question, of_a_node, stand_ins
from bench.sample import Sample, take
from bench.server import USER, OpenSsh, Rack, Server, end_cleanly
from bench.table import put, rows
from bench.ways import WAYS
from kvgate.transport.base import Command
from kvgate.transport.batch import build

OURS = ("kvgate", "kvgate-openssh", "ssh", "ssh-read")
#: With more hosts fabric's group, which has no bound on its threads, takes minutes and fails now and then.
MOST = {"fabric": 64, "fabric-batch": 64}
#: The embedded rack takes batches and single commands, but has no shell that these could wrap them in.
NOT_ON_RACK = ("parallel-ssh", "parallel-ssh-batch", "fabric-batch")
WORKERS = 32  # hosts at once, for every way that can be told
_HOME = Path(__file__).parent


def measure(
    kind: str, hosts: Sequence[int], ways: Sequence[str], samples: dict[int, int], folder: Path, competitors: Path
) -> list[Sample]:
    """Take all samples of one kind of server, interleaved in random order; ``samples`` by number of hosts."""
    folder.mkdir(parents=True, exist_ok=True)
    questions, machine = of_a_node(folder)
    tools = stand_ins(folder / "tools", questions, machine)
    taken = []
    for count in hosts:
        place: AbstractContextManager[Server]
        place = (
            OpenSsh(folder / f"sshd-{count}", count, tools)
            if kind == "openssh"
            else Rack(folder / f"rack-{count}", count)
        )
        with place as server:
            job = _job(folder / f"client-{kind}-{count}", questions, server)
            job = replace(job, targets=job.targets[:count])
            order = [way for way in ways if count <= MOST.get(way, count)] * samples[count]
            random.shuffle(order)
            for way in order:
                python = Path(sys.executable) if way in OURS else competitors
                taken.append(take(way, python, job, server))
                _tell(taken[-1])
    return taken


def _job(folder: Path, questions: Sequence[Question], server: Server) -> Job:
    folder.mkdir(parents=True)
    config = folder / "ssh_config"
    options = {
        "IdentityFile": server.key,
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": server.known_hosts,
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "KexAlgorithms": "curve25519-sha256",
        "BatchMode": "yes",
        "LogLevel": "ERROR",
    }
    config.write_text("Host *\n" + "".join(f"  {name} {value}\n" for name, value in options.items()))
    nonce = secrets.token_hex(16)
    commands = [Command(str(n), question.line, question.limit, reads=True) for n, question in enumerate(questions)]
    script = folder / "batch.sh"
    script.write_bytes(build(nonce, commands))
    lines, limits = tuple(one.line for one in questions), tuple(one.limit for one in questions)
    targets = tuple(server.targets)
    return Job(targets, USER, str(server.key), str(config), lines, limits, str(script), nonce, WORKERS, str(folder))


def _tell(sample: Sample) -> None:
    print(
        f"{sample.hosts:4} {sample.way:20} wall {sample.wall:7.2f} s  client {sample.cpu:7.3f} s  server {sample.server:7.2f} s  "
        f"peak {sample.peak / 1e6:5.0f} MB  foreign {sample.foreign:.2f}  {sample.trouble}",
        file=sys.stderr,
        flush=True,
    )


def conditions() -> str:
    """Where this was measured, in one line."""
    ssh = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=False).stderr.split(",")[0]
    models = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return f"{os.cpu_count()} cores ({models[0] if models else platform.machine()}), Python {platform.python_version()}, {ssh}"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.fan_out", description=__doc__)
    parser.add_argument("--server", choices=("openssh", "rack"), default="openssh")
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 8, 64, 256])
    parser.add_argument(
        "--samples", type=int, default=5, help="of each way; a third of it, but at least 3, above 64 hosts"
    )
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument(
        "--competitors", type=Path, default=_HOME / ".venv" / "bin" / "python", help="their interpreter"
    )
    parser.add_argument("--keep", type=Path, help="add to the samples in this file, and make the table of all of them")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    given = arguments(argv)
    ways = [way for way in given.ways if given.server == "openssh" or way not in NOT_ON_RACK]
    if not given.competitors.exists() and set(ways) - set(OURS):
        print(f"{given.competitors} is missing: make bench, or --ways {' '.join(OURS)}", file=sys.stderr)
        return 4
    samples = {count: given.samples if count <= 64 else min(3, given.samples) for count in given.hosts}
    end_cleanly()
    with tempfile.TemporaryDirectory(prefix="kvgate-bench-") as folder:
        taken = measure(given.server, given.hosts, ways, samples, Path(folder), given.competitors.absolute())
    if given.keep:
        with given.keep.open("a+", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(sample)) + "\n" for sample in taken)
            file.seek(0)
            taken = [Sample(**json.loads(line)) for line in file]
    text = "\n".join([conditions() + "; medians.", "", *rows(taken)])
    print(text)
    if given.write:
        put(given.server, text)
    return 1 if any(sample.trouble for sample in taken if sample.way in OURS) else 0


if __name__ == "__main__":
    sys.exit(main())
