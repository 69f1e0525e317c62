"""The experiment of the embedded rack as tests take it: its site, the limits of a clause, and other values of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from checks.serving.limits import Limits, limits
from checks.serving.site import Site
from kvgate.codec import canonical, verdict_to_json
from kvgate.evidence.store import Evidence
from kvgate.gate.baseline import BASELINE
from kvgate.inventory import experiment, reader
from lab.inventory import text
from lab.rack import build, fingerprint, host_key
from tests.gates.harness import agreement, measured_before


@cache
def rack_site(shape: str = "tp8") -> Site:
    """One shape of the embedded rack."""
    hosts = [(host.ordered, 42200 + place, fingerprint(host_key(host.name))) for place, host in enumerate(build())]
    return experiment.site(reader.parse(text(hosts, concurrencies=(8, 16, 32))).rack, shape)


def site(shape: str = "tp8", **changes: Any) -> Site:
    """The same with other values."""
    return replace(rack_site(shape), **changes)


def terms(clause: str = "G3.3.1") -> dict[str, Any]:
    """Numbers of a clause as agreed."""
    return {name: limit.value for name, limit in agreement().acceptance.clauses[clause].limits.items()}


def held(where: Site | None = None, clause: str = "G3.3.1", **changes: Any) -> Limits:
    """Limits of a clause, some of them changed."""
    return limits({**terms(clause), **changes}, where or site())


def json_of(table: Mapping[str, Any]) -> str:
    """A file's text."""
    return json.dumps(table) + "\n"


def remember(evidence: Evidence, concurrency: int = 8) -> None:
    """Keep what a healthy rack gave in G2 in the evidence of a run of G3, as it is kept when that run begins."""
    known = measured_before("rocm", 2, (concurrency,))
    rows = [[*place, verdict_to_json(verdict)] for place, verdict in known.items()]
    evidence.note(BASELINE, gate="G2", run="run of G2", rows=canonical({"verdicts": rows}).encode())
