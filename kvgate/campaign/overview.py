"""A campaign at a glance: planned and actual weeks, what each gate came to and why it counts no more, and what is in the way now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from checks.phrase import Phrase
from checks.soak.attempts import Starts
from kvgate.campaign import order, scopes
from kvgate.campaign.order import Obstacle, Opening
from kvgate.campaign.standing import VALID, Attempt, Campaign, Elsewhere, moment
from kvgate.inventory.calendar import GATES, Planned
from kvgate.inventory.model import Rack

#: What makes a PASS of no use to the gates behind it; a missing signature is the next gate's matter.
_SPOILED = frozenset({"changed", "agreement"})


@dataclass(frozen=True, slots=True)
class GateView:
    """One gate: its plan, its attempts, the PASS that counts or would count, and every reason why it does not.

    ``taken`` is its newest PASS and the STOP that took it back, where no PASS counts.
    """

    gate: str
    planned: Planned | None
    attempts: tuple[Attempt, ...]
    passed: Attempt | None
    expires: datetime | None
    flaws: tuple[Obstacle, ...]
    taken: tuple[Attempt, Attempt] | None = None

    @property
    def spoiled(self) -> bool:
        """Whether it must be run again because rack or agreement are others."""
        return any(flaw.kind in _SPOILED for flaw in self.flaws)

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        return any(flaw.kind == "expired" for flaw in self.flaws)


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole campaign at one moment. ``next`` is None when all gates are passed."""

    name: str
    rack: Rack
    at: datetime
    begins: date
    weeks: int
    planned: bool
    fingerprint: str
    acceptance: str
    revisions: int
    gates: tuple[GateView, ...]
    stopping: tuple[Attempt, ...]
    next: Opening | None
    trusted: bool
    problems: tuple[str, ...]
    elsewhere: tuple[Elsewhere, ...] = ()
    loud: Phrase | None = None  # that other keys count than the first attempt fixed
    starts: Starts = field(default_factory=Starts)  # every soak that was begun

    @property
    def week(self) -> int:
        """Which week it is, from 1; 0 before the first."""
        return self.week_of(self.at.date())

    def week_of(self, day: date) -> int:
        """In which week a day lies: 0 before the first, beyond ``weeks`` after the last."""
        days = (day - self.begins).days
        return days // 7 + 1 if days >= 0 else 0


def overview(
    campaign: Campaign, rack: Rack, agreement: str, at: datetime, *, trusted: bool, problems: tuple[str, ...],
    changed: Obstacle | None = None, loud: Phrase | None = None, starts: Starts | None = None,
) -> Overview:  # fmt: skip
    """Put together what there is to see. ``changed`` and ``loud`` are what kvgate.campaign.frozen says of the parties' keys."""
    views = tuple(_view(campaign, gate, rack, agreement, at) for gate in GATES)
    gate = _next(views)
    plan = rack.calendar
    first = moment(campaign.attempts[0].run.started).date() if campaign.attempts else at.astimezone(UTC).date()
    return Overview(
        name=campaign.name,
        rack=rack,
        at=at,
        begins=plan.begins if plan is not None else first - timedelta(days=first.weekday()),
        weeks=plan.weeks if plan is not None else 10,
        planned=plan is not None,
        fingerprint=scopes.fingerprint(scopes.ordered(rack)),
        acceptance=agreement,
        revisions=len(campaign.revisions),
        gates=views,
        stopping=(*campaign.stopping(), *(one for other in campaign.elsewhere for one in other.stopping)),
        next=None if gate is None else _with(order.opening(campaign, gate, rack, agreement, at), changed),
        trusted=trusted,
        problems=(*problems, *(problem for one in campaign.attempts for problem in one.problems)),
        elsewhere=campaign.elsewhere,
        loud=loud,
        starts=starts or Starts(),
    )


def _with(found: Opening, changed: Obstacle | None) -> Opening:
    return found if changed is None else replace(found, obstacles=(changed, *found.obstacles))


def _view(campaign: Campaign, gate: str, rack: Rack, agreement: str, at: datetime) -> GateView:
    judged = [(one, tuple(order.flaws(campaign, one, rack, agreement, at))) for one in campaign.passes(gate)]
    passed, flaws = next(((one, bad) for one, bad in judged if not bad), judged[0] if judged else (None, ()))
    plan = None if rack.calendar is None else rack.calendar.of(gate)
    return GateView(
        gate, plan, tuple(campaign.of(gate)), passed, None if passed is None else passed.expires(rack), flaws,
        campaign.taken_back(gate),
    )  # fmt: skip


def _next(views: tuple[GateView, ...]) -> str | None:
    """Return the first gate without a PASS that is of use. One that ran out matters only while the gate behind it is not passed."""
    for place, view in enumerate(views):
        behind = views[place + 1 :]
        if view.passed is None or view.spoiled:
            return view.gate
        if view.expired and behind and behind[0].passed is None:
            return view.gate
    return None


def valid_days(view: GateView) -> int:
    """Days that a PASS of the gate counts."""
    return VALID if view.planned is None else view.planned.valid
