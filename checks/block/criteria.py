"""When what a disk, an array or a filesystem carries is good enough, and when a measurement may stand as a baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from checks.block.burst import Watched
from checks.block.rounds import Round
from checks.phrase import Phrase, beside, joined, say
from checks.statistics.steadiness import steadiness, variation_percent
from checks.surroundings import cause
from checks.trial import Measured
from checks.units import show_bytes
from checks.verdict import Outcome, Quantity, Verdict, worst

#: What a RoCEv2 frame carries beside its payload, in bytes: Ethernet with FCS, preamble and gap, IP, UDP, BTH, RETH, ICRC.
_FRAME = 82


def same_version(versions: Mapping[str, str]) -> Verdict:
    """Every host measures with the same fio: other versions write other verify headers and count otherwise."""
    if not versions:
        return Verdict.undecided(say("no host was asked for its fio"))
    shown = joined([say("{host}: {version}", host=host, version=version) for host, version in versions.items()])
    return Verdict.of(len(set(versions.values())) == 1, shown, say("one version on every host"))


def repeatable(measured: Measured[Round], most: float) -> Verdict:
    """The rounds agree well enough to stand as a baseline: their variation is at most ``most`` percent."""
    required = say("rounds that vary by at most {most:g} %", most=most)
    rates = [one.bytes_per_second for one in measured.facts]
    shown = _rates(measured)
    try:
        variation = variation_percent(rates)
    except ValueError as error:
        return Verdict.undecided(say("{why}", why=str(error)), required, shown)
    if variation > most:
        note = say("the rounds vary by {variation:.1f} %: {cause}", variation=variation, cause=_cause(measured))
        return Verdict.undecided(note, required, shown)
    quantities = (
        Quantity("bytes per second", median(rates), "B/s"), Quantity("variation", variation, "%"),
        Quantity("p50 latency", median(_at(measured, 50.0)), "us"), Quantity("p99 latency", median(_at(measured, 99.0)), "us"),
    )  # fmt: skip
    return Verdict.of(True, shown, required, "B/s", measured.remarks(), quantities)


def carries(measured: Measured[Round], reference: float, share: float, most: float) -> Verdict:
    """The median rate is at least ``share`` of ``reference`` (bytes a second), and the rounds are repeatable."""
    wanted = reference * share
    required = say(
        "at least {wanted}/s ({share:.0%} of {reference}/s)",
        wanted=show_bytes(int(wanted)), share=share, reference=show_bytes(int(reference)),
    )  # fmt: skip
    steady = repeatable(measured, most)
    if steady.outcome is not Outcome.PASS:
        return Verdict.undecided(steady.note or say("the rounds are not repeatable"), required, steady.measured)
    rate = median(one.bytes_per_second for one in measured.facts)
    return Verdict.of(rate >= wanted, steady.measured, required, "B/s", steady.note, steady.quantities)


def answers_within(measured: Measured[Round], percent: float, most_us: float, most_variation: float) -> Verdict:
    """The latency at ``percent`` is at most ``most_us`` microseconds in the median of the rounds."""
    required = say("at most {most:g} us at {percent:g} %", most=most_us, percent=percent)
    values = _at(measured, percent)
    if len(values) < len(measured.facts) or not values:
        return Verdict.undecided(say("fio kept no latency at {percent:g} %", percent=percent), required)
    variation = variation_percent(values) if len(values) > 1 else None
    shown = say("{value:.1f} us", value=median(values))
    if variation is None or variation > most_variation:
        note = say("the rounds vary too much to tell: {cause}", cause=_cause(measured))
        return Verdict.undecided(note, required, shown)
    quantity = Quantity(f"p{percent:g} latency", median(values), "us")
    return Verdict.of(median(values) <= most_us, shown, required, "us", measured.remarks(), (quantity,))


def device_agrees(measured: Measured[Round], tolerance: float) -> Verdict:
    """The device's own rate is fio's within ``tolerance`` percent in every round: nothing else was at work, no memory answered."""
    required = say("the device's rate within {tolerance:g} percent of fio's", tolerance=tolerance)

    def one(found: Round) -> Verdict:
        if isinstance(found.watched, Phrase):
            return Verdict.undecided(found.watched, required)
        off = round(100 * (found.watched.bytes_per_second / found.bytes_per_second - 1), 6)
        shown = say(
            "{device}: {seen}/s by iostat, {said}/s by fio ({off:+.1f} %)",
            device=found.device, seen=show_bytes(int(found.watched.bytes_per_second)),
            said=show_bytes(int(found.bytes_per_second)), off=off,
        )  # fmt: skip
        note = say("other load on the device") if off > tolerance else None
        return Verdict.of(abs(off) <= tolerance, shown, required, note=note)

    return _every(measured, one)


def client_is_free(measured: Measured[Round], most: float) -> Verdict:
    """The processes that make the load need at most ``most`` percent of a core: else the client is what was measured."""
    required = say("at most {most:g} percent of a core for each fio process", most=most)

    def one(found: Round) -> Verdict:
        if found.cpu_percent is None:
            return Verdict.undecided(say("fio did not tell its processor time"), required)
        return Verdict.of(found.cpu_percent <= most, say("{cpu:.0f} %", cpu=found.cpu_percent), required, "%")

    return _every(measured, one)


def settled(measured: Measured[Round], range_percent: float, rise_percent: float, window: int) -> Verdict:
    """The last ``window`` rounds are steady as SNIA defines it: range and rise of the fitted line within percent of the mean."""
    required = say(
        "{window} rounds with a range of at most {range:g} and a rise of at most {rise:g} percent of their mean",
        window=window, range=range_percent, rise=rise_percent,
    )  # fmt: skip
    rates = [one.bytes_per_second for one in measured.facts]
    try:
        found = steadiness(rates, window)
    except ValueError as error:
        return Verdict.undecided(say("{why}", why=str(error)), required, _rates(measured))
    shown = say(
        "range {range:.1f} %, rise {rise:.1f} % at {mean}/s",
        range=found.range_percent, rise=found.rise_percent, mean=show_bytes(int(found.mean)),
    )  # fmt: skip
    if not found.holds(range_percent, rise_percent):
        note = say("not steady after {count} rounds: {cause}", count=len(rates), cause=_cause(measured))
        return Verdict.undecided(note, required, shown)
    return Verdict.of(
        True, shown, required, "B/s", measured.remarks(), (Quantity("bytes per second", found.mean, "B/s"),)
    )


def steady(rounds: Sequence[Round], range_percent: float, rise_percent: float, window: int) -> bool:
    """Whether enough rounds were made: what a trial goes on by."""
    try:
        found = steadiness([one.bytes_per_second for one in rounds], window)
    except ValueError:
        return False
    return found.holds(range_percent, rise_percent)


def added_latency(near: Measured[Round], far: Measured[Round], most_us: float, most_variation: float) -> Verdict:
    """What the fabric adds to a single read: the difference of the medians at 50 percent, at most ``most_us``."""
    required = say("at most {most:g} us more than the local disk", most=most_us)
    sides = [_at(side, 50.0) for side in (near, far)]
    if not all(sides):
        return Verdict.undecided(say("fio kept no latency at 50 %"), required)
    for side, values in zip((near, far), sides, strict=True):
        if len(values) < 2 or variation_percent(values) > most_variation:
            return Verdict.undecided(say("the rounds vary too much to tell: {cause}", cause=_cause(side)), required)
    local, remote = (median(side) for side in sides)
    shown = say("{added:+.1f} us ({far:.1f} us against {near:.1f} us)", added=remote - local, far=remote, near=local)
    quantity = Quantity("added latency", remote - local, "us")
    note = beside(near.remarks(), far.remarks())
    return Verdict.of(remote - local <= most_us, shown, required, "us", note, (quantity,))


def payload_rate(bits_per_second: float, mtu: int) -> float:
    """Bytes a second that a RoCE port carries at most: its rate times the share of a frame that is payload."""
    return bits_per_second / 8 * mtu / (mtu + _FRAME)


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


def _cause(measured: Measured[Round]) -> Phrase:
    """What was seen beside the rounds that may explain why they differ."""
    heat = [one for found in measured.facts for one in found.celsius if one is not None]
    busy = [found.cpu_percent for found in measured.facts if found.cpu_percent is not None]
    seen: list[Phrase] = []
    told = any(look.celsius for hosts in measured.around for one in hosts.values() for look in (one.before, one.after))
    if heat and not told and max(heat) - min(heat) >= 5:
        seen.append(say("the disk went from {low} to {high} C", low=min(heat), high=max(heat)))
    if busy and max(busy) >= 90:
        seen.append(say("fio needed {cpu:.0f} percent of a core", cpu=max(busy)))
    watched = [found for found in measured.facts if isinstance(found.watched, Watched)]
    if any(
        found.watched.bytes_per_second > 1.05 * found.bytes_per_second
        for found in watched
        if isinstance(found.watched, Watched)
    ):
        seen.append(say("other load was on the device"))
    return cause(measured.around, seen)
