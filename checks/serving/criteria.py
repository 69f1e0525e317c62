"""When the array arm is good enough: TTFT drop, throughput band, baseline met again, both arms faster than computing anew.

Validity comes before value: a ratio of invalid cells is never shown, and the clause is UNDECIDED with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal

from checks.phrase import Phrase, say
from checks.serving import comparison
from checks.serving.cells import Pair, Rules, several, unfit
from checks.serving.comparison import Comparison
from checks.statistics.plan import Voided
from checks.statistics.rounding import half_up
from checks.verdict import Quantity, Verdict, number, worst

Weigh = Callable[[Decimal], Verdict]


def drop(percent: Decimal, least: float, decimals: int | None = None) -> Verdict:
    """A drop of ``percent`` is at least ``least`` percent; compared as measured, or rounded to ``decimals`` first."""
    required = say("TTFT p50 lower by at least {least} %", least=_plain(least))
    measured = _shown(-percent, decimals, (-least,))
    return Verdict.of(_rounded(percent, decimals) >= Decimal(repr(least)), measured, required, "%")


def gain(percent: Decimal, low: float, high: float, decimals: int | None = 0) -> Verdict:
    """A gain of ``percent`` lies in the band. Below it STOP; above it UNDECIDED: no reference run was that much better."""
    required = say("throughput higher by {low} % to {high} %", low=_plain(low), high=_plain(high))
    value, measured = _rounded(percent, decimals), _shown(percent, decimals, (low, high))
    if value > Decimal(repr(high)):
        why = say("larger than any reference run: look for a weak baseline, or let both parties accept it by a waiver")
        return Verdict.undecided(why, required, measured)
    return Verdict.of(value >= Decimal(repr(low)), measured, required, "%")


def _rounded(percent: Decimal, decimals: int | None) -> Decimal:
    return half_up(percent, 9) if decimals is None else half_up(percent, decimals)


def _plain(value: float) -> str:
    return f"{value:g}"


def _shown(percent: Decimal, decimals: int | None, limits: tuple[float, ...]) -> Phrase | str:
    """The change with two decimals; with more where it would look like a limit that it is not."""
    ends = [Decimal(repr(limit)) for limit in limits]
    places = next((n for n in (2, 4, 9) if half_up(percent, n) not in ends or percent in ends), 9)
    raw = f"{half_up(percent, places):+}"
    if decimals is None:
        return say("{raw} %", raw=raw)
    return say("{raw} %, printed as {rounded} %", raw=raw, rounded=f"{half_up(percent, decimals):+}")


def ttft_drop(
    pairs: Sequence[Pair], rules: Rules, least: float, decimals: int | None = None, voided: Sequence[Voided] = ()
) -> Verdict:
    """TTFT p50 of the array arm lies at least ``least`` percent below the local arm's, at one concurrency."""
    required = drop(Decimal(0), least, decimals).required
    if reasons := unfit(pairs, rules, voided):
        return Verdict.undecided(several(reasons), required)
    return drop_of(comparison.ttft(pairs, rules), rules, least, decimals)


def drop_of(found: Comparison, rules: Rules, least: float, decimals: int | None = None) -> Verdict:
    """The verdict on a comparison of TTFT that is fit to decide."""
    percent = (1 - Decimal(repr(found.ratio))) * 100
    return _decided(drop(percent, least, decimals), found, rules, (-(least - _half(decimals)),), "s")


def throughput_gain(
    pairs: Sequence[Pair],
    rules: Rules,
    low: float,
    high: float,
    decimals: int | None = 0,
    voided: Sequence[Voided] = (),
) -> Verdict:
    """Output tokens a second of the array arm lie ``low`` to ``high`` percent above the local arm's, at one concurrency."""
    required = gain(Decimal(0), low, high, decimals).required
    if reasons := unfit(pairs, rules, voided):
        return Verdict.undecided(several(reasons), required)
    return gain_of(comparison.throughput(pairs, rules), rules, low, high, decimals)


def gain_of(found: Comparison, rules: Rules, low: float, high: float, decimals: int | None = 0) -> Verdict:
    """The verdict on a comparison of throughput that is fit to decide."""
    percent = (Decimal(repr(found.ratio)) - 1) * 100
    edges = (low - _half(decimals), high + _half(decimals))
    return _decided(gain(percent, low, high, decimals), found, rules, edges, "tok/s")


def _half(decimals: int | None) -> float:
    """How far rounding moves a limit: a gain of 28.5 % prints as 29 % and passes, so 28.5 % is where the verdict turns."""
    return 0.0 if decimals is None else 0.5 * 10**-decimals


def _decided(point: Verdict, found: Comparison, rules: Rules, limits: tuple[float, ...], unit: str) -> Verdict:
    """The verdict of the point estimate, if its interval is narrow enough to be one.

    All percentages are changes; ``limits`` are where the verdict turns, before rounding.
    """
    ends = ((found.interval.low - 1) * 100, (found.interval.high - 1) * 100)
    measured = say(
        "{percent} ({local:.4g} -> {array:.4g} {unit}, {rounds} rounds, interval of 95 %: {low:+.1f} to {high:+.1f} %)",
        percent=point.measured, local=found.local, array=found.array, unit=unit, rounds=len(found.ratios),
        low=ends[0], high=ends[1],
    )  # fmt: skip
    quantities = (
        Quantity("ratio", found.ratio, ""), Quantity("interval low", ends[0], "%"), Quantity("interval high", ends[1], "%"),
        Quantity("pooled ratio", found.pooled, ""), Quantity("local", found.local, unit), Quantity("array", found.array, unit),
    )  # fmt: skip
    if found.width_points > rules.width_points:
        wanted = comparison.more_rounds([found], rules, len(found.ratios), 10**6) + len(found.ratios)
        why = say(
            "the interval is {width:.1f} points wide, at most {limit} decide: about {rounds} rounds would do",
            width=found.width_points, limit=_plain(rules.width_points), rounds=wanted,
        )  # fmt: skip
        return Verdict.undecided(why, point.required, measured)
    note = point.note
    if crossed := [limit for limit in limits if ends[0] < limit < ends[1]]:
        marginal = say("marginal: the interval holds the limit {limit} %", limit=f"{crossed[0]:+g}")
        note = marginal if note is None else say("{first}; {rest}", first=note, rest=marginal)
    return Verdict(point.outcome, measured, point.required, "%", note, quantities)


def every_concurrency(verdicts: Mapping[int, Verdict], configured: Collection[int]) -> Verdict:
    """Every configured concurrency passes; one that was not measured is not passed over."""
    if not configured:
        return Verdict.undecided(say("the inventory configures no concurrency"))
    absent = Verdict.undecided(say("it was not measured"))
    found = {concurrency: verdicts.get(concurrency, absent) for concurrency in sorted(configured)}
    lowest = worst(found.values())
    which = next(concurrency for concurrency, verdict in found.items() if verdict is lowest)
    measured = say("concurrency {concurrency}: {measured}", concurrency=which, measured=lowest.measured)
    return Verdict(lowest.outcome, measured, lowest.required, lowest.unit, lowest.note, lowest.quantities)


def reproduces(what: Phrase, measured: float | None, baseline: float | None, percent: float) -> Verdict:
    """The local arm gives what the same node gave in G2; else the two gates measured different things: UNDECIDED."""
    required = say("the G2 baseline within {percent} %", percent=_plain(percent))
    now, then = number(measured), number(baseline)
    if then is None or then <= 0:
        return Verdict.undecided(say("G2 has left no baseline of {what}: run G2 first", what=what), required)
    if now is None or now <= 0:
        return Verdict.undecided(say("{what} was not measured", what=what), required)
    change = (now / then - 1) * 100
    shown = say("{change:+.1f} % ({before:.4g} -> {after:.4g})", change=change, before=then, after=now)
    if round(abs(change), 9) > percent:
        why = say("the local arm is not the one of G2: find what changed on the node, or measure G2 again")
        return Verdict.undecided(why, required, shown)
    return Verdict.of(True, shown, required, "%", quantities=(Quantity("change", change, "%"),))


def beats_recompute(recompute: float | None, local: float | None, array: float | None, *, lower: bool) -> Verdict:
    """Both arms beat computing everything anew; ``lower``: lower is better (TTFT), else higher (throughput).

    A local arm that does not is no baseline but recomputation: UNDECIDED. An array arm that does not is a STOP.
    """
    required = say("both arms better than computing anew")
    numbers = [number(value) for value in (recompute, local, array)]
    anew, near, far = numbers
    if anew is None or near is None or far is None or min(anew, near, far) <= 0:
        return Verdict.undecided(say("recompute, local and array arm must all be measured"), required)
    measured = say("recompute {anew:.4g}, local {near:.4g}, array {far:.4g}", anew=anew, near=near, far=far)
    if not (near < anew if lower else near > anew):
        why = say("the local arm is no better than computing anew: it did not restore, or not from its disk")
        return Verdict.undecided(why, required, measured)
    return Verdict.of(far < anew if lower else far > anew, measured, required)
