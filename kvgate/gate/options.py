"""What an operator may say to a gate: command line first, then environment, then pyproject.toml."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path

from checks.phrase import say
from kvgate.errors import NotAllowed

GATES = {"G1": "g1_arrival", "G2": "g2_baseline", "G3": "g3_benefit", "G4": "g4_soak"}
DEFAULT_LEDGER = "sqlite:///var/kvgate.db"
DEFAULT_EVIDENCE = "var/evidence"
DEFAULT_SOAKS = "var/soak"


@dataclass(frozen=True)
class Options:
    """A gate run as asked for."""

    gate: str
    inventory: Path | None
    ledger: str
    evidence: Path
    replay: str | None = None
    replay_by: str = "stored"  # or "installed": by the acceptance document of this installation
    plan: bool = False
    allow_load: bool = False
    allow_destructive: tuple[str, ...] = ()
    only_stale: bool = False
    trust: Path | None = None  # whose signatures count; without it the keys that the inventory names
    key: Path | None = None  # signs the start ticket
    party: str | None = None  # whose key that is
    soaks: Path = Path(DEFAULT_SOAKS)  # where the soak that G4 judges is collected


def gate_of(expression: str) -> str | None:
    """``-m`` expression -> the one gate it names, None if it names none or only says ``not``. Raises NotAllowed else."""
    text = expression.strip()
    if not re.search(r"\bG[1-4]\b", re.sub(r"\bnot +G[1-4]\b", "", text)):
        return None
    if text not in GATES:
        raise NotAllowed(
            say(
                "found -m {text!r}, wanted one gate alone, such as -m G1: a gate is decided as a whole, one a run",
                text=text,
            )
        )
    return text


def refuse_other_gate(expression: str) -> None:
    """Raises NotAllowed for a ``-m`` expression that means a gate which is none."""
    others = [name for name in re.findall(r"\b[Gg]\d+\b", expression) if name not in GATES]
    if others:
        raise NotAllowed(
            say("found gate {name}, wanted one of {known}, as in -m G1", name=others[0], known=", ".join(GATES))
        )


def typed(words: Sequence[str]) -> bool:
    """Tell whether a command line asks for a gate, without pytest: it has not read it yet when this is needed."""
    marks = (word[2:] or after for word, after in zip_longest(words, words[1:], fillvalue="") if word[:2] == "-m")
    return any(mark.strip() in GATES for mark in marks)


def folder(gate: str) -> Path:
    """Where the tests of a gate lie. Raises NotAllowed for a gate that this version does not have."""
    path = gates_root() / GATES[gate]
    if not path.is_dir():
        raise NotAllowed(say("{gate} is not part of this version of kvgate", gate=gate))
    return path


def gates_root() -> Path:
    """Folder of all gates."""
    return Path(str(files("gates"))).resolve()


#: What the environment may say. Everything else that begins so would be believed to work and be ignored.
KNOWN = frozenset(
    {
        "KVGATE_INVENTORY",
        "KVGATE_LEDGER",
        "KVGATE_EVIDENCE",
        "KVGATE_LANG",
        "KVGATE_OPERATOR",
        "KVGATE_TRUST",
        "KVGATE_KEY",
        "KVGATE_PARTY",
        "KVGATE_SOAKS",
    }
)


def refuse_unknown_environment() -> None:
    """Raises NotAllowed for a KVGATE_ variable that no gate reads: KVGATE_PLAN=1 must not end in a run."""
    if unknown := sorted(name for name in os.environ if name.startswith("KVGATE_") and name not in KNOWN):
        raise NotAllowed(
            say(
                "found {names} in the environment, wanted only {known}: other options are given on the command line",
                names=", ".join(unknown),
                known=", ".join(sorted(KNOWN)),
            )
        )


def from_environment(name: str) -> str | None:
    """``KVGATE_<NAME>`` if it is set and not empty."""
    return os.environ.get(f"KVGATE_{name.upper()}") or None


def from_project(start: Path) -> dict[str, str]:
    """``kvgate_*`` of the nearest pyproject.toml, for a run that pytest took for one of another folder.

    pytest looks for its configuration beside the first path on its command line, before it knows that this path is the
    value of ``--inventory``. Raises NotAllowed for a file that cannot be read.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            try:
                found = tomllib.loads(file.read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise NotAllowed(say("{path} cannot be read: {why}", path=str(file), why=str(error))) from None
            values = found.get("tool", {}).get("pytest", {}).get("ini_options", {})
            return {key: str(value) for key, value in values.items() if key.startswith("kvgate_")}
    return {}


def path_of(argument: str, start: Path) -> Path:
    """Path that a pytest argument means: a file, ``file::test``, or a dotted name (--pyargs)."""
    name = argument.split("::", 1)[0]
    path = (start / name).resolve()
    if not path.exists() and re.fullmatch(r"gates(\.\w+)*", name):
        return gates_root().joinpath(*name.split(".")[1:])
    return path
