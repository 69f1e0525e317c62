"""The ``kvgate`` command as a user starts it: in this process where that is the same, in one of its own where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result

from kvgate.cli.demo import login_key
from lab.rack import EmbeddedRack, VirtualHost, build, fingerprint
from tests.invoking import invoked

ROOT = Path(__file__).parents[2]


@dataclass
class Served:
    """A served rack and a folder to work in."""

    folder: Path
    rack: EmbeddedRack

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.yaml"

    @property
    def identity(self) -> Path:
        return login_key(self.folder / "keys")

    def words(self, roles: bool = False) -> list[str]:
        """Return the rack's hosts with their keys as ``inventory draft`` takes them."""
        found: list[str] = []
        for host in self.rack.hosts:
            role = f"{host.ordered.role}:" if roles else ""
            found += [f"{role}{host.name}=127.0.0.1:{host.port}", "--host-key", f"{host.name}={fingerprint(host.key)}"]
        return found


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the operator's own: no environment of kvgate, no agent, no known hosts."""
    for name in [name for name in os.environ if name.startswith(("KVGATE_", "_KVGATE"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    for name, value in {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "160"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


Kvgate = Callable[..., Result]


@pytest.fixture
def kvgate() -> Kvgate:
    """``kvgate("explain", "G1.2.9").stdout``; a traceback is an error of the test, whatever the exit status."""

    def call(*words: str | Path, text: str | bytes = "", **env: str) -> Result:
        return invoked(*words, text=text, env=env)

    return call


def started(*words: str | Path, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "kvgate", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **more},
        capture_output=True,
        text=True,
        timeout=60,
    )


Serve = Callable[..., "contextmanager[Served]"]


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., object]:
    """``with serve(*faults, nodes=1, platform="rocm", behave={"node-01": {"down"}}) as rack``."""

    @contextmanager
    def start(
        *faults: str, nodes: int = 1, platform: str = "rocm", behave: dict[str, Iterable[str]] | None = None
    ) -> Iterator[Served]:
        hosts: list[VirtualHost] = build(nodes, platform, faults)
        for host in hosts:
            host.behaviours |= frozenset((behave or {}).get(host.name, ()))
            host.skew += 2.0 * ("clock-ahead-2" in host.behaviours)
        with EmbeddedRack(hosts) as rack:
            served = Served(tmp_path, rack)
            served.inventory.write_text(rack.inventory(served.identity), "utf-8")
            yield served

    return start


@dataclass(frozen=True)
class Stored:
    """A finished run of G1 on a rack with a fault, kept in ``var``."""

    var: Path
    run: str

    @property
    def words(self) -> list[str]:
        return ["--ledger", f"sqlite:///{self.var / 'kvgate.db'}"]

    @property
    def environment(self) -> dict[str, str]:
        return {
            "KVGATE_LEDGER": f"sqlite:///{self.var / 'kvgate.db'}",
            "KVGATE_EVIDENCE": str(self.var / "evidence"),
        }


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Run ``kvgate demo`` once with two faults: one clause stops, one cannot be told."""
    var = tmp_path_factory.mktemp("var")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVGATE_")}
    words = ["--nodes", "1", "--fault", "disk-media-errors", "--fault", "ethtool-missing", "--var", str(var)]
    done = subprocess.run(
        [sys.executable, "-m", "kvgate", "demo", "G1", *words],
        cwd=ROOT, env={**clean, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = [path.name for path in (var / "evidence").iterdir() if path.is_dir()]
    return Stored(var, run)
