"""``python -m lab.engine --port 8101 --store FOLDER --fault kv-corrupt``: an engine to try clients and gates on."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from lab.engine import process
from lab.engine.core import Engine
from lab.engine.faults import FAULTS, named
from lab.engine.knobs import Knobs, joined
from lab.engine.server import Server
from lab.engine.shape import Shape
from lab.engine.store import FolderStore


def parsed(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m lab.engine", description=__doc__)
    parser.add_argument("--port", type=int, default=8101)
    parser.add_argument("--store", type=Path, help="folder of KV files; without one every prompt is computed")
    parser.add_argument("--kind", default="lmcache-fs", choices=("lmcache-fs", "lmcache-local-disk", "vllm-fs"))
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rank-bytes", type=int, default=64, help="bytes of a token in one rank's files")
    parser.add_argument("--chunk", type=int, default=256)
    parser.add_argument("--read", type=float, default=6.8e9, help="bytes a second that the modelled device reads")
    parser.add_argument(
        "--devices", type=Path, help="file of FOLDER RATE lines: what the modelled device below the store reads instead"
    )
    parser.add_argument("--prefill", type=float, default=10_000.0, help="tokens a second that it computes")
    parser.add_argument("--pace", type=float, default=0.05, help="real seconds for each second of the engine")
    parser.add_argument(
        "--worker-port",
        type=int,
        default=0,
        help="port of the first worker's page, the others follow; -N: N below the engine's",
    )
    parser.add_argument("--start", type=Path, metavar="PIDFILE", help="go into the background once it listens")
    parser.add_argument("--stop", type=Path, metavar="PIDFILE", help="end the engine that --start left there")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="NAME", help=", ".join(one.name for one in FAULTS)
    )
    return parser.parse_args(words)


def rate(asked: argparse.Namespace) -> float:
    """Bytes a second of the modelled device: two engines that differ in their store alone differ in nothing else."""
    if asked.devices is None or asked.store is None:
        return float(asked.read)
    rows = [line.split() for line in asked.devices.read_text("utf-8").splitlines()]
    found = [float(value) for folder, value in rows if asked.store.is_relative_to(folder)]
    if len(found) != 1:
        raise ValueError(f"{asked.devices} has {len(found)} rates for {asked.store}, wanted one")
    return found[0]


def made(asked: argparse.Namespace) -> Server:
    """Build the server. Raises ValueError for an unknown fault."""
    weight = Shape().token_bytes / (asked.rank_bytes * asked.ranks)
    shape = Shape(
        model=asked.model, kind=asked.kind, ranks=asked.ranks, rank_bytes=asked.rank_bytes, chunk=asked.chunk,
        read=rate(asked), prefill=asked.prefill, weight=weight,
    )  # fmt: skip
    knobs = joined(Knobs(), *(named(name).knobs for name in asked.fault))
    worker = asked.port + asked.worker_port if asked.worker_port < 0 else asked.worker_port
    store = FolderStore(asked.store, shape) if asked.store else None
    return Server(Engine(shape, knobs, store), asked.pace, asked.port, first_worker=worker)


async def _serve(server: Server) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, (lambda: None) if server.engine.knobs.will_not_stop else over.set)
    async with server.served():
        print(
            "\n".join([f"serving {server.engine.shape.model} on {server.url}", *server.metrics, *server.cache]),
            flush=True,
        )
        await over.wait()


def main(words: list[str]) -> int:
    """Serve until a signal comes."""
    asked = parsed(words)
    if asked.stop:
        return process.stop(asked.stop)
    if asked.start:
        place = words.index("--start")
        return process.start(words[:place] + words[place + 2 :], asked.port, asked.start)
    try:
        server = made(asked)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if server.engine.knobs.will_not_start:
        print("ValueError: free memory on device is less than desired utilization", file=sys.stderr)
        return 1
    asyncio.run(_serve(server))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
