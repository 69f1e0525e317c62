"""What remains of a host's soak when it is judged: small, the same whether one machine read it or many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.probe import UnreadableOutput
from checks.soak.accounting import Account, account
from checks.soak.asked import SERVING
from checks.soak.causes import Outage
from checks.soak.counters import Counted, counted
from checks.soak.gauges import Clock, Gauge, clock, gauges, standing
from checks.soak.log import Log, log
from checks.soak.outages import outages
from checks.soak.plan import Plan
from checks.soak.requests import Requests, requests
from checks.soak.sampling import Sampled, sampled
from checks.soak.track import Break, Doing, Step, Track


@dataclass(frozen=True)
class HostSoak:
    """One host's soak. ``requests`` by load, or why they cannot be read; minutes and seconds count from the soak's begin."""

    plan: Plan
    account: Account
    sampled: tuple[Sampled, ...]
    outages: tuple[Outage, ...]
    breaks: tuple[Break, ...]
    steps: tuple[Step, ...]
    boots: tuple[str, ...]
    last: float
    begun_utc: int
    counted: Mapping[str, Counted]
    log: Log | None
    gauges: tuple[Gauge, ...]
    clock: Clock | None
    requests: Mapping[str, Requests | str]
    loads: tuple[Doing, ...]
    first: Mapping[tuple[str, str, str], str]
    final: Mapping[tuple[str, str, str], str]
    gone: bool = False  # the journal has no end, and the host said that the worker lives no more

    @property
    def running(self) -> bool:
        """Whether the journal has not come to its end."""
        return not self.account.ended

    def gauge(self, stream: str, field: str) -> tuple[Gauge, ...]:
        """Every subject's value of one field."""
        return tuple(one for one in self.gauges if (one.stream, one.field) == (stream, field))


def condense(track: Track) -> HostSoak:
    """Everything that the clauses ask of one host's journal. Raises UnreadableOutput for events that cannot be read."""
    return HostSoak(
        plan=track.plan,
        account=account(track),
        sampled=sampled(track),
        outages=tuple(outages(track)),
        breaks=track.breaks,
        steps=track.steps,
        boots=track.boots,
        last=track.last,
        begun_utc=track.begun_utc,
        counted=counted(track),
        log=log(track),
        gauges=gauges(track),
        clock=clock(track),
        requests=_requests(track),
        loads=track.loads,
        first=standing(track, last=False),
        final=standing(track, last=True),
        gone=track.gone,
    )


def _requests(track: Track) -> dict[str, Requests | str]:
    found: dict[str, Requests | str] = {}
    for load in track.plan.loads:
        if not load.name.startswith(SERVING):
            continue
        try:
            one = requests(track, load.name)
        except UnreadableOutput as error:
            found[load.name] = str(error)
        else:
            if one is not None:
                found[load.name] = one
    return found
