"""A working folder with a served rack, and the commands of an operator in it, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvgate.certificates.trust import PARTIES
from kvgate.cli.demo import login_key
from kvgate.cli.demo_signing import make_pairs
from lab.machine import Edit
from lab.rack import EmbeddedRack, VirtualHost, build
from tests.invoking import invoked

ROOT = Path(__file__).parents[2]
#: The runner of commands puts its own streams in the place of this process's: one at a time, in whatever thread.
_STREAMS = threading.Lock()
Verdicts = dict[tuple[str, str], str]


@dataclass
class Site:
    """``faults`` and ``edits`` (host -> edits of its answers) break the rack."""

    folder: Path
    hosts: list[VirtualHost]
    extra: dict[str, str] = field(default_factory=dict)  # environment of every command
    signs: bool = True  # start tickets, as the vendor

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.yaml"

    @property
    def ledger(self) -> str:
        return f"sqlite:///{self.folder / 'kvgate.db'}"

    @property
    def evidence(self) -> Path:
        return self.folder / "evidence"

    @property
    def connections(self) -> int:
        return sum(host.connections for host in self.hosts)

    def environment(self, **more: str) -> dict[str, str]:
        clean = {
            k: v for k, v in os.environ.items() if not k.startswith(("KVGATE_", "PYTEST_", "PYTHON", "LC_", "LANG"))
        }
        plain = {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "160", "HOME": str(self.folder)}
        return {**clean, **plain, **self.extra, **more}

    def command(self, *arguments: str, gate: str = "G1") -> list[str]:
        return [
            sys.executable, "-m", "pytest", "-q", "-m", gate, "--inventory", str(self.inventory), "--ledger", self.ledger,
            "--evidence", str(self.evidence), *(() if "--key" in arguments or not self.signs else self.by("vendor")), *arguments,
        ]  # fmt: skip

    def by(self, party: str) -> tuple[str, ...]:
        """Options that sign as a party."""
        return "--key", str(self.keys / party), "--party", party

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    def trust(self) -> Path:
        """Write a trust file of both parties' keys and let every command use it."""
        path = self.folder / "allowed_signers"
        path.write_text("".join(f"{party} {(self.keys / f'{party}.pub').read_text()}" for party in PARTIES))
        self.extra["KVGATE_TRUST"] = str(path)
        return path

    def gate(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.started(self.command(*arguments), environment)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=ROOT,
            env=self.environment(PYTHONUNBUFFERED="1", **environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def pytest(self, *arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.started([sys.executable, "-m", "pytest", "-q", *arguments], environment, cwd)

    def kvgate(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        places = {"KVGATE_LEDGER": self.ledger, "KVGATE_EVIDENCE": str(self.evidence)}
        return self.started([sys.executable, "-m", "kvgate", *arguments], {**places, **environment})

    def call(
        self, command: Sequence[str], cwd: Path = ROOT, limit: float = 150, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return self.started(command, environment, cwd, limit)

    def started(
        self, command: Sequence[str], environment: Mapping[str, str], cwd: Path = ROOT, limit: float = 150
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with this site's environment and what else is named."""
        env = self.environment(**environment)
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=limit)

    # ---- what came of it

    def _read(self, *arguments: str) -> Any:
        """Read with the `kvgate` command, within this process: it is started on its own where that is what is tested."""
        with _STREAMS:
            shown = invoked(*arguments, "--ledger", self.ledger, "--json")
        assert shown.exit_code == 0, shown.output
        return json.loads(shown.stdout)

    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._read("runs")
        return found

    def last(self) -> dict[str, Any]:
        return self.show(self.runs()[-1]["run"])

    def show(self, run: str) -> dict[str, Any]:
        found: dict[str, Any] = self._read("show", run)
        return found

    def journal(self) -> Path | None:
        return next(iter(sorted(self.evidence.glob("*/journal.jsonl"))), None)

    def change(self, old: str, new: str, file: Path | None = None) -> None:
        """Change the inventory; what is changed must be there."""
        path = file or self.inventory
        text = path.read_text("utf-8")
        assert old in text, old
        path.write_text(text.replace(old, new, 1), "utf-8")

    def serve_nothing(self) -> None:
        """Take the sections of engines and soak out of the inventory: both need hosts that may be asked everything."""
        text, found = re.subn(r"(?m)^(?:serving|soak):\n(?:[ \n].*\n?)+", "", self.inventory.read_text("utf-8"))
        assert found == 2
        self.inventory.write_text(text, "utf-8")


def outcomes(shown: Mapping[str, Any]) -> Verdicts:
    """Clause and subject -> outcome, of `kvgate show --json`; what has no verdict is missing."""
    told = {(row["clause"], row["subject"]): str(row["outcome"]) for row in shown["verdicts"]}
    return told | {(row["clause"], row["subject"]): "missing" for row in shown["missing"]}


def clauses(found: Verdicts, outcome: str) -> set[str]:
    """Ids of the clauses with that outcome on any subject."""
    return {clause for (clause, _), told in found.items() if told == outcome}


def properties(report: Path) -> list[dict[str, str]]:
    """Properties of every test in a JUnit report."""
    cases = ET.parse(report).iter("testcase")
    return [{str(p.get("name")): str(p.get("value")) for p in case.iter("property")} for case in cases]


def judged(report: Path) -> Verdicts:
    """Clause and subject -> outcome, of a JUnit report."""
    return {(test["clause"], test["subject"]): test["outcome"] for test in properties(report)}


@contextmanager
def served(
    folder: Path,
    *faults: str,
    nodes: int = 1,
    platform: str = "rocm",
    edits: Mapping[str, tuple[Edit, ...]] | None = None,
    nfs: bool = False,
) -> Iterator[Site]:
    """Serve a rack and write its inventory into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    hosts = build(nodes, platform, faults, nfs=nfs)
    for host in hosts:
        host.machine.edits += (edits or {}).get(host.name, ())
    with EmbeddedRack(hosts) as rack:
        site = Site(folder, hosts)
        site.inventory.write_text(rack.inventory(login_key(site.keys)), "utf-8")
        make_pairs(site.keys)
        yield site


def until(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something to become true."""
    limit = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < limit, "it never came to that"
        time.sleep(0.02)
