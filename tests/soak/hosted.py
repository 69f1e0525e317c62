"""A worker in a folder of this machine: its plan, its verbs, and its journal read back with the chain checked."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from checks.parsers import soak_journal
from checks.parsers.soak_journal import Line
from kvgate.soak.package import worker

CHEAP = ("disk", "net", "memory", "load")


def plan(**more: Any) -> dict[str, Any]:
    """A plan at sixty times the speed: a tick of 10 s is due each sixth of a second."""
    streams = {name: {"every": 10} for name in CHEAP} | {"worker": {"every": 60}}
    bounds = {"segment_bytes": 30_000, "journal_bytes": 64 << 20, "free_bytes": 1 << 16, "memory_bytes": 256 << 20}
    found = {
        "form": 1, "soak": "soak-test", "host": "here", "role": "node", "scale": 60, "seconds": 3600, "streams": streams,
        "loads": [], "cleanup": [], "policy": {"interruption": "resume", "interruptions": 2, "longest": 1800},
    }  # fmt: skip
    bounds |= more.pop("bounds", {})
    return {**found, **more, "bounds": bounds}


def lay_out(folder: Path, wanted: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "worker.pyz").write_bytes(worker())
    (folder / "plan.json").write_text(json.dumps(wanted, sort_keys=True, separators=(",", ":")))
    return folder


def ask(folder: Path, verb: str, *words: str, python: str = sys.executable) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(folder / "worker.pyz"), verb, str(folder), *words], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def kill(folder: Path) -> None:
    """End the worker with no word."""
    state = json.loads((folder / "state.json").read_text())
    os.kill(state["pid"], signal.SIGKILL)
    until(lambda: ask(folder, "status")["state"] == "vanished")


def until(holds: Callable[[], object], limit: float = 30.0) -> None:
    end = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.03)


def lines(folder: Path) -> list[Line]:
    """All lines of all segments, each segment following the one before."""
    found: list[Line] = []
    follows = hashlib.sha256(b"soak-test/here").hexdigest()
    for path in sorted(folder.glob("journal-*.jsonl")):
        text = path.read_text()
        segment = soak_journal.parse(text)
        assert segment.follows == follows, path.name
        assert not found or segment.lines[0].seq == found[-1].seq + 1
        whole = text[: text.rfind("\n") + 1].encode()
        follows = hashlib.sha256(whole.splitlines(keepends=True)[-1]).hexdigest()
        found += segment.lines
    return found


def ticks(found: list[Line]) -> dict[str, list[int]]:
    table: dict[str, list[int]] = {}
    for line in found:
        if line.kind == "sample" and line.tick is not None:
            table.setdefault(line.stream, []).append(line.tick)
    return table


def events(found: list[Line], stream: str, subject: str) -> list[Mapping[str, Any]]:
    return [
        line.values[subject]
        for line in found
        if line.kind == "event" and line.stream == stream and subject in line.values
    ]
