"""What one host's journal tells, on the clock of the soak: samples by stream, loads, and what happened to the journal itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from checks.parsers.soak_journal import Fields, Line, Segment
from checks.parsers.soak_state import Exit, Moment, SoakState
from checks.probe import UnreadableOutput
from checks.soak import plan as plans
from checks.soak.controllers import Renamed, settled
from checks.soak.plan import Plan
from checks.soak.tables import Numbers, Table, joined, microseconds, tables, tells


@dataclass(frozen=True, slots=True)
class Break:
    """The journal was not written from ``begin`` to ``end`` (seconds of the soak): ``reboot``, ``worker``, ``suspended``, ``full``."""

    cause: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Step:
    """The wall clock moved by ``seconds`` against the monotonic clock at ``at`` seconds of the soak."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Doing:
    """One line of a load: ``what`` is begin, line, end or missed; ``fields`` as in the journal."""

    at: float
    name: str
    what: str
    fields: Fields


@dataclass(frozen=True)
class Track:
    """One host's soak. Seconds of the soak count from its begin. ``ended`` is why the worker ended, empty while it runs.

    ``gone``: it did not end, and its host said that it lives no more. ``renamed``: controllers that were connected anew within one boot.
    ``known``: times that were worked out once and are asked again and again.
    """

    plan: Plan
    tables: Mapping[str, Table]
    seconds: Mapping[str, Numbers]
    breaks: tuple[Break, ...]
    steps: tuple[Step, ...]
    loads: tuple[Doing, ...]
    last: float
    ended: str
    begun_utc: int
    boots: tuple[str, ...]
    gone: bool = False
    renamed: tuple[Renamed, ...] = ()
    known: dict[str, tuple[tuple[float, float], ...]] = field(default_factory=dict, compare=False, repr=False)


def gather(segments: Iterable[Segment]) -> tuple[list[Line], dict[str, Table]]:
    """The story and the samples of a host's segments in order. Raises UnreadableOutput where one does not follow the other."""
    story: list[Line] = []
    parts: dict[str, list[Table]] = {}
    after = 0
    for segment in segments:
        if segment.lines[0].seq != after + 1:
            raise UnreadableOutput(
                f"a segment begins with line {segment.lines[0].seq}, wanted {after + 1}: lines are missing"
            )
        after = segment.lines[-1].seq
        story += [line for line in segment.lines if line.kind != "sample" and tells(line)]
        for stream, table in tables(segment.lines).items():
            parts.setdefault(stream, []).append(table)
    return story, {stream: joined(found) for stream, found in parts.items()}


def track(story: Sequence[Line], samples: Mapping[str, Table], state: SoakState | None = None) -> Track:
    """Place everything on the clock of the soak; ``state`` is what the host said of the worker, for a journal without its end.

    Raises UnreadableOutput for a journal without its begin, of two soaks, or that is not all that the worker says to have written.
    """
    if not story or story[0].kind != "begin":
        raise UnreadableOutput("the journal has no begin: its first segment is missing")
    text = story[0].values.get("plan", {}).get("text")
    if not isinstance(text, str):
        raise UnreadableOutput("the journal's begin holds no plan")
    plan = plans.parse(text)
    _same(story, plan)
    clock = _Clock(story, plan.scale)
    renamed: tuple[Renamed, ...] = ()
    if "nvme" in samples:
        controllers, renamed = settled(samples["nvme"])
        samples = {**samples, "nvme": controllers}
    seconds = {stream: clock.of(table) for stream, table in samples.items()}
    told = [float(found.max()) for found in seconds.values() if len(found)]
    ends = [line for line in story if line.kind == "end"]
    ended = str(ends[-1].values.get("end", {}).get("why", "")) if ends else ""
    left = None if ended or state is None else _left(state, plan, story, samples)
    return Track(
        plan=plan,
        tables=samples,
        seconds=seconds,
        breaks=(*_breaks(story, samples, seconds, clock), *_unwritten(left, clock)),
        steps=tuple(Step(clock.at(line), _float(line.values["soak"], "stepped")) for line in _events(story, "clock")),
        loads=tuple(_doings(story, clock)),
        last=max([*told, *(clock.at(line) for line in story)]),
        ended=left.why if left is not None else ended,
        begun_utc=microseconds(story[0].utc),
        boots=clock.boots,
        gone=not ended and state is not None and state.state == "vanished",
        renamed=renamed,
    )


def _left(state: SoakState, plan: Plan, story: Sequence[Line], samples: Mapping[str, Table]) -> Exit | None:
    """What a worker left that could not write its end into the journal; None for one that has not ended."""
    if (state.soak, state.host) != (plan.soak, plan.host):
        raise UnreadableOutput(
            f"the host spoke of {state.soak}/{state.host}, the journal is of {plan.soak}/{plan.host}"
        )
    last = max([story[-1].seq, *(int(table.seq.max()) for table in samples.values() if len(table))])
    if state.exit is not None and state.exit.seq is not None and state.exit.seq != last:
        raise UnreadableOutput(
            f"the worker ended after line {state.exit.seq}, the journal here ends with line {last}: collect the rest"
        )
    return state.exit


def _unwritten(left: Exit | None, clock: _Clock) -> Iterable[Break]:
    """From when on nothing could be written any more."""
    if left is not None and left.full is not None and (since := clock.moment(left.full)) is not None:
        yield Break("full", since, np.inf)


class _Clock:
    """Seconds of the soak for a line: monotonic within a boot; a new boot is placed by the wall clock, less its known steps."""

    def __init__(self, story: Sequence[Line], scale: float) -> None:
        first = story[0]
        self._scale = scale
        self._base = {first.boot: (first.mono, 0.0)}
        begun, steps = microseconds(first.utc), 0.0
        self._asleep: list[tuple[int, str, float]] = []
        for line in story:
            if line.kind == "event" and line.stream == "soak":
                fields = line.values.get("soak", {})
                if fields.get("event") == "clock":
                    steps += _float(fields, "stepped")
                elif fields.get("event") == "suspended":
                    self._asleep.append((line.seq, line.boot, _float(fields, "seconds")))
            if line.boot not in self._base:
                wall = (microseconds(line.utc) - begun) / 1e6 - steps
                self._base[line.boot] = (line.mono, wall * scale)

    @property
    def boots(self) -> tuple[str, ...]:
        return tuple(self._base)

    def at(self, line: Line) -> float:
        mono, offset = self._base[line.boot]
        slept = sum(seconds for seq, boot, seconds in self._asleep if boot == line.boot and seq <= line.seq)
        return (line.mono - mono + slept) * self._scale + offset

    def moment(self, moment: Moment) -> float | None:
        """Seconds of the soak for a moment that stands in no line; None for a boot that no line knows."""
        if moment.boot not in self._base:
            return None
        mono, offset = self._base[moment.boot]
        slept = sum(seconds for _, boot, seconds in self._asleep if boot == moment.boot)
        return (moment.mono - mono + slept) * self._scale + offset

    def of(self, table: Table) -> Numbers:
        missing = [boot for boot in table.boots if boot not in self._base]
        if missing:
            raise UnreadableOutput(f"samples of boot {missing[0]}, which no line of the journal begins")
        bases = np.array([self._base[boot] for boot in table.boots])
        found: Numbers = (table.mono - bases[table.boot, 0]) * self._scale + bases[table.boot, 1]
        for seq, boot, seconds in self._asleep:
            if boot in table.boots:
                found += np.where(
                    (table.seq >= seq) & (table.boot == table.boots.index(boot)), seconds * self._scale, 0.0
                )
        return found


def _same(story: Sequence[Line], plan: Plan) -> None:
    for line in story:
        for name in ("soak", "segment"):
            fields = line.values.get(name, {}) if line.kind in ("begin", "segment", "resume") else {}
            for key, wanted in (("soak", plan.soak), ("host", plan.host), ("scale", plan.scale)):
                if key in fields and fields[key] != wanted:
                    raise UnreadableOutput(
                        f"line {line.seq} is of {key} {fields[key]}, the journal begins with {wanted}"
                    )


def _events(story: Sequence[Line], event: str) -> list[Line]:
    return [
        line for line in story
        if line.kind == "event" and line.stream == "soak" and line.values.get("soak", {}).get("event") == event
    ]  # fmt: skip


def _breaks(
    story: Sequence[Line], samples: Mapping[str, Table], seconds: Mapping[str, Numbers], clock: _Clock
) -> Iterable[Break]:
    for place, line in enumerate(story):
        if line.kind == "resume":
            now = clock.at(line)
            before = [
                float(seconds[stream][at - 1])
                for stream, table in samples.items()
                if (at := int(np.searchsorted(table.seq, line.seq))) > 0
            ] + [clock.at(one) for one in story[:place]]
            same = line.values.get("soak", {}).get("same_boot")
            yield Break("worker" if same is True else "reboot", min(max(before), now), now)
    for line in _events(story, "suspended"):
        now = clock.at(line)
        yield Break("suspended", now - _float(line.values["soak"], "seconds") * _scale(story), now)
    rooms = [clock.at(line) for line in _events(story, "room")]
    for line in _events(story, "full"):
        now = clock.at(line)
        yield Break("full", now, min((room for room in rooms if room >= now), default=np.inf))


def _scale(story: Sequence[Line]) -> float:
    return _float(story[0].values.get("soak", {}), "scale")


def _doings(story: Sequence[Line], clock: _Clock) -> Iterable[Doing]:
    for line in story:
        if line.kind == "event" and line.stream == "load":
            for name, fields in line.values.items():
                yield Doing(clock.at(line), name, str(fields.get("event")), fields)


def _float(fields: Fields, key: str) -> float:
    found = fields.get(key)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise UnreadableOutput(f"an event of the journal has {key} {found!r:.40}, wanted a number")
    return float(found)
