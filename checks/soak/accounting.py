"""A state for every minute of a host's soak, and how much of it counts. No minute is left out and none is given for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from checks.soak.causes import OUTSIDE, Outage, leading
from checks.soak.outages import outages, scheduled
from checks.soak.plan import Policy
from checks.soak.sampling import gaps
from checks.soak.track import Track


class State(StrEnum):
    """What a minute was. AHEAD: the journal does not reach it yet."""

    RUNNING = "RUNNING"
    SCHEDULED = "SCHEDULED"
    RESUMED = "RESUMED"
    GAP = "GAP"
    INTERRUPTED = "INTERRUPTED"
    AHEAD = "AHEAD"


#: Minutes of these states count.
COUNTED = frozenset({State.RUNNING, State.SCHEDULED, State.RESUMED})

#: Which cause an end is that nobody asked for.
_ENDED = {"full": "full", "vanished": "worker"}

#: Seconds for which nothing may be known before a minute counts as interrupted.
_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Span:
    """Minutes [begin, end) of one state; ``cause`` of an interruption, ``detail`` what showed it first."""

    state: State
    begin: int
    end: int
    cause: str = ""
    detail: str = ""

    @property
    def minutes(self) -> int:
        """How many minutes it has."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Account:
    """Every minute of the plan, as spans without a hole. ``ended`` is why the worker ended, empty while it runs."""

    spans: tuple[Span, ...]
    policy: Policy
    ended: str

    def of(self, *states: State) -> tuple[Span, ...]:
        """Spans of these states."""
        return tuple(span for span in self.spans if span.state in states)

    def minutes(self, *states: State) -> int:
        """Minutes of these states."""
        return sum(span.minutes for span in self.of(*states))

    @property
    def planned(self) -> int:
        """Minutes of the whole plan."""
        return self.spans[-1].end if self.spans else 0

    def stretch(self) -> tuple[Span, ...]:
        """The spans of the stretch that counts most: between interruptions that the policy does not pass over."""
        best: tuple[Span, ...] = ()
        for begin in range(len(self.spans)):
            passed, end = 0, begin
            while end < len(self.spans) and self.spans[end].state is not State.AHEAD:
                span = self.spans[end]
                if span.state is State.INTERRUPTED:
                    passed += 1
                    if not passable(span, self.policy) or passed > self.policy.interruptions:
                        break
                end += 1
            if _counted(self.spans[begin:end]) > _counted(best):
                best = self.spans[begin:end]
        return best

    @property
    def qualified(self) -> int:
        """Minutes that count."""
        return _counted(self.stretch())

    def counted(self) -> frozenset[int]:
        """The minutes that count, by number."""
        return frozenset(
            minute for span in self.stretch() if span.state in COUNTED for minute in range(span.begin, span.end)
        )


def passable(span: Span, policy: Policy) -> bool:
    """Whether the policy passes over this interruption: the watching was broken, not the rack, and not for long."""
    return policy.interruption == "resume" and span.cause in OUTSIDE and span.minutes * 60 <= policy.longest


def _counted(spans: Iterable[Span]) -> int:
    return sum(span.minutes for span in spans if span.state in COUNTED)


def account(track: Track) -> Account:
    """Give every minute of the plan its state."""
    total = track.plan.minutes
    reached = min(total, int(track.last // 60) + (1 if track.ended else 0))
    if track.ended and track.ended != "planned":
        reached = total
    planned = _minutes(scheduled(track), total)
    states: list[tuple[State, str, str]] = [(State.RUNNING, "", "")] * reached
    for minute in (minute for minute in planned if minute < reached):
        states[minute] = (State.SCHEDULED, "", "")
    for minute in _minutes(gaps(track), reached):
        states[minute] = (State.GAP, "", "")
    for minute, found in _interrupted(track, reached).items():
        states[minute] = (State.INTERRUPTED, found.cause, found.detail)
    for minute, (state, _, _) in enumerate(states[1:], start=1):
        if states[minute - 1][0] is State.INTERRUPTED and state is State.RUNNING:
            states[minute] = (State.RESUMED, "", "")
    for pause in track.breaks:
        if pause.end - pause.begin > _PAUSE:  # one that has not ended is among them
            continue
        minute = int(pause.end // 60)
        if minute < reached and states[minute][0] is State.RUNNING:
            states[minute] = (State.RESUMED, "", "")
    states += [(State.AHEAD, "", "")] * (total - reached)
    return Account(tuple(_spans(states)), track.plan.policy, track.ended)


def _interrupted(track: Track, reached: int) -> dict[int, Outage]:
    found: dict[int, Outage] = {}
    everything = [
        *outages(track),
        *(
            Outage(one.cause, one.begin, one.end, "")
            for one in track.breaks
            if one.cause == "reboot" or one.end - one.begin > _PAUSE
        ),
    ]
    if track.ended and track.ended != "planned":
        everything.append(Outage(_ENDED.get(track.ended, "stopped"), track.last, track.plan.seconds, track.ended))
    for one in sorted(everything, key=lambda one: one.begin):
        for minute in _minutes([(one.begin, one.end)], reached):
            found[minute] = leading((found[minute], one)) if minute in found else one
    return found


def _minutes(spans: Iterable[tuple[float, float]], total: int) -> list[int]:
    """Minutes that spans of seconds touch; less than a second of a span's end is no minute."""
    found: set[int] = set()
    for begin, end in spans:
        last = total - 1 if end == float("inf") else int(max(begin, end - 1.0) // 60)
        found.update(range(max(0, int(begin // 60)), min(total - 1, last) + 1))
    return sorted(found)


def _spans(states: Sequence[tuple[State, str, str]]) -> Iterable[Span]:
    begin = 0
    for (state, cause), group in groupby(states, key=lambda one: one[:2]):
        found = list(group)
        yield Span(state, begin, begin + len(found), cause, found[0][2])
        begin += len(found)
