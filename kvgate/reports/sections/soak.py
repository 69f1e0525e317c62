"""A soak: every minute of every host, what happened in it, and how load, counters and temperatures went, hour by hour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checks.phrase import Phrase, say
from checks.soak.accounting import State
from checks.soak.facts import HostSoak
from checks.soak.log import HARMLESS
from checks.soak.requests import Requests
from kvgate.reports.charts import Bar, Chart, Mark, lines, timeline
from kvgate.reports.messages import Reader
from kvgate.reports.sections.section import Grid, Section
from kvgate.soak.lying import ending

#: States as people read them, in the order of a legend.
STATES: Mapping[State, Phrase] = {
    State.RUNNING: say("running"),
    State.SCHEDULED: say("planned restart"),
    State.RESUMED: say("resumed"),
    State.GAP: say("gap"),
    State.INTERRUPTED: say("interrupted"),
    State.AHEAD: say("ahead"),
}
_MARKS = 400  # that a timeline shows of a host
_ROWS = 500


def sections(soaks: Mapping[str, HostSoak], read: Reader) -> Iterator[Section]:
    """Yield the timeline, the load by hour, what moved, and every event."""
    if not soaks:
        return
    scales = sorted({soak.plan.scale for soak in soaks.values()} - {1.0})
    note = [read("TIME-SCALED by {scale:g}: hours of this soak are no hours.", scale=one) for one in scales]
    yield Section(
        read("The soak, minute by minute"),
        [*note, read("Minutes count from the begin of the soak on each host. Drag to zoom, double-click for all.")],
        [_account(soaks, read)],
        [_timeline(soaks, read)],
    )
    charts = list(_hours(soaks, read))
    if charts:
        yield Section(read("Load by hour"), charts=charts)
    yield Section(read("Temperatures, memory and room by hour"), charts=list(_gauges(soaks, read)))
    yield Section(read("Counters that moved"), grids=[_counters(soaks, read)])
    yield Section(read("Sampling"), grids=[_sampling(soaks, read)], folded=True)
    yield Section(read("Every event"), grids=[_events(soaks, read)], folded=True)


def _account(soaks: Mapping[str, HostSoak], read: Reader) -> Grid:
    heads = [read("host"), read("hours that count"), *(read.phrase(said) for said in STATES.values()), read("ended")]
    rows = [
        (
            host, f"{soak.account.qualified / 60:.2f}",
            *(str(soak.account.minutes(state)) for state in STATES), _ended(soak, read),
        )
        for host, soak in soaks.items()
    ]  # fmt: skip
    return Grid(heads, rows)


def _ended(soak: HostSoak, read: Reader) -> str:
    if soak.gone:
        return read("killed, and not resumed")
    return read.phrase(ending(soak.account.ended)) if soak.account.ended else read("still running")


def _timeline(soaks: Mapping[str, HostSoak], read: Reader) -> Chart:
    rows = {
        host: [
            Bar(span.begin / 60, span.end / 60, read.phrase(STATES[span.state]), f"{span.cause} {span.detail}".strip())
            for span in soak.account.spans
        ]
        for host, soak in soaks.items()
    }
    marks = {
        host: [Mark(minute / 60, text) for minute, _, text in list(_happened(soak, read))[:_MARKS]]
        for host, soak in soaks.items()
    }
    names = [read.phrase(said) for said in STATES.values()]
    return timeline(read("States and alarms"), rows, marks, names, read("hours"), read("alarm"))


def _hours(soaks: Mapping[str, HostSoak], read: Reader) -> Iterator[Chart]:
    p50: dict[str, list[tuple[float | str, float]]] = {}
    p99: dict[str, list[tuple[float | str, float]]] = {}
    rates: dict[str, list[tuple[float | str, float]]] = {}
    for host, soak in soaks.items():
        for load, found in soak.requests.items():
            for one in found.hours if isinstance(found, Requests) else ():
                name = f"{host} {load} c={one.concurrency}"
                p50.setdefault(name, []).append((float(one.hour), one.ttft_p50))
                p99.setdefault(name, []).append((float(one.hour), one.ttft_p99))
                rates.setdefault(name, []).append((float(one.hour), one.tokens_per_second))
    if p50:
        yield lines(read("Time to the first token, p50 of each hour"), p50, "s", read("hours"), read("series"))
        yield lines(read("Time to the first token, p99 of each hour"), p99, "s", read("hours"), read("series"))
        yield lines(read("Throughput of each hour"), rates, "tokens/s", read("hours"), read("series"))


def _gauges(soaks: Mapping[str, HostSoak], read: Reader) -> Iterator[Chart]:
    for title, stream, field, unit, size in (
        (read("Temperatures"), "thermal", "celsius", "C", 1.0),
        (read("Free memory"), "memory", "MemAvailable", "GiB", 2.0**30),
        (read("Memory of processes"), "process", "rss_bytes", "GiB", 2.0**30),
        (read("Open files of processes"), "process", "fds", "", 1.0),
        (read("Free room"), "space", "available", "TB", 1e12),
    ):
        series: dict[str, list[tuple[float | str, float]]] = {
            f"{host} {one.subject}": [(float(hour), value / size) for hour, value in one.hours]
            for host, soak in soaks.items()
            for one in soak.gauge(stream, field)
        }
        if series:
            yield lines(title, series, unit, read("hours"), read("series"))


def _counters(soaks: Mapping[str, HostSoak], read: Reader) -> Grid:
    rows = [
        (
            host, group, one.stream, one.subject, one.field, f"{one.by:+g}", "-" if one.minute is None else str(one.minute),
            "-" if one.back is None else str(one.back),
        )
        for host, soak in soaks.items()
        for group, counted in soak.counted.items()
        for one in counted.moved
    ]  # fmt: skip
    heads = [
        read("host"), read("group"), read("stream"), read("subject"), read("counter"), read("by"), read("first in minute"),
        read("backwards in minute"),
    ]  # fmt: skip
    return Grid(heads, rows[:_ROWS])


def _sampling(soaks: Mapping[str, HostSoak], read: Reader) -> Grid:
    rows = [
        (
            host, one.stream, one.subject or "-", str(one.wanted), str(one.got), f"{one.share * 100:.2f} %",
            f"{one.longest:.0f}", f"{one.at / 60:.0f}", one.why or "-",
        )
        for host, soak in soaks.items()
        for one in soak.sampled
    ]  # fmt: skip
    heads = [
        read("host"), read("stream"), read("worst subject"), read("due"), read("there"), read("share"), read("longest silence, s"),
        read("from minute"), read("remark"),
    ]  # fmt: skip
    return Grid(heads, rows)


def _events(soaks: Mapping[str, HostSoak], read: Reader) -> Grid:
    rows = [
        (str(minute), host, kind, text) for host, soak in soaks.items() for minute, kind, text in _happened(soak, read)
    ]
    rows.sort(key=lambda row: int(row[0]))
    return Grid([read("minute"), read("host"), read("kind"), read("what happened")], rows[:_ROWS])


def _happened(soak: HostSoak, read: Reader) -> Iterator[tuple[int, str, str]]:
    """Whatever a minute had beside its state: what was away, what the kernel wrote, steps of clocks, loads that failed."""
    found = [
        (
            int(one.begin // 60),
            one.cause,
            read("{what} away for {seconds:.0f} s", what=one.detail or one.cause, seconds=one.end - one.begin),
        )
        for one in soak.outages
    ]
    found += [
        (int(one.begin // 60), one.cause, read("nothing written for {seconds:.0f} s", seconds=one.end - one.begin))
        for one in soak.breaks
    ]
    found += [
        (int(one.at // 60), read("clock"), read("stepped by {seconds:+.3f} s", seconds=one.seconds))
        for one in soak.steps
    ]
    if soak.log is not None:
        found += [
            (one.minute, one.kind.value, one.message[:200]) for one in soak.log.events if one.kind not in HARMLESS
        ]
    found += [
        (one.minute, group, f"{one.subject} {one.field} {one.by:+g}")
        for group, counted in soak.counted.items() if group != "pause"
        for one in counted.moved if one.minute is not None
    ]  # fmt: skip
    found += [
        (int(one.at // 60), one.name, read("ended with status {status}", status=str(one.fields.get("status"))))
        for one in soak.loads if one.what == "end" and one.fields.get("status") != 0 and one.fields.get("why") == ""
    ]  # fmt: skip
    yield from sorted(found)
