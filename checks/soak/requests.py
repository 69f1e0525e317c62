"""What the serving load gave, hour by hour: documents of kvgate's own client, or one JSON object a line (runbooks/soak-journal.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checks.soak.asked import Row, rows_of
from checks.soak.causes import SETTLING
from checks.soak.outages import gaps, merged, scheduled
from checks.soak.tables import LINES
from checks.soak.track import Track


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the serving load at one concurrency: requests that count, seconds to the first token, tokens a second.

    An hour in which the load ran and no request was answered has 0 requests, 0 tokens and NaN times, at the concurrency before.

    ``seconds`` is the time that counts: without planned restarts and without what the journal does not hold.
    """

    hour: int
    concurrency: int
    requests: int
    ttft_p50: float
    ttft_p99: float
    tokens_per_second: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Requests:
    """All requests of a host. ``failed`` stand outside planned restarts and reboots; ``first_failed`` is the minute of the first.

    ``untold`` are seconds of runs that are over and whose document is not there.
    """

    load: str
    hours: tuple[Hour, ...]
    total: int
    failed: int
    first_failed: int | None
    in_restarts: int
    untold: float = 0.0


def requests(track: Track, load: str) -> Requests | None:
    """Read the requests of a load; None where the journal holds none. Raises UnreadableOutput for what is no request."""
    found = rows_of(track, load)
    if not found:
        return None
    away = [*scheduled(track), *_booting(track, found)]
    # A request that was under way when the engine was taken down failed for that, though it was made before.
    counted = [
        row for row in found if not any(begin - (0.0 if row[2] else row[3]) <= row[0] <= end for begin, end in away)
    ]
    failed = [row[0] for row in counted if not row[2]]
    # Time in which nobody asked is an interruption, told as such: it is no slow hour of whoever would have answered.
    unasked = [(one.begin, one.end) for one in gaps(track) if one.detail == load]
    untold = list(_untold(track, load))
    breaks = [(one.begin, one.end) for one in track.breaks]
    return Requests(
        load=load,
        hours=tuple(_hours(counted, merged([*away, *unasked, *untold, *breaks]), _runs_until(track, load))),
        untold=sum(end - begin for begin, end in merged(untold) if end < track.last),
        total=len(counted),
        failed=len(failed),
        first_failed=int(failed[0] // 60) if failed else None,
        in_restarts=len(found) - len(counted),
    )


def _booting(track: Track, rows: list[Row]) -> Iterable[tuple[float, float]]:
    """From each reboot until somebody is answered again, at most as long as the policy passes over."""
    longest = max(SETTLING, track.plan.policy.longest)
    for one in track.breaks:
        if one.cause == "reboot":
            answered = min((row[0] for row in rows if row[0] >= one.end and row[2]), default=np.inf)
            yield one.begin, min(answered, one.end + longest)


def _runs_until(track: Track, load: str) -> float:
    """Until when a load that is always begun anew should have been answered; 0 for one that runs now and then."""
    always = any(one.again for one in track.plan.loads if one.name == load)
    return min(track.last, track.plan.seconds) if always else 0.0


def _untold(track: Track, load: str) -> Iterable[tuple[float, float]]:
    """Times of runs that tell of their requests only when they are over, and that did not, or have not yet."""
    table = track.tables.get(LINES)
    if table is not None and (table.subject == load).any():
        return  # told line by line
    begun: float | None = None
    for one in (one for one in track.loads if one.name == load):
        if one.what == "begin":
            if begun is not None:
                yield begun, one.at
            begun = one.at
        elif one.what == "end" and begun is not None:
            if not str(one.fields.get("stdout") or "").strip():
                yield begun, one.at
            begun = None
    if begun is not None:
        yield begun, track.last


def _hours(rows: list[Row], away: Iterable[tuple[float, float]], until: float) -> Iterable[Hour]:
    if not rows:
        return
    data = np.array(rows, dtype=np.float64)
    hour, concurrency = (data[:, 0] // 3600).astype(int), data[:, 1].astype(int)
    windows, before = list(away), int(concurrency[0])
    over = max(until, float(data[-1, 0]))
    for number in range(int(over // 3600) + 1):
        here = hour == number
        begin, end = number * 3600.0, min(number * 3600.0 + 3600.0, over)
        lost = sum(max(0.0, min(end, last) - max(begin, first)) for first, last in windows)
        if until and not (here & (data[:, 2] == 1)).any() and end - begin - lost > 0 and end > float(data[0, 0]):
            yield Hour(number, before, 0, np.nan, np.nan, 0.0, end - begin - lost)
        before = int(concurrency[here][-1]) if here.any() else before
        for level in sorted(set(concurrency[here].tolist())):
            mine = here & (concurrency == level) & (data[:, 2] == 1)
            if not mine.any():
                continue
            span = end - begin - lost
            if len(set(concurrency[here].tolist())) > 1:  # the rota changed within the hour: its own part of it
                span = float(np.ptp(data[here & (concurrency == level), 0]))
            ttft = data[mine, 3]
            rate = float(data[mine, 4].sum()) / span if span > 0 else np.nan
            p50, p99 = (float(one) for one in np.percentile(ttft, (50, 99)))
            yield Hour(number, level, int(mine.sum()), p50, p99, rate, max(span, 0.0))
