"""What interrupts a soak, and which cause explains which: the table of precedence (runbooks/g4-soak.md, decisions/0011)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: Which cause a minute is named by when several hold that do not explain each other: the rack before the watching, the load last.
PRECEDENCE = ("array", "link", "disk", "mount", "engine", "reboot", "suspended", "worker", "full", "stopped", "load")

#: Causes that are faults of the rack: no policy passes over them.
RACK = frozenset({"array", "link", "disk", "mount", "engine"})

#: Causes that the policy may pass over: none of them is a fault of array, link or engine.
OUTSIDE = frozenset(PRECEDENCE) - RACK

#: Seconds after the first line of a boot in which controllers, ports and mounts come back: what is away until then is the boot's.
SETTLING = 600.0

#: Cause -> the causes that it explains where they begin with it. A booted machine has new processes, connects, mounts and loads
#: anew; a worker that was killed, had no room, slept or was stopped makes no load; an engine that is gone answers none.
EXPLAINS: Mapping[str, frozenset[str]] = {
    "reboot": RACK | {"load", "worker", "suspended", "full"},
    "suspended": frozenset({"load"}),
    "worker": frozenset({"load"}),
    "full": frozenset({"load"}),
    "stopped": frozenset({"load"}),
    "engine": frozenset({"load"}),
}


@dataclass(frozen=True, slots=True)
class Outage:
    """From ``begin`` to ``end``, in seconds of the soak, something was away; ``detail`` names it."""

    cause: str
    begin: float
    end: float
    detail: str


def leading(found: Iterable[Outage]) -> Outage:
    """The outage that names a minute in which several are. Raises ValueError for none."""
    return min(found, key=lambda one: (PRECEDENCE.index(one.cause), one.begin))


@dataclass(frozen=True, slots=True)
class Reach:
    """How far from a break, in seconds, its consequences are seen.

    They begin no more than ``before`` it and ``after`` its end, and last no longer than ``longest`` after its end.
    """

    before: float
    after: float
    longest: float


def explained(one: Outage, cause: str, begin: float, end: float, reach: Reach) -> Iterable[Outage]:
    """Give to ``cause``, which held from ``begin`` to ``end``, what it explains of an outage; the rest stays what it was."""
    apart = one.end < begin or one.begin > end + reach.after
    if apart or one.cause not in EXPLAINS.get(cause, frozenset()):
        yield one
        return
    if begin - one.begin > reach.before:
        yield Outage(one.cause, one.begin, begin, one.detail)
    until = min(one.end, end + reach.longest)
    yield Outage(cause, begin, until, one.detail)
    if one.end > until:
        yield Outage(one.cause, until, one.end, one.detail)
