"""The embedded rack over real SSH, and gate runs against it as an operator starts them: in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kvgate.cli.demo import login_key
from lab.rack import EmbeddedRack, build

ROOT = Path(__file__).parents[2]


@dataclass
class Site:
    """A working folder with a served rack."""

    folder: Path
    rack: EmbeddedRack

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.yaml"

    @property
    def ledger(self) -> str:
        return f"sqlite:///{self.folder / 'kvgate.db'}"

    @property
    def evidence(self) -> Path:
        return self.folder / "evidence"

    def environment(self, **more: str) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("KVGATE_", "PYTEST_"))}
        return {**clean, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "160", "HOME": str(self.folder), **more}

    def command(self, *arguments: str, gate: str = "G1") -> list[str]:
        return [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", gate, "--inventory", str(self.inventory),
            "--ledger", self.ledger, "--evidence", str(self.evidence), *arguments,
        ]  # fmt: skip

    def gate(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=120,
        )

    def kvgate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kvgate", *arguments]
        env = self.environment(KVGATE_LEDGER=self.ledger, KVGATE_EVIDENCE=str(self.evidence))
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)

    def runs(self) -> list[dict[str, object]]:
        shown = self.kvgate("runs", "--json")
        assert shown.returncode == 0, shown.stderr
        found: list[dict[str, object]] = json.loads(shown.stdout)
        return found

    def show(self, run: str) -> dict[str, object]:
        shown = self.kvgate("show", run, "--json")
        assert shown.returncode == 0, shown.stderr
        found: dict[str, object] = json.loads(shown.stdout)
        return found


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., object]:
    """``with serve(*faults, nodes=1, platform="rocm") as site``."""

    @contextmanager
    def start(*faults: str, nodes: int = 1, platform: str = "rocm") -> Iterator[Site]:
        with EmbeddedRack(build(nodes, platform, faults)) as rack:
            site = Site(tmp_path, rack)
            site.inventory.write_text(rack.inventory(login_key(tmp_path / "keys")), "utf-8")
            yield site

    return start
