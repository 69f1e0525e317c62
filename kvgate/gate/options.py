"""What an operator may say to a gate: command line first, then environment, then pyproject.toml."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from kvgate.errors import NotAllowed

GATES = {"G1": "g1_arrival", "G2": "g2_baseline", "G3": "g3_benefit", "G4": "g4_soak"}
DEFAULT_LEDGER = "sqlite:///var/kvgate.db"
DEFAULT_EVIDENCE = "var/evidence"


@dataclass(frozen=True)
class Options:
    """A gate run as asked for."""

    gate: str
    inventory: Path | None
    ledger: str
    evidence: Path
    replay: str | None = None
    plan: bool = False
    allow_load: bool = False
    allow_destructive: tuple[str, ...] = ()
    only_stale: bool = False


def gate_of(expression: str) -> str | None:
    """``-m`` expression -> the one gate it names, None if it names none. Raises NotAllowed for anything in between."""
    named = set(re.findall(r"\bG[1-4]\b", expression))
    if not named:
        return None
    if expression.strip() not in GATES:
        raise NotAllowed(
            f"found -m {expression.strip()!r}, wanted one gate alone, such as -m G1: a gate is decided as a whole, one a run"
        )
    return expression.strip()


def folder(gate: str) -> Path:
    """Where the tests of a gate lie. Raises NotAllowed for a gate that this version does not have."""
    path = Path(str(files("gates") / GATES[gate]))
    if not path.is_dir():
        raise NotAllowed(f"{gate} is not part of this version of kvgate")
    return path


def gates_root() -> Path:
    """Folder of all gates."""
    return Path(str(files("gates")))


def from_environment(name: str) -> str | None:
    """``KVGATE_<NAME>`` if it is set and not empty."""
    return os.environ.get(f"KVGATE_{name.upper()}") or None
