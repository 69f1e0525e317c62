"""The commands that messages of a campaign name, whole: what they say can be typed."""

from __future__ import annotations

from checks.phrase import Phrase, say
from kvgate.ledger.rows import RunRecord


def to_run(gate: str) -> str:
    """Return how a gate is run so that its PASS can be certified; every gate but the first makes load."""
    load = "" if gate == "G1" else " --allow-load"
    return f"pytest -m {gate} --inventory FILE{load} --key FILE --party NAME"


def to_resume(gate: str) -> str:
    """Return how the last attempt of a gate is taken up where it ended."""
    return f"{to_run(gate)} --only-stale"


def to_begin_anew(run: RunRecord) -> Phrase:
    """Say what to do about a run that was begun unsigned: a ticket counts attempts only when it was signed before the run asked."""
    if run.state == "started":
        return say(
            "close it (kvgate close {run} --reason '...') and begin anew: {command}",
            run=run.id,
            command=to_run(run.gate),
        )
    return say("begin anew, without --only-stale: {command}", command=to_run(run.gate))
