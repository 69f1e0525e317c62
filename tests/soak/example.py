"""The soak of twenty minutes that lies beside the runbooks, read and judged. ``python -m tests.soak.example`` writes what came of it."""

from __future__ import annotations

import gzip
import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

from checks.soak.arrival import Arrived
from checks.soak.facts import HostSoak
from checks.verdict import Verdict
from kvgate import agreement as agreements
from kvgate.gate.options import GATES
from kvgate.inventory import reader
from kvgate.inventory.subjects import owed
from kvgate.reports.messages import Reader
from kvgate.reports.still import picture
from tests.gates.harness import bodies
from tests.gates.soaking import read

FOLDER = Path(__file__).parents[2] / "runbooks" / "example-soak"


@cache
def soaks() -> dict[str, HostSoak]:
    """Facts of both hosts."""
    found = {}
    for host in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        found[host.name] = read(
            [gzip.decompress(part.read_bytes()).decode("ascii") for part in sorted(host.glob("*.gz"))]
        )
    return found


def judged() -> list[dict[str, str]]:
    """What comes of every clause and subject, as it stands in expected.json."""
    rack = reader.read(FOLDER / "rack.yaml").rack
    clauses = agreements.read(FOLDER / "acceptance.yaml").acceptance
    found = []
    for item, thing in owed(clauses, rack, "G4"):
        given: list[Verdict] = []
        terms = {name: limit.value for name, limit in clauses.clauses[item.clause].limits.items()}
        known: dict[str, Any] = {
            "soak": lambda host: soaks()[host], "terms": terms, "decide": given.append,
            "starts": lambda: None, "arrival": lambda left_out: Arrived({}),  # no ledger and no G1 was kept with it
        }  # fmt: skip
        body = bodies(GATES["G4"])[item.clause]
        body(**{name: known.get(name, thing) for name in inspect.signature(body).parameters})
        [one] = given
        found.append({
            "clause": item.clause, "subject": item.subject, "outcome": str(one.outcome.value), "measured": str(one.measured),
            "remark": str(one.note or ""),
        })  # fmt: skip
    return found


if __name__ == "__main__":
    (FOLDER / "expected.json").write_text(json.dumps(judged(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    (FOLDER / "soak.svg").write_bytes(picture(soaks(), Reader("en")))
