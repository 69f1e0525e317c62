"""When rounds of one arm may stand as its baseline, what precision they promise the comparison, and whether it is met again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from checks.around.causes import causes as stood_around
from checks.block.validity import heading
from checks.phrase import Phrase, joined, say
from checks.serving import criteria
from checks.serving.around import causes
from checks.serving.baseline import Alone
from checks.serving.cells import Cell, several
from checks.serving.figures import Figures
from checks.serving.judging import cell, lines, voided
from checks.serving.limits import Limits
from checks.serving.rounds import Round
from checks.serving.site import Site
from checks.statistics.expected import throughput_points, ttft_points
from checks.statistics.percentile import median
from checks.statistics.staying import Course, slope
from checks.statistics.steadiness import drift_percent, variation_percent
from checks.trial import Measured
from checks.verdict import Outcome, Quantity, Verdict, worst

#: Names of the numbers that a later gate compares with.
TTFT, THROUGHPUT = "TTFT p50", "throughput"

#: Rounds beyond which nobody plans a comparison.
_MOST = 400


def stands(measured: Measured[Alone], site: Site, limits: Limits) -> Verdict:
    """Every round is valid and proven, and the rounds repeat and stay at their level: their medians are the baseline."""
    required = _required(limits)
    told, reasons = _valid(measured, site, limits)
    if reasons:
        return Verdict.undecided(several(reasons), required)
    ttfts, rates = [one.ttft_p50 for one in told], [one.throughput for one in told]
    spreads = [variation_percent(one.ttfts) for one in told]
    ttft_cv, rate_cv = variation_percent(ttfts), variation_percent(rates)
    shown = say(
        "TTFT p50 {ttft:.4g} s (varies by {ttft_cv:.2f} %), {rate:.4g} tok/s (varies by {rate_cv:.2f} %) over {count} rounds; "
        "requests of a round spread by {spread:.1f} %",
        ttft=median(ttfts), ttft_cv=ttft_cv, rate=median(rates), rate_cv=rate_cv, count=len(told), spread=median(spreads),
    )  # fmt: skip
    if max(ttft_cv, rate_cv) > limits.rules.variation_percent:
        note = say("the rounds vary by {percent:.1f} %: {cause}", percent=max(ttft_cv, rate_cv), cause=_cause(measured))
        return Verdict.undecided(note, required, shown)
    for values in (ttfts, rates):
        if (going := _going(values, limits, lambda: _cause(measured))) is not None:
            return Verdict.undecided(going, required, shown)
    quantities = (
        Quantity(TTFT, median(ttfts), "s"), Quantity("TTFT p50 variation", ttft_cv, "%"),
        Quantity(THROUGHPUT, median(rates), "tok/s"), Quantity("throughput variation", rate_cv, "%"),
        Quantity("spread of requests", median(spreads), "%"), Quantity("rounds", len(told), ""),
        *lines([one.arm for one in measured.facts[-1:]], limits),
    )  # fmt: skip
    return Verdict(Outcome.PASS, shown, required, note=measured.remarks(), quantities=quantities)


def _required(limits: Limits) -> Phrase:
    rules = limits.rules
    numbers = {"percent": f"{rules.variation_percent:g}", "drift": f"{rules.step_percent:g}"}
    if rules.sure_percent:
        return say(
            "{rounds} rounds, each with proof of where its tokens came from, that vary by at most {percent} percent, and shown with {sure} "
            "percent of certainty to give less than {drift} percent more or less in each",
            rounds=rules.rounds, sure=f"{rules.sure_percent:g}", **numbers,
        )  # fmt: skip
    return say(
        "{rounds} rounds, each with proof of where its tokens came from, that vary by at most {percent} percent and do not go one way by "
        "{drift} percent in each",
        rounds=rules.rounds, **numbers,
    )  # fmt: skip


def _going(values: Sequence[float], limits: Limits, cause: Callable[[], Phrase]) -> Phrase | None:
    """Say that rounds leave their level, or that so many of them do not show that they stay; None: they stay."""
    most, sure = limits.rules.step_percent, limits.rules.sure_percent
    if not sure:
        return heading(drift_percent(values), most, len(values), cause)
    try:
        found = slope(values, sure)
    except ValueError as error:
        return say("not shown to stay at its level: {why}", why=str(error))
    course = found.course(most)
    if course is Course.STAYS:
        return None
    if course is Course.GOES:
        return heading(found.percent, most, len(values), cause)
    return say(
        "not shown to stay at its level: each of {count} rounds gives {drift:+.2f} percent, give or take {reach:.2f}, on the one before, "
        "wanted less than {most:g}: what shakes so much hides a drift: {cause}",
        count=len(values), drift=found.percent, reach=found.reach, most=most, cause=cause(),
    )  # fmt: skip


def _valid(measured: Measured[Alone], site: Site, limits: Limits) -> tuple[list[Figures], list[Phrase]]:
    """Figures of all rounds, or every reason why they are none."""
    made = [(one.number, cell(one.arm, site, one.concurrency, limits)) for one in measured.facts]
    return _told(made, voided(measured, limits), limits.rules.rounds)


def _told(
    made: Sequence[tuple[int, Cell]], reasons: Iterable[Phrase], wanted: int
) -> tuple[list[Figures], list[Phrase]]:
    found = list(reasons)
    if len(made) < wanted or len(made) < 2:
        found.append(say("{count} rounds, wanted at least {wanted}", count=len(made), wanted=max(wanted, 2)))
    found += [say("round {round}: {why}", round=number, why=several(one.faults)) for number, one in made if one.faults]
    return [one.figures for _, one in made if one.figures is not None], found


def _cause(measured: Measured[Alone]) -> Phrase:
    seen = causes([one.around for one in measured.facts])
    late = max(one.arm.client.lag_p99_s for one in measured.facts)
    if late > 0.01:
        seen.append(say("the client came {late:.3f} s late to what was due", late=late))
    seen += stood_around(measured.around)
    if not seen:
        return say(
            "no heat, no new media errors and no busy client was seen, and other load on the device would have broken the proof; "
            "look at clocks and governor of the processors, power limits of the accelerators, and other work on the node"
        )
    return joined(seen)


def precise(
    measured: Measured[Alone], site: Site, limits: Limits, width: float, least: float, high: float, rounds: int
) -> Verdict:
    """The comparison to come can narrow its intervals to ``width`` points within its rounds, at a drop of ``least`` and a gain of
    ``high`` percent, where they are widest while they still matter. ``rounds`` are made at least.
    """
    planned = max(rounds, site.rounds)
    budget = max(planned, site.rounds + site.more_rounds)
    required = say("intervals of at most {width} points within {budget} rounds", width=f"{width:g}", budget=budget)
    told, reasons = _valid(measured, site, limits)
    if reasons:
        return Verdict.undecided(several(reasons), required)

    def points(count: int) -> tuple[float, float]:
        ttft = ttft_points([one.ttfts for one in told], count, 1 - least / 100, site.seed)
        return ttft, throughput_points([one.throughput for one in told], count, 1 + high / 100)

    first, last = points(planned), points(budget)
    shown = say(
        "after {planned} rounds about {ttft:.1f} points for TTFT p50 and {rate:.1f} for throughput, after {budget} about "
        "{last_ttft:.1f} and {last_rate:.1f}",
        planned=planned, ttft=first[0], rate=first[1], budget=budget, last_ttft=last[0], last_rate=last[1],
    )  # fmt: skip
    quantities = (
        Quantity("points of TTFT p50", first[0], "points"), Quantity("points of throughput", first[1], "points"),
        Quantity("points of TTFT p50 at most rounds", last[0], "points"),
        Quantity("points of throughput at most rounds", last[1], "points"),
    )  # fmt: skip
    holds = max(last) <= width
    return Verdict.of(holds, shown, required, "points", None if holds else _needed(points, width), quantities)


def _needed(points: Callable[[int], tuple[float, float]], width: float) -> Phrase:
    fewest, most = 2, _MOST
    if max(points(most)) > width:
        return say("even {most} rounds would not do: find out why the rounds shake so much", most=most)
    while fewest < most:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if max(points(middle)) <= width else (middle + 1, most)
    return say(
        "about {rounds} rounds would do (`rounds`, `more_rounds` of the workload), or more requests a round",
        rounds=most,
    )


def reproduced(
    measured: Measured[Round], baseline: Verdict | None, site: Site, limits: Limits, percent: float
) -> Verdict:
    """The local arm gives, in the medians of its rounds, what it gave by itself when its baseline was measured."""
    required = criteria.reproduces(say("TTFT p50"), None, None, percent).required
    made = [(one.number, cell(one.local, site, one.concurrency, limits)) for one in measured.facts]
    told, reasons = _told(made, voided(measured, limits), limits.rules.rounds)
    if reasons:
        return Verdict.undecided(several(reasons), required)
    known = {} if baseline is None else {one.name: one.value for one in baseline.quantities}
    now = {TTFT: median([one.ttft_p50 for one in told]), THROUGHPUT: median([one.throughput for one in told])}
    ttft = criteria.reproduces(say("TTFT p50"), now[TTFT], known.get(TTFT), percent)
    rate = criteria.reproduces(say("throughput"), now[THROUGHPUT], known.get(THROUGHPUT), percent)
    lowest = worst([ttft, rate])
    if known:
        shown = say("TTFT p50 {ttft} s; throughput {rate} tok/s", ttft=ttft.measured, rate=rate.measured)
        return Verdict(lowest.outcome, shown, required, "%", lowest.note, _changes(now, known))
    return lowest


def _changes(now: dict[str, float], known: dict[str, float]) -> tuple[Quantity, ...]:
    return tuple(
        Quantity(f"change of {name}", (value / known[name] - 1) * 100, "%")
        for name, value in now.items()
        if known.get(name)
    )


def told(verdict: Verdict | None, name: str) -> float | None:
    """The number of a name that a verdict measured; None where it did not."""
    return fastest((verdict,), name)


def fastest(verdicts: Iterable[Verdict | None], name: str) -> float | None:
    """The largest number of a name among verdicts that measured it, whatever they came to; None where none did."""
    values = [
        one.value for verdict in verdicts if verdict is not None for one in verdict.quantities if one.name == name
    ]
    return max(values, default=None)
