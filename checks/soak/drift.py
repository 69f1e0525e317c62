"""When a soak ended as it began: latency, throughput, heat, room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from checks.phrase import Phrase, joined, say
from checks.soak.counters import NO_HEAT
from checks.soak.errors import unmoved
from checks.soak.facts import HostSoak
from checks.soak.gauges import Gauge
from checks.soak.judging import count, finished, loads_of, untold, when
from checks.soak.requests import Hour, Requests
from checks.statistics.changes import changes
from checks.statistics.steadiness import FEWEST, trend
from checks.verdict import Outcome, Verdict

_NAMED = 4
_UNTOLD = 7200.0  # seconds of runs without their document: as much as two interruptions may cost
_TAILS: tuple[tuple[str, Callable[[Hour], float]], ...] = (
    ("p50", lambda one: one.ttft_p50),
    ("p99", lambda one: one.ttft_p99),
)
_SHORTEST = 900.0  # seconds that an hour must have given to be compared


def latency_kept(
    soaks: Mapping[str, HostSoak], load: str, first: tuple[float, float], last: float, p50: float, p99: float
) -> Verdict:
    """The last hours answer as fast as the first: p50 and p99 of the time to the first token, concurrency by concurrency."""
    required = say(
        "last {last:g} h against hours {begin:g} to {end:g}: p50 at most +{p50:g} %, p99 at most +{p99:g} %",
        last=last, begin=first[0], end=first[1], p50=p50, p99=p99,
    )  # fmt: skip

    def judge(host: str, soak: HostSoak, level: int, hours: Sequence[Hour]) -> tuple[Verdict, float]:
        answered = [one for one in hours if one.requests]
        early = [one for one in answered if first[0] <= one.hour < first[1]]
        late = [one for one in answered if one.hour >= soak.plan.seconds / 3600 - last]
        if not early or not late:
            note = say("{host} at concurrency {level}: no hour to compare at one of the ends", host=host, level=level)
            return Verdict.undecided(note, required), 0.0
        rise50 = (median(one.ttft_p50 for one in late) / median(one.ttft_p50 for one in early) - 1) * 100
        rise99 = (median(one.ttft_p99 for one in late) / median(one.ttft_p99 for one in early) - 1) * 100
        measured = say(
            "{host} at concurrency {level}: p50 {rise50:+.2f} %, p99 {rise99:+.2f} %",
            host=host, level=level, rise50=rise50, rise99=rise99,
        )  # fmt: skip
        note = say("last window from {when}", when=when(late[0].hour * 60))
        holds = bool(rise50 <= p50 and rise99 <= p99)
        return Verdict.of(holds, measured, required, "%", note=note, quantities=count("p50", rise50, "%")), rise50

    return _each_level(soaks, load, required, judge)


def latency_steady(
    soaks: Mapping[str, HostSoak], load: str, percent: float, tail: float, hour: float, least: int
) -> Verdict:
    """No trend and no change of level moves the hours' time to the first token, and no hour is far slower than the others.

    ``percent`` is for trend and level of the hours' p50, ``tail`` for those of their p99; no hour's p50 or p99 may stand more than
    ``hour`` percent above the median of all hours. Hours in the middle count as those at the ends do.
    """
    required = say(
        "no trend and no change of level above {percent:g} percent of p50 and {tail:g} percent of p99; no hour's p50 or p99 more than "
        "{hour:g} percent above the usual",
        percent=percent, tail=tail, hour=hour,
    )  # fmt: skip

    def slowest(host: str, soak: HostSoak, level: int, hours: Sequence[Hour]) -> tuple[Verdict, float]:
        del soak
        answered = [one for one in hours if one.requests]
        if len(answered) < FEWEST:
            note = say(
                "{host} at concurrency {level}: {count} hours, too few", host=host, level=level, count=len(answered)
            )
            return Verdict.of(True, say("not weighed"), required, note=note), -1.0
        found: list[tuple[float, str, Hour]] = []
        for name, value in _TAILS:
            usual = median(value(one) for one in answered)
            if usual <= 0:
                note = say(
                    "{host} at concurrency {level}: {name} of the usual hour is not above 0",
                    host=host,
                    level=level,
                    name=name,
                )
                return Verdict.undecided(note, required), 0.0
            found += [((value(one) / usual - 1) * 100, name, one) for one in answered]
        far, name, worst = max(found, key=lambda one: one[0])
        bad = sorted({one.hour for above, _, one in found if above > hour})
        measured = say(
            "{host} at concurrency {level}: {name} of the slowest hour {far:+.1f} percent of the usual",
            host=host, level=level, name=name, far=far,
        )  # fmt: skip
        note = say(
            "hours {hours}, first {when}", hours=", ".join(str(one) for one in bad[:12]), when=when((bad or [worst.hour])[0] * 60)
        )  # fmt: skip
        verdict = Verdict.of(
            not bad, measured, required, "%", note=note if bad else when(worst.hour * 60), quantities=count("slowest hour", far, "%")
        )  # fmt: skip
        return verdict, far

    whole = _each_level(soaks, load, required, slowest)
    if whole.outcome is not Outcome.PASS:
        return whole
    for (name, value), most in zip(_TAILS, (percent, tail), strict=True):
        steady = _steady(soaks, load, required, most, least, value, name, rising=True)
        if steady.outcome is not Outcome.PASS:
            return steady
        whole = whole if name == "p99" else steady
    return whole


def throughput_kept(soaks: Mapping[str, HostSoak], load: str, share: float, percent: float, least: int) -> Verdict:
    """Every hour gives its share of the median, and no trend or change of level takes ``percent`` away."""
    required = say(
        "every hour at least {share:g} percent of the median; no falling trend or level above {percent:g} %",
        share=share * 100, percent=percent,
    )  # fmt: skip

    def judge(host: str, soak: HostSoak, level: int, hours: Sequence[Hour]) -> tuple[Verdict, float]:
        del soak
        rates = {one.hour: one.tokens_per_second for one in hours if one.seconds >= _SHORTEST}
        if not rates:
            note = say("{host} at concurrency {level}: no whole hour", host=host, level=level)
            return Verdict.undecided(note, required), 0.0
        middle = median(rates.values())
        worst = min(rates, key=lambda hour: rates[hour])
        part = rates[worst] / middle if middle > 0 else 0.0
        measured = say(
            "{host} at concurrency {level}: worst hour {part:.1f} percent of {middle:,.0f} tokens/s",
            host=host, level=level, part=part * 100, middle=middle,
        )  # fmt: skip
        return (
            Verdict.of(
                part >= share,
                measured,
                required,
                "%",
                note=when(worst * 60),
                quantities=count("worst hour", part * 100, "%"),
            ),
            -part,
        )

    whole = _each_level(soaks, load, required, judge)
    if whole.outcome is not Outcome.PASS:
        return whole
    steady = _steady(soaks, load, required, percent, least, lambda one: one.tokens_per_second, "tokens/s", rising=False)
    return steady if steady.outcome is not Outcome.PASS else whole


_Judge = Callable[[str, HostSoak, int, Sequence[Hour]], tuple[Verdict, float]]


def _each_level(soaks: Mapping[str, HostSoak], load: str, required: Phrase, judge: _Judge) -> Verdict:
    """The worst of all hosts and concurrencies; of equals the one furthest off."""
    found: list[tuple[Verdict, float]] = []
    mine = [(host, soak, name) for host, soak in sorted(soaks.items()) for name in loads_of(soak, load)]
    for host, soak, name in mine:
        told = soak.requests.get(name, "no request")
        if not isinstance(told, Requests):
            return Verdict.undecided(say("{host}: {why}", host=host, why=told), required)
        if told.untold > _UNTOLD:
            note = say(
                "{host}: {hours:.1f} h of runs ended without telling of a request", host=host, hours=told.untold / 3600
            )
            found.append((Verdict.undecided(note, required), 0.0))
            continue
        levels = sorted({one.concurrency for one in told.hours})
        if not levels:
            return Verdict.undecided(say("{host}: no request completed", host=host), required)
        for level in levels:
            verdict, far = judge(host, soak, level, [one for one in told.hours if one.concurrency == level])
            found.append((finished(soak, verdict), far))
    if not found:
        return Verdict.undecided(say("no plan has the load {load}", load=load), required)
    order = (Outcome.STOP, Outcome.UNDECIDED, Outcome.PASS)
    return min(found, key=lambda one: (order.index(one[0].outcome), -one[1]))[0]


def _steady(
    soaks: Mapping[str, HostSoak], load: str, required: Phrase, percent: float, least: int,
    value: Callable[[Hour], float], name: str, *, rising: bool,
) -> Verdict:  # fmt: skip
    weighed: dict[str, int] = {}

    def judge(host: str, soak: HostSoak, level: int, hours: Sequence[Hour]) -> tuple[Verdict, float]:
        del soak
        weighed.setdefault(host, 0)
        mine = [one for one in hours if one.seconds >= _SHORTEST and (one.requests or not rising)]
        if len(mine) < max(least, FEWEST):
            note = say(
                "{host} at concurrency {level}: {count} hours, too few for a trend",
                host=host,
                level=level,
                count=len(mine),
            )
            return Verdict.of(True, say("not weighed"), required, note=note), -1.0
        weighed[host] += 1
        values = [value(one) for one in mine]
        drift = trend([float(one.hour) for one in mine], values)
        sign = 1 if rising else -1
        moved = [one for one in changes(values) if sign * one.percent > percent]
        measured = say(
            "{host} at concurrency {level}: {name} with a trend of {drift:+.2f} percent over the soak, changes of level {count}",
            host=host, level=level, name=name, drift=drift.change_percent, count=len(moved),
        )  # fmt: skip
        since: Phrase | None = None
        if moved:
            since = say(
                "{percent:+.1f} percent from {when}",
                percent=moved[0].percent,
                when=when(mine[moved[0].place].hour * 60),
            )
        holds = bool(sign * drift.change_percent <= percent and not moved)
        far = sign * drift.change_percent
        return Verdict.of(
            holds, measured, required, "%", note=since, quantities=count("trend", drift.change_percent, "%")
        ), far

    verdict = _each_level(soaks, load, required, judge)
    short = sorted(host for host, levels in weighed.items() if not levels)
    if verdict.outcome is Outcome.PASS and short:
        note = say("{host}: no concurrency has {least} whole hours", host=", ".join(short), least=least)
        return Verdict.undecided(note, required)
    return verdict


def cool(soak: HostSoak) -> Verdict:
    """Nothing throttled for heat (by difference: what is long past does not count), and no sensor reached its limit."""
    required = say("no throttling, every sensor below its own limit")
    hot = []
    limits = {
        (one.subject, one.field): one.low
        for field in ("max", "critical")
        for one in soak.gauge("thermal", field)
        if one.low > 0
    }
    for one in soak.gauge("thermal", "celsius"):
        known = [limits[one.subject, field] for field in ("max", "critical") if (one.subject, field) in limits]
        if known and one.high >= min(known):
            hot.append((one, min(known)))
    if hot:
        parts = [
            say(
                "{sensor} {celsius:.0f} C of {limit:.0f} C in {when}",
                sensor=one.subject, celsius=one.high, limit=limit, when=when(one.high_at),
            )
            for one, limit in hot[:_NAMED]
        ]  # fmt: skip
        return Verdict.of(False, joined(parts), required, "C", quantities=count("sensors", len(hot)))
    throttled = unmoved(soak, "heat", ())
    if throttled.outcome is Outcome.STOP:
        return throttled
    if (why := untold(soak, ("thermal",), required)) is not None:
        return why
    if back := [one for one in soak.counted["heat"].moved if one.back is not None]:
        return Verdict.undecided(
            say("{subject} {field} went backwards in {when}", subject=back[0].subject, field=back[0].field, when=when(back[0].back)),
            required,
        )  # fmt: skip
    if silent := [why for stream, why in soak.counted["heat"].untold if stream == "accelerator"]:
        reason = say("accelerators: {why}", why="; ".join(silent))
        if all(one in NO_HEAT.values() for one in silent):  # what was cut off or gone is no tool that never tells
            return Verdict.not_offered(reason, required)
        return Verdict.undecided(reason, required)
    highest = max(soak.gauge("thermal", "celsius"), key=lambda one: one.high, default=None)
    if highest is None:
        return Verdict.undecided(say("no sensor told a temperature"), required)
    measured = say("highest {sensor} {celsius:.0f} C", sensor=highest.subject, celsius=highest.high)
    return finished(soak, Verdict.of(True, measured, required, "C", quantities=count("highest", highest.high, "C")))


def room_left(soak: HostSoak, share: float) -> Verdict:
    """Space and inodes of every watched file system never fell below ``share``."""
    required = say("at least {share:g} percent of space and inodes at every sample", share=share * 100)
    if (why := untold(soak, ("space",), required)) is not None:
        return why
    found: list[tuple[float, Gauge]] = []
    for free, whole in (("available", "size"), ("inodes_free", "inodes")):
        sizes = {one.subject: one.low for one in soak.gauge("space", whole)}
        for one in soak.gauge("space", free):
            if sizes.get(one.subject, 0) > 0:
                found.append((one.low / sizes[one.subject], one))
    if not found:
        return Verdict.undecided(say("no file system told its size"), required)
    least, one = min(found, key=lambda pair: pair[0])
    measured = say("{path} {field} {least:.1f} %", path=one.subject, field=one.field, least=least * 100)
    verdict = Verdict.of(
        least >= share, measured, required, "%", note=say("lowest in {when}", when=when(one.low_at)),
        quantities=count("free", least * 100, "%"),
    )  # fmt: skip
    return finished(soak, verdict)
