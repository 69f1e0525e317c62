"""When what a disk, an array or a filesystem carries is good enough, and when a measurement may stand as a baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from statistics import fmean, median

from checks.block.references import Reference
from checks.block.rounds import Round
from checks.block.validity import Held, broken, cause, doubtful, unsteady
from checks.phrase import Phrase, beside, joined, say
from checks.statistics.steadiness import steadiness, variation_percent
from checks.trial import Measured
from checks.units import show_bytes
from checks.verdict import Outcome, Quantity, Verdict, worst


@dataclass(frozen=True, slots=True)
class Settling:
    """SNIA's rule: range and rise of the fitted line over the last ``window`` rounds, in percent of their mean at most."""

    range_percent: float
    rise_percent: float
    window: int


def same_version(versions: Mapping[str, str]) -> Verdict:
    """Every host measures with the same fio: other versions write other verify headers and count otherwise."""
    if not versions:
        return Verdict.undecided(say("no host was asked for its fio"))
    shown = joined([say("{host}: {version}", host=host, version=version) for host, version in versions.items()])
    return Verdict.of(len(set(versions.values())) == 1, shown, say("one version on every host"))


def repeatable(measured: Measured[Round], held: Held) -> Verdict:
    """The rounds are possible, undisturbed, and agree well enough to stand as a baseline: :class:`Held` says how well."""
    required = say(
        "rounds that vary by at most {most:g} percent and do not go one way by {drift:g} percent in each",
        most=held.variation, drift=held.drift,
    )  # fmt: skip
    if (stop := broken(measured, required)) is not None:
        return stop
    shown = _rates(measured)
    rates = [one.bytes_per_second for one in measured.facts]
    if (why := doubtful(measured, held) or unsteady(rates, held, lambda: cause(measured))) is not None:
        return Verdict.undecided(why, required, shown)
    quantities = (
        Quantity("bytes per second", median(rates), "B/s"), Quantity("variation", variation_percent(rates), "%"),
        Quantity("p50 latency", median(_at(measured, 50.0)), "us"), Quantity("p99 latency", median(_at(measured, 99.0)), "us"),
    )  # fmt: skip
    return Verdict.of(True, shown, required, "B/s", measured.remarks(), quantities)


def carries(
    measured: Measured[Round], reference: Reference | Phrase, share: float, held: Held, floor: float = 0.0
) -> Verdict:
    """The median rate is at least ``share`` of ``reference``, and of ``floor`` bytes a second, and the rounds are repeatable.

    ``reference`` is a Phrase where nobody declared what to hold the rate against: what to declare. Nothing passes then.
    """
    if isinstance(reference, Phrase):
        return broken(measured) or Verdict.undecided(reference, measured=_rates(measured))
    required = reference.demand(share, floor)
    if (stop := broken(measured, required)) is not None:
        return stop
    steady = repeatable(measured, held)
    if steady.outcome is not Outcome.PASS:
        return Verdict.undecided(steady.note or say("the rounds are not repeatable"), required, steady.measured)
    rate = median(one.bytes_per_second for one in measured.facts)
    holds = rate >= reference.least(share, floor)
    return Verdict.of(holds, steady.measured, required, "B/s", steady.note, steady.quantities)


def carries_settled(
    measured: Measured[Round], reference: Reference | Phrase, share: float, held: Held, rule: Settling
) -> Verdict:
    """The mean rate of the rounds that are steady is at least ``share`` of ``reference``."""
    if isinstance(reference, Phrase):
        return broken(measured) or Verdict.undecided(reference, measured=_rates(measured))
    required = reference.demand(share)
    if (stop := broken(measured, required)) is not None:
        return stop
    steady = settled(measured, held, rule)
    if steady.outcome is not Outcome.PASS:
        return Verdict.undecided(steady.note or say("the rounds are not steady"), required, steady.measured)
    last = measured.facts[-rule.window :]
    rate, iops = (fmean(getattr(one, name) for one in last) for name in ("bytes_per_second", "iops"))
    shown = say("{rate}/s, {iops:,.0f} operations/s in the steady state", rate=show_bytes(int(rate)), iops=iops)
    quantities = (*steady.quantities, Quantity("operations per second", iops, "1/s"))
    return Verdict.of(rate >= reference.least(share), shown, required, "B/s", steady.note, quantities)


def answers_within(measured: Measured[Round], percent: float, most_us: float, held: Held) -> Verdict:
    """The latency at ``percent`` is at most ``most_us`` microseconds in the median of the rounds."""
    required = say("at most {most:g} us at {percent:g} %", most=most_us, percent=percent)
    if (stop := broken(measured, required)) is not None:
        return stop
    values = _at(measured, percent)
    if len(values) < len(measured.facts) or not values:
        return Verdict.undecided(say("fio kept no latency at {percent:g} %", percent=percent), required)
    shown = say("{value:.1f} us", value=median(values))
    if (why := doubtful(measured, held) or unsteady(values, held, lambda: cause(measured))) is not None:
        return Verdict.undecided(why, required, shown)
    quantity = Quantity(f"p{percent:g} latency", median(values), "us")
    return Verdict.of(median(values) <= most_us, shown, required, "us", measured.remarks(), (quantity,))


def device_agrees(measured: Measured[Round], tolerance: float, held: Held) -> Verdict:
    """The device's own rate is fio's within ``tolerance`` percent in every round, and no more than that goes the other way.

    More is somebody else's load, in either direction; less is memory that answered.
    """
    required = say(
        "the device's rate within {tolerance:g} percent of fio's, and at most as much of it the other way",
        tolerance=tolerance,
    )
    if (why := doubtful(measured, replace(held, busy=inf))) is not None:
        return Verdict.undecided(why, required)

    def one(found: Round) -> Verdict:
        if isinstance(found.watched, Phrase):
            return Verdict.undecided(found.watched, required)
        off = round(100 * (found.watched.bytes_per_second / found.bytes_per_second - 1), 6)
        across = round(100 * max(found.watched.other, found.across or 0.0) / found.bytes_per_second, 6)
        shown = say(
            "{device}: {seen}/s by iostat, {said}/s by fio ({off:+.1f} percent), {across:.1f} percent the other way",
            device=found.device, seen=show_bytes(int(found.watched.bytes_per_second)),
            said=show_bytes(int(found.bytes_per_second)), off=off, across=across,
        )  # fmt: skip
        note = say("other load on the device") if off > tolerance or across > tolerance else None
        return Verdict.of(abs(off) <= tolerance and across <= tolerance, shown, required, note=note)

    return _every(measured, one)


def client_is_free(measured: Measured[Round], most: float, held: Held) -> Verdict:
    """The processes that make the load need at most ``most`` percent of a core: else the client is what was measured."""
    required = say("at most {most:g} percent of a core for each fio process", most=most)
    if (why := doubtful(measured, held)) is not None:
        return Verdict.undecided(why, required)

    def one(found: Round) -> Verdict:
        if found.cpu_percent is None:
            return Verdict.undecided(say("fio did not tell its processor time"), required)
        return Verdict.of(found.cpu_percent <= most, say("{cpu:.0f} %", cpu=found.cpu_percent), required, "%")

    return _every(measured, one)


def settled(measured: Measured[Round], held: Held, rule: Settling) -> Verdict:
    """The last rounds are steady as SNIA defines it, and each of them possible and undisturbed."""
    required = say(
        "{window} rounds with a range of at most {range:g} and a rise of at most {rise:g} percent of their mean",
        window=rule.window, range=rule.range_percent, rise=rule.rise_percent,
    )  # fmt: skip
    if (stop := broken(measured, required)) is not None:
        return stop
    rates = [one.bytes_per_second for one in measured.facts]
    try:
        found = steadiness(rates, rule.window)
    except ValueError as error:
        return Verdict.undecided(say("{why}", why=str(error)), required, _rates(measured))
    shown = say(
        "range {range:.1f} %, rise {rise:.1f} % at {mean}/s",
        range=found.range_percent, rise=found.rise_percent, mean=show_bytes(int(found.mean)),
    )  # fmt: skip
    if (why := doubtful(measured, held)) is not None:
        return Verdict.undecided(why, required, shown)
    if not found.holds(rule.range_percent, rule.rise_percent):
        note = say("not steady after {count} rounds: {cause}", count=len(rates), cause=cause(measured))
        return Verdict.undecided(note, required, shown)
    return Verdict.of(
        True, shown, required, "B/s", measured.remarks(), (Quantity("bytes per second", found.mean, "B/s"),)
    )


def steady(rounds: Sequence[Round], rule: Settling) -> bool:
    """Whether enough rounds were made: what a trial goes on by."""
    try:
        found = steadiness([one.bytes_per_second for one in rounds], rule.window)
    except ValueError:
        return False
    return found.holds(rule.range_percent, rule.rise_percent)


def added_latency(near: Measured[Round], far: Measured[Round], most_us: float, held: Mapping[str, Held]) -> Verdict:
    """What the fabric adds to a single read: the difference of the medians at 50 percent, at most ``most_us``.

    ``held`` has what the rounds of each side are held to: ``near`` and ``far``.
    """
    required = say("at most {most:g} us more than the local disk", most=most_us)
    if failures := (*near.broken, *far.broken):
        return Verdict.undecided(joined(failures), required)
    sides = [_at(side, 50.0) for side in (near, far)]
    if not all(sides):
        return Verdict.undecided(say("fio kept no latency at 50 %"), required)
    for side, values, its in zip((near, far), sides, (held["near"], held["far"]), strict=True):
        if (why := doubtful(side, its) or unsteady(values, its, partial(cause, side))) is not None:
            return Verdict.undecided(why, required)
    if len(versions := {one.version for side in (near, far) for one in side.facts}) > 1:
        return Verdict.undecided(
            say("rounds of different versions of fio are not compared: {versions}", versions=", ".join(sorted(versions))), required
        )  # fmt: skip
    local, remote = (median(side) for side in sides)
    shown = say("{added:+.1f} us ({far:.1f} us against {near:.1f} us)", added=remote - local, far=remote, near=local)
    quantity = Quantity("added latency", remote - local, "us")
    note = beside(near.remarks(), far.remarks())
    return Verdict.of(remote - local <= most_us, shown, required, "us", note, (quantity,))


def _every(measured: Measured[Round], one: Callable[[Round], Verdict]) -> Verdict:
    if not measured.facts:
        return Verdict.undecided(say("no round was measured"))
    return worst([one(found) for found in measured.facts])


def _at(measured: Measured[Round], percent: float) -> list[float]:
    return [one.latency_us[percent] for one in measured.facts if percent in one.latency_us]


def _rates(measured: Measured[Round]) -> Phrase:
    if not measured.facts:
        return say("no round")
    middle = median(one.bytes_per_second for one in measured.facts)
    iops = median(one.iops for one in measured.facts)
    return say(
        "{rate}/s, {iops:,.0f} operations/s over {count} rounds",
        rate=show_bytes(int(middle)), iops=iops, count=len(measured.facts),
    )  # fmt: skip
