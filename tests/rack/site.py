"""A working folder beside the virtual rack: gates as an operator runs them, and both parties' signatures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.vm.inventory import PARTIES
from lab.vm.rack import Rack
from tests.e2e.site import ROOT, Site
from tests.rack import computer
from tests.rack.expected import told

#: The rack of this checkout, and where what was found of it is kept.
RACK = Rack.of(ROOT)
KEPT = ROOT / "var" / "test-rack"

Rows = Mapping[tuple[str, str], Mapping[str, Any]]
_LONG = 3600.0


@dataclass
class RackSite(Site):
    """The rack is not served here: it runs as virtual machines, and its inventory is where `make rack` wrote it."""

    @property
    def inventory(self) -> Path:
        return RACK.inventory

    @property
    def keys(self) -> Path:
        return RACK.folder / "keys"

    @property
    def soaks(self) -> Path:
        return self.folder / "soaks"

    def environment(self, **more: str) -> dict[str, str]:
        """Every command writes into this folder: whoever keeps the rack up has a ledger of his own in this checkout."""
        return super().environment(**{"KVGATE_LEDGER": self.ledger, "KVGATE_EVIDENCE": str(self.evidence), **more})

    def run(self, gate: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a gate to its end, whatever comes of it."""
        return self.started(
            self.command(*arguments, gate=gate), {**_home(), "KVGATE_SOAKS": str(self.soaks)}, limit=_LONG
        )

    def until_told(
        self, gate: str, *arguments: str, but: Collection[str] = (), turns: int = 3
    ) -> subprocess.CompletedProcess[str]:
        """Run a gate; what a busy computer kept from answering in its time is asked again by --only-stale, and nothing else is.

        ``but``: clauses that it may keep from answering for good.
        """
        ended = self.run(gate, *arguments)
        for _ in range(turns - 1):
            wanting = [row for (clause, _), row in self.rows().items() if clause not in but and late(row)]
            if ended.returncode != 6 or not wanting:
                break
            ended = self.run(gate, *arguments, "--only-stale")
        return ended

    def begin(self, gate: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a gate and let it run."""
        environment = self.environment(PYTHONUNBUFFERED="1", **_home())
        words = self.command(*arguments, gate=gate)
        return subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def soak(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`kvgate soak ...` on this rack."""
        command = self.soak_command(*words)
        return self.started(command, _home(), limit=_LONG)

    def soak_command(self, *words: str) -> list[str]:
        place = ("--inventory", str(self.inventory), "--soaks", str(self.soaks))
        signed = _signed("vendor") if words[0] == "start" else ()
        return [sys.executable, "-m", "kvgate", "soak", *words, *place, *signed]

    def rows(self) -> Rows:
        """Every verdict of the last run."""
        return {(row["clause"], row["subject"]): row for row in self.last()["verdicts"]}

    def certify(self, gate: str) -> None:
        """Let both parties sign the last passed run of a gate. Their keys lie in one folder: that proves nothing."""
        run = [one["run"] for one in self.runs() if (one["gate"], one["outcome"]) == (gate, "PASS")][-1]
        path = self.folder / f"{run}.json"
        place = ("--evidence", str(self.evidence))
        trust = self.folder / "allowed_signers"
        keys = {
            party: (RACK.folder / PARTIES / f"{party}.pub").read_text().split()[:2] for party in ("vendor", "customer")
        }
        trust.write_text("".join(f'{party} namespaces="kvgate" {" ".join(key)}\n' for party, key in keys.items()))
        first = self.kvgate("certify", run, *_signed("vendor"), *place, "-o", str(path), **_home())
        assert first.returncode == 0, first.stderr
        signed = _signed("customer")
        second = self.kvgate("cosign", str(path), *signed, *place, "--trust", str(trust), "--yes", **_home())
        assert second.returncode == 0, second.stderr


def fresh(folder: Path) -> RackSite:
    """Return an empty site."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return RackSite(folder, [])


def late(row: Mapping[str, Any]) -> bool:
    """Whether it is undecided because a limit ran out or a connection ended."""
    return row["outcome"] == "UNDECIDED" and computer.late(told(row))


def _signed(party: str) -> tuple[str, ...]:
    return ("--key", str(RACK.folder / PARTIES / party), "--party", party)


def _home() -> dict[str, str]:
    return {"HOME": os.environ.get("HOME", "/")}
