"""Reads lab/vm/expected.yaml: what a run on the virtual rack must say, healthy and under each fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

#: Clause and subject.
Place = tuple[str, str]

FILE = Path(__file__).parents[2] / "lab" / "vm" / "expected.yaml"


@dataclass(frozen=True)
class Expected:
    """``healthy``: (clause, subject) -> outcome and a word of its reason, for all that is not PASS by measurement."""

    healthy: Mapping[Place, tuple[str, str]]
    soaked: Mapping[Place, tuple[str, str]]  # the same of a soak of two minutes
    unsteady: Mapping[str, str]  # clause -> why it may be told or not
    starved: Mapping[str, str]  # clause -> why a processor that is stopped for long upsets it
    faults: Mapping[str, Mapping[str, str]]  # fault -> clause -> outcome on some subject

    def of(self, gate: str) -> dict[Place, tuple[str, str]]:
        """Return what of it is about one gate."""
        return {place: told for place, told in self.healthy.items() if place[0].startswith(f"{gate}.")}


def differing(rows: Mapping[Place, Mapping[str, Any]], expected: Mapping[Place, tuple[str, str]]) -> dict[Place, str]:
    """What a run said otherwise than expected, by clause and subject: all that is not expected must pass."""
    wrong = {}
    for place in rows.keys() | expected.keys():
        outcome, reason = expected.get(place, ("PASS", ""))
        found, said = (rows[place]["outcome"], told(rows[place])) if place in rows else ("nothing", "")
        if found != outcome or reason not in said:
            wrong[place] = f"found {found}: {said}; wanted {outcome} {reason}".rstrip()
    return wrong


def undecided(row: Mapping[str, Any] | None) -> bool:
    """Whether there is a verdict, and it leaves it open."""
    return row is not None and row["outcome"] == "UNDECIDED"


def told(row: Mapping[str, Any]) -> str:
    """What was measured, and why not more."""
    return " ".join(str(row[key] or "") for key in ("measured", "note", "reason"))


def _by_place(rows: Mapping[str, Mapping[str, Any]]) -> dict[Place, tuple[str, str]]:
    return {
        (clause, subject): (row["outcome"], row["reason"])
        for clause, row in rows.items()
        for subject in row["subjects"]
    }


def _read() -> Expected:
    told = YAML(typ="safe").load(FILE.read_text("utf-8"))
    healthy, soaked = (_by_place(told[name]) for name in ("healthy", "soaked"))
    return Expected(healthy, soaked, told["unsteady"], told["starved"], told["faults"])


EXPECTED = _read()
