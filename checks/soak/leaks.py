"""When nothing is lost bit by bit: memory and descriptors of the host and of every process, restarts or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from checks.phrase import Phrase, say
from checks.soak.facts import HostSoak
from checks.soak.gauges import Gauge
from checks.soak.judging import finished, untold, when
from checks.statistics.steadiness import FEWEST, slope_within, trend
from checks.verdict import Quantity, Verdict

_NAMED = 4


@dataclass(frozen=True, slots=True)
class _Growth:
    """One value's growth in percent; ``at`` is the minute from which it is told, None for the whole soak."""

    percent: float
    told: Phrase
    at: int | None


def memory_kept(soak: HostSoak, percent: float, least: int) -> Verdict:
    """Free memory does not shrink and no process grows, between restarts as little as across them."""
    required = say("at most {percent:g} percent over the soak", percent=percent)
    rows = [(one, -1) for one in soak.gauge("memory", "MemAvailable")]
    rows += [(one, 1) for stream in ("process", "worker") for one in soak.gauge(stream, "rss_bytes")]
    return _leak(soak, rows, "memory", "rss_bytes", required, percent, least)


def descriptors_kept(soak: HostSoak, percent: float, least: int) -> Verdict:
    """Neither the host's open files nor those of a process grow, between restarts as little as across them."""
    required = say("at most {percent:g} percent over the soak", percent=percent)
    rows = [(one, 1) for one in soak.gauge("load", "files")]
    rows += [(one, 1) for stream in ("process", "worker") for one in soak.gauge(stream, "fds")]
    return _leak(soak, rows, "load", "fds", required, percent, least)


def _leak(
    soak: HostSoak, rows: Sequence[tuple[Gauge, int]], stream: str, field: str, required: Phrase, percent: float, least: int
) -> Verdict:  # fmt: skip
    if (why := untold(soak, (stream,), required)) is not None:
        return why
    wanted = max(least, FEWEST)
    weighed = [(one, sign) for one, sign in rows if len(one.hours) >= wanted and median(v for _, v in one.hours) > 0]
    found = [(growth, one) for one, sign in weighed for growth in _growths(one, sign, wanted)]
    if not found:
        return Verdict.undecided(say("fewer than {least} hours of values", least=wanted), required)
    # Of several that are too large, the one that names its minute.
    worst, one = max(found, key=lambda pair: (pair[0].percent > percent and pair[0].at is not None, pair[0].percent))
    measured = say(
        "{stream} {subject} {field}: {worst:+.2f} % {how}",
        stream=one.stream, subject=one.subject, field=one.field, worst=worst.percent, how=worst.told,
    )  # fmt: skip
    quantities = (Quantity("growth", worst.percent, "%"),)
    note = say("from {when}", when=when(worst.at)) if worst.at is not None else None
    if worst.percent > percent:
        return Verdict.of(False, measured, required, "%", note=note, quantities=quantities)
    told = {(one.stream, one.subject) for one, _ in weighed}
    units = soak.plan.streams["process"].subjects if "process" in soak.plan.streams else ()
    dark = [f"{unit} {field}" for unit in units if ("process", unit) not in told]
    dark += [f"{one.subject} {one.field}" for one, _ in weighed if _hidden(one, wanted)]
    if dark:
        note = say(
            "{what}: no {least} hours between restarts, beside those in which it fills, to tell a leak by",
            what=", ".join(dark[:_NAMED]), least=wanted,
        )  # fmt: skip
        return Verdict.undecided(note, required, measured)
    return finished(soak, Verdict.of(True, measured, required, "%", quantities=quantities))


def _growths(one: Gauge, sign: int, least: int) -> Iterable[_Growth]:
    """What grew, told in each way in which a leak shows.

    Over the whole soak; between restarts, as if there were none; within each long stretch; and in what is left after a restart.
    """
    hours = [float(hour) for hour, _ in one.hours]
    whole = trend(hours, [value for _, value in one.hours])
    yield _Growth(sign * whole.change_percent, say("over the whole soak"), None)
    middle = median(value for _, value in one.hours)
    span = hours[-1] - hours[0]
    parts = [([at for at, _ in part.hours], [value for _, value in part.hours]) for part in one.stretches]
    if any(len(times) >= FEWEST for times, _ in parts):
        within = sign * slope_within(parts) * span / middle * 100
        yield _Growth(within, say("over the soak by its growth between {count} restarts", count=len(parts) - 1), None)
    for part, (times, values) in zip(one.stretches, parts, strict=True):
        if len(times) >= least and median(values) > 0:
            grown = sign * trend(times, values).change_percent
            yield _Growth(grown, say("in one stretch without a restart"), int(part.begin // 60))
    floors = [(part.begin, part.floor) for part in one.stretches if part.floor is not None]
    for number, (begin, floor) in enumerate(floors[1:], start=1):
        before = min(sign * earlier for _, earlier in floors[:number])
        yield _Growth((sign * floor - before) / middle * 100, say("left after a restart"), int(begin // 60))


def _hidden(one: Gauge, least: int) -> bool:
    """Whether restarts leave too little of a value to tell a leak between them."""
    return len(one.stretches) > 1 and sum(len(part.hours) for part in one.stretches) < least
