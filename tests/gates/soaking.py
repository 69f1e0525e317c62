"""Judges G4 on journals of the lab within this process: the same bodies, the same criteria, no network."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from checks.decision import Owed
from checks.parsers import soak_journal
from checks.soak.arrival import Arrived
from checks.soak.attempts import Start, Starts
from checks.soak.facts import HostSoak, condense
from checks.soak.track import gather, track
from checks.verdict import Outcome, Verdict
from kvgate.gate.options import GATES
from kvgate.inventory import reader
from kvgate.inventory.model import Rack
from kvgate.inventory.subjects import owed
from lab.inventory import text
from lab.rack import build, fingerprint, host_key
from lab.soak.faults import HOURS, SoakFault
from lab.soak.journal import segments
from lab.soak.plan import plan
from tests.gates import harness
from tests.gates.harness import agreement, bodies

#: As the lab's soak is shorter, so is what is asked of it; everything else is as agreed.
SHORTER = {"hours": HOURS - 0.5}
SCALE, COARSE, STEP = 960.0, 120.0, 30.0


def read(texts: Sequence[str]) -> HostSoak:
    """Read segments to facts, as a gate does."""
    return condense(track(*gather(soak_journal.parse(one) for one in texts)))


@cache
def rack() -> Rack:
    hosts = build(1, "rocm", ())
    ordered = [(host.ordered, 42200 + at, fingerprint(host_key(host.name))) for at, host in enumerate(hosts)]
    return reader.parse(text(ordered)).rack


@cache
def array() -> HostSoak:
    return read(segments(plan("fx100-a", "array", HOURS, SCALE, COARSE), 1))


def node(fault: SoakFault | None = None, until: float | None = None) -> HostSoak:
    """A node's soak with a fault; ``until``: no further than so many seconds."""
    count, longest = fault.policy if fault is not None else (0, 0.0)
    policy = {"interruption": "resume" if count else "restart_clock", "interruptions": count, "longest": longest}
    hours = HOURS + (fault.spare if fault is not None else 0.0)
    platform = (fault.platform if fault is not None else "") or "rocm"
    order = plan("node-01", "node", hours, SCALE, COARSE, policy, platform)
    return ran(order, read(segments(order, 1, fault.troubles if fault is not None else (), until, STEP)))


#: Digest of the plan in a journal -> digest of the plan that was laid out and written down: another one where it was changed.
LAID_OUT: dict[str, str] = {}


def ran(order: Mapping[str, Any], soak: HostSoak) -> HostSoak:
    """Note which plan was laid out for a soak."""
    text = json.dumps(order, sort_keys=True, separators=(",", ":"))
    LAID_OUT[soak.plan.digest] = hashlib.sha256(text.encode()).hexdigest()
    return soak


@cache
def arrived(fault: str = "") -> Arrived:
    """G1 asked again of the virtual rack: healthy, or with a fault of G1."""
    clauses = agreement().acceptance.clauses
    left_out = clauses["G4.4.5"].limits["left_out"].value
    assert isinstance(left_out, (list, tuple))
    found = harness.judge((fault,) if fault else (), "rocm", 1).verdicts
    return Arrived({
        item[:2]: verdict for item, verdict in found.items()
        if item.blocking and clauses[item.clause].answer == "measured" and item.clause not in left_out
    })  # fmt: skip


def judge(
    soaks: Mapping[str, HostSoak], ordered: Rack | None = None, limits: Mapping[str, Any] = SHORTER, arrival: str = ""
) -> dict[Owed, Verdict]:
    """Verdict of every clause of G4 on every subject of a rack; ``limits`` stand in place of those that were agreed, ``arrival`` is
    a fault of G1 that the hosts have when the soak has ended.
    """
    found: dict[Owed, Verdict] = {}
    clauses = agreement().acceptance
    for item, thing in owed(clauses, ordered or rack(), "G4"):
        terms: dict[str, Any] = {name: limit.value for name, limit in clauses.clauses[item.clause].limits.items()}
        terms |= {name: value for name, value in limits.items() if name in terms}
        body = bodies(GATES["G4"])[item.clause]
        given: list[Verdict] = []
        known = {
            "soak": lambda host: soaks[host],
            "starts": lambda: started(soaks),
            "arrival": lambda left_out: arrived(arrival),
            "terms": terms,
            "decide": given.append,
        }
        body(**{name: known.get(name, thing) for name in inspect.signature(body).parameters})
        assert len(given) == 1
        found[item] = given[0]
    return found


def started(soaks: Mapping[str, HostSoak]) -> Starts:
    """The ledger's list where each of these soaks was written down when it began."""
    plans: dict[str, dict[str, str]] = {}
    for host, one in soaks.items():
        plans.setdefault(one.plan.soak, {})[host] = LAID_OUT.get(one.plan.digest, one.plan.digest)
    begun = datetime.fromtimestamp(min(one.begun_utc for one in soaks.values()) / 1e6, UTC).isoformat()
    return Starts(tuple(Start(name, begun, plans=hosts, begun=begun) for name, hosts in plans.items()))


def clauses(verdicts: Mapping[Owed, Verdict], outcome: Outcome) -> set[str]:
    return {item.clause for item, verdict in verdicts.items() if verdict.outcome is outcome}


def told(verdicts: Mapping[Owed, Verdict]) -> str:
    return "\n".join(
        f"{item.clause} {item.subject} {one.outcome}: {one.measured}; required {one.required}; {one.note}"
        for item, one in verdicts.items()
        if one.outcome is not Outcome.PASS
    )
