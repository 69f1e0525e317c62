"""What the ledger had of starts of soaks when a run of G4 took the journals: kept in its evidence, so that a replay judges by the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from checks.soak.attempts import Remembered, Start, Starts
from kvgate.evidence.store import Evidence
from kvgate.gate import noted

_REMEMBERED = ("host", "soak", "utc", "rack", "campaign")

#: Kind of the journal line that holds the list.
STARTS = "soak-starts"


def keep(evidence: Evidence, starts: Starts) -> None:
    """Take the list into the evidence; of several the newest counts, beside whatever hosts remembered before. Raises Unwritable."""
    if (before := kept(evidence)) is not None:
        remembered = tuple(dict.fromkeys((*before.remembered, *starts.remembered)))
        unasked = tuple(host for host in starts.unasked if host in before.unasked)
        starts = replace(starts, remembered=remembered, unasked=unasked)
    told = {"soaks": [asdict(one) for one in starts.soaks], "problems": list(starts.problems), "judged": starts.judged}
    told |= {"remembered": [asdict(one) for one in starts.remembered], "unasked": list(starts.unasked)}
    noted.keep(evidence, STARTS, told, count=len(starts.soaks))


def kept(evidence: Evidence | None) -> Starts | None:
    """The list as the evidence has it; None where a run kept none. Raises Damaged."""
    return None if evidence is None else noted.read(evidence, STARTS, "the starts of soaks", _starts)


def _starts(told: Mapping[str, Any]) -> Starts:
    soaks, problems = noted.rows(told, "soaks"), noted.rows(told, "problems")
    # Runs of earlier versions kept nothing of what hosts remember.
    remembered = noted.rows(told, "remembered") if "remembered" in told else []
    return Starts(
        tuple(_start(one) for one in soaks), tuple(map(str, problems)), str(told["judged"]),
        tuple(Remembered(**{key: str(one[key]) for key in _REMEMBERED}) for one in remembered),
        tuple(map(str, noted.rows(told, "unasked"))) if "unasked" in told else (),
    )  # fmt: skip


def _start(row: Mapping[str, object]) -> Start:
    plans, runs, signed, times = row["plans"], row["runs"], row["signed"], row["times"]
    if (
        not isinstance(plans, dict)
        or not isinstance(runs, list)
        or not isinstance(signed, list)
        or not isinstance(times, int)
    ):
        raise TypeError("a start of a soak is of another form")
    return Start(
        str(row["soak"]), str(row["started"]), times, {str(host): str(plan) for host, plan in plans.items()},
        str(row["begun"]), str(row["stopped"]), str(row["removed"]), tuple((str(run), str(came)) for run, came in runs),
        tuple(map(str, signed)), str(row.get("under", "")),
    )  # fmt: skip
