"""Did a clock go backwards? What was written later must not be earlier; order itself is held by numbers and hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from kvgate.ledger.findings import Finding
from kvgate.ledger.rows import RunRecord, StoredDecision

#: Seconds by which the clock of one machine may be corrected, and by which those of two machines may differ.
ONE_MACHINE, TWO_MACHINES = 2.0, 60.0


def findings(runs: Sequence[RunRecord], entries: Sequence[StoredDecision]) -> Iterator[Finding]:
    """Yield each event that is earlier than one that was certainly written before it."""
    hosts = {run.id: run.host for run in runs}
    decided = {entry.hash: entry for entry in entries}
    for before, run in pairwise(runs):
        yield from _compare(f"run {run.id}", run.started, run.host, f"run {before.id}", before.started, before.host)
    for run in runs:
        if (entry := decided.get(run.prev)) is not None:
            host = hosts.get(entry.run, "")
            yield from _compare(f"run {run.id}", run.started, run.host, f"decision {entry.seq}", entry.utc, host)
    started = {run.id: run.started for run in runs}
    for entry in entries:
        if entry.run in started:
            host = hosts[entry.run]
            yield from _compare(f"decision {entry.seq}", entry.utc, host, "its run", started[entry.run], host)
    for earlier, entry in pairwise(entries):
        one, other = hosts.get(entry.run, ""), hosts.get(earlier.run, "")
        yield from _compare(f"decision {entry.seq}", entry.utc, one, f"decision {earlier.seq}", earlier.utc, other)


def _compare(what: str, utc: str, host: str, before: str, then: str, other: str) -> Iterator[Finding]:
    allowed = ONE_MACHINE if host == other else TWO_MACHINES
    try:
        back = (datetime.fromisoformat(then) - datetime.fromisoformat(utc)).total_seconds()
    except (ValueError, TypeError):
        yield Finding("row", what, f"{what} was changed: {utc!r:.40} or {then!r:.40} is no time")
        return
    if back > allowed:
        text = (
            f"the clock went backwards: {what} is dated {utc}, {back:.0f} s before {before}, which was written earlier"
        )
        yield Finding("clock", what, text)
