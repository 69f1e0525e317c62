"""Reads lab/vm/expected.yaml: what a run on the virtual rack must say, healthy and under each fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

FILE = Path(__file__).parents[2] / "lab" / "vm" / "expected.yaml"


@dataclass(frozen=True)
class Expected:
    """``healthy``: (clause, subject) -> outcome and a word of its reason, for all that is not PASS by measurement."""

    healthy: Mapping[tuple[str, str], tuple[str, str]]
    unsteady: Mapping[str, str]  # clause -> why it may be told or not
    faults: Mapping[str, Mapping[str, str]]  # fault -> clause -> outcome on some subject

    def of(self, gate: str) -> dict[tuple[str, str], tuple[str, str]]:
        """Return what of it is about one gate."""
        return {place: told for place, told in self.healthy.items() if place[0].startswith(f"{gate}.")}


def _healthy(rows: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    return {
        (clause, subject): (row["outcome"], row["reason"])
        for clause, row in rows.items()
        for subject in row["subjects"]
    }


def _read() -> Expected:
    told = YAML(typ="safe").load(FILE.read_text("utf-8")) or {}
    return Expected(_healthy(told.get("healthy") or {}), told.get("unsteady") or {}, told.get("faults") or {})


EXPECTED = _read()
