"""A lab engine on loopback and kvgate's client as the load host runs it, for tests."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from checks.parsers import prometheus
from checks.parsers.kvgate_client import ClientRun
from checks.parsers.prometheus import Metrics
from checks.serving.client import client
from checks.serving.work import Mode, Work
from lab.engine.core import Engine
from lab.engine.knobs import Knobs
from lab.engine.server import Server
from lab.engine.shape import Shape
from lab.engine.started import Started
from lab.engine.store import FolderStore

#: Chunks of 64 tokens, 2 ranks, 8 bytes a token and rank: files of 512 bytes that stand for real ones.
SMALL = Shape(model="tiny", ranks=2, rank_bytes=8, chunk=64, weight=15_872.0)
TOKENS = 200  # three chunks and eight tokens


@contextmanager
def serving(
    folder: Path | None, knobs: Knobs | None = None, shape: Shape = SMALL, pace: float = 0.02
) -> Iterator[Server]:
    store = None if folder is None else FolderStore(folder, shape)
    with Started(Server(Engine(shape, knobs or Knobs(), store), pace)) as server:
        yield server


def work(server: Server, mode: Mode = Mode.MEASURE, **more: Any) -> Work:
    table: dict[str, Any] = {
        "count": 12, "tokens_in": TOKENS, "tokens_out": 1 if mode is Mode.POPULATE else 8, "concurrency": 4,
        "prompt_set": "c4/1", "limit": 20.0, "first": 8.0, "stall": 1.0,
    }  # fmt: skip
    return Work(mode, (server.url,), "tiny", 11, ids=(4096, 24576), **(table | more))


def load(asked: Work) -> ClientRun:
    words = [str(word) for word in client(asked).argv]
    told = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True)
    return client(asked).parse(told.stdout)


def page(url: str) -> Metrics:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return prometheus.parse(answer.read().decode())


def post(url: str, method: str = "POST") -> int:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10) as answer:
        return int(answer.status)
