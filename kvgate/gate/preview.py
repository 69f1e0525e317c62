"""What a run would owe and ask: every clause, and every command on which host; contacts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.acceptance import Text
from checks.around.probes import surroundings
from checks.decision import Owed
from checks.probe import Level
from kvgate.gate import meeting
from kvgate.gate.body import GateTest
from kvgate.gate.session import GateSession

#: Stands in a plan for what is asked to tell this rack from another.
_IDENTITY = "identity"


@dataclass(frozen=True)
class Planned:
    """One line of a plan: a question to a host and the clauses that need it; ``instead``: only where another could not be told.

    ``follows``: its numbers will follow from what the host answers; these are those of a host that does not tell.
    """

    host: str
    command: str
    level: str
    samples: int
    clauses: tuple[str, ...]
    instead: bool = False
    follows: bool = False


@dataclass(frozen=True)
class Preview:
    """What a run would owe and ask."""

    gate: str
    owed: tuple[tuple[Owed, Text], ...]  # with what the clause says
    asked: tuple[Planned, ...]


def preview(session: GateSession, tests: Sequence[GateTest]) -> Preview:
    """Everything that is owed, and every command that would run where."""
    found: dict[tuple[str, str], tuple[str, int, list[str]]] = {}
    first: set[tuple[str, str]] = set()
    following: set[tuple[str, str]] = set()
    hosts: set[str] = set()
    for test in tests:
        rehearsal = session.rehearse([test])
        hosts |= rehearsal.hosts
        for need in rehearsal.needs:
            level, samples, clauses = found.get((need.host, need.key), (need.probe.level.value, 1, []))
            clauses.append(test.owed.clause)
            found[need.host, need.key] = (level, max(samples, need.samples), clauses)
            first |= set() if need.instead else {(need.host, need.key)}
        follows = session.following([test], None) if test.owed in rehearsal.following else []
        following |= {(step.host, step.probe.command()) for trial in follows for step in trial.everything}
        for trial in [*rehearsal.trials, *follows]:
            for host in trial.hosts:
                place = (host, surroundings().command())
                level, samples, clauses = found.get(place, (Level.PASSIVE.value, 1, []))
                found[place] = (level, max(samples, 2 * trial.rounds), [*clauses, test.owed.clause])
                first.add(place)
            for step in trial.everything:
                place = (step.host, step.probe.command())
                level, samples, clauses = found.get(place, (step.probe.level.value, 1, []))
                times = trial.rounds if step in trial.steps else 1
                found[place] = (level, max(samples, times), [*clauses, test.owed.clause])
                first.add(place)
    for need in meeting.identities(session.inventory.rack, meeting.met(session.gate, session.inventory.rack, hosts)):
        level, samples, clauses = found.get((need.host, need.key), (need.probe.level.value, 1, []))
        found[need.host, need.key] = (level, samples, [*clauses, _IDENTITY])
        first.add((need.host, need.key))
    asked = tuple(
        Planned(
            host,
            command,
            level,
            samples,
            tuple(dict.fromkeys(clauses)),
            instead=(host, command) not in first,
            follows=(host, command) in following,
        )
        for (host, command), (level, samples, clauses) in sorted(found.items())
    )
    owed = tuple((item, session.clause(item).text) for item, _ in session.owed)
    return Preview(session.gate, owed, asked)
