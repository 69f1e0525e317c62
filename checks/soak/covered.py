"""When a soak covers the time that was agreed: qualified hours, interruptions, sampling, clocks, all hosts together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from checks.phrase import Phrase, joined, say
from checks.soak.accounting import Span, State, passable
from checks.soak.causes import RACK
from checks.soak.facts import HostSoak
from checks.soak.judging import ahead, count, finished, when
from checks.verdict import Quantity, Verdict

_NAMED = 4


def qualified(soak: HostSoak, hours: float, simulated: bool = False) -> Verdict:
    """At least ``hours`` of the soak count: every minute accounted for, between interruptions that cost the time before them.

    A soak whose hours are no hours (scaled) counts for simulated racks alone.
    """
    account = soak.account
    required = say("at least {hours:g} h that count", hours=hours)
    minutes = {state: account.minutes(state) for state in State}
    measured = say(
        "{hours:.2f} h count; of {planned} minutes running {running}, planned restarts {scheduled}, resumed {resumed}, "
        "interrupted {interrupted}, gap {gap}, ahead {ahead}",
        hours=account.qualified / 60, planned=account.planned, running=minutes[State.RUNNING],
        scheduled=minutes[State.SCHEDULED], resumed=minutes[State.RESUMED], interrupted=minutes[State.INTERRUPTED],
        gap=minutes[State.GAP], ahead=minutes[State.AHEAD],
    )  # fmt: skip
    quantities = count("qualified", account.qualified / 60, "h")
    if account.planned == 0:
        return Verdict.undecided(say("the plan has no minute"), required, measured)
    if soak.plan.scale != 1 and not simulated:
        note = say("the soak ran {scale:g} times as fast as time: that is for simulated racks", scale=soak.plan.scale)
        return Verdict.undecided(note, required, measured)
    enough = account.qualified >= hours * 60
    broken = account.of(State.INTERRUPTED)
    if soak.running:
        return Verdict.undecided(ahead(soak), required, measured)
    if enough:
        return Verdict.of(True, measured, required, "h", quantities=quantities)
    if broken:
        return Verdict.of(False, measured, required, "h", note=_spans(broken), quantities=quantities)
    if gaps := account.of(State.GAP):
        note = say("nobody knows what was in {spans}", spans=_spans(gaps))
        return Verdict.undecided(note, required, measured)
    note = say("the plan is of {hours:.2f} h only: start a longer soak", hours=soak.plan.seconds / 3600)
    return Verdict.undecided(note, required, measured)


def _spans(spans: Sequence[Span]) -> Phrase:
    shown = [
        say(
            "{when}, {minutes} min: {cause}",
            when=when(span.begin), minutes=span.minutes, cause=" ".join(filter(None, (span.cause, span.detail))) or "-",
        )
        for span in spans[:_NAMED]
    ]  # fmt: skip
    if len(spans) > _NAMED:
        shown.append(say("and {more} more", more=len(spans) - _NAMED))
    return joined(shown)


def uninterrupted(soak: HostSoak) -> Verdict:
    """Array, links, disks, mounts and engine were never away. What else interrupted the soak costs time, which G4.1.1 counts.

    By ``restart_clock`` it costs all the time before it; by ``resume`` its own minutes, where it is short and there are few.
    """
    policy = soak.plan.policy
    required = say(
        "no interruption by array, link, disk, mount or engine; what else there was costs time, by the policy {policy}",
        policy=policy.interruption,
    )
    broken = soak.account.of(State.INTERRUPTED)
    if bad := [span for span in broken if span.cause in RACK]:
        measured = say("interruptions: {count}", count=len(broken))
        return Verdict.of(False, measured, required, note=_spans(bad), quantities=count("interruptions", len(broken)))
    if not soak.account.spans:
        return Verdict.undecided(say("the plan has no minute"), required)
    brief = [one for one in soak.breaks if one.end - one.begin <= 60]
    passed = [span for span in broken if passable(span, policy)]
    measured = say(
        "interruptions: {count}, none by the rack, short enough to be passed over: {passed}; pauses below a minute: {brief}",
        count=len(broken), passed=len(passed), brief=len(brief),
    )  # fmt: skip
    quantities = count("interruptions", len(broken))
    note = _spans(broken) if broken else None
    return finished(soak, Verdict.of(True, measured, required, note=note, quantities=quantities))


def sampled(soak: HostSoak, streams: Sequence[str], share: float) -> Verdict:
    """Every stream that was agreed was sampled, and every planned one to its share. A gap never stops: it is not known."""
    required = say(
        "at least {share:g} percent of the samples of every stream, {streams} among them",
        share=share * 100, streams=", ".join(streams),
    )  # fmt: skip
    planned = {one.stream for one in soak.sampled}
    if not planned or (absent := [one for one in streams if one not in planned]):
        names = ", ".join(streams if not planned else absent)
        return Verdict.undecided(say("the plan does not sample {streams}", streams=names), required)
    poor = [one for one in soak.sampled if one.wanted == 0 or one.share < share]
    worst = min(soak.sampled, key=lambda one: one.share)
    measured = say("{stream} {share:.2f} %", stream=worst.stream, share=worst.share * 100)
    quantities = count("sampled", worst.share * 100, "%")
    if poor:
        shown = [
            say(
                "{stream} {subject}: {got} of {wanted}, silent for {longest:.0f} s from {when} ({why})",
                stream=one.stream, subject=one.subject or "-", got=one.got, wanted=one.wanted, longest=one.longest,
                when=when(int(one.at // 60)), why=one.why or say("no reason given"),
            )
            for one in poor[:_NAMED]
        ]  # fmt: skip
        return Verdict.undecided(joined(shown), required, measured)
    if twice := [one for one in soak.sampled if one.twice > 0]:
        names = ", ".join(one.stream for one in twice)
        return Verdict.undecided(say("samples stand twice in {streams}", streams=names), required, measured)
    return finished(soak, Verdict.of(True, measured, required, "%", quantities=quantities))


def clocks(soak: HostSoak, offset_ms: float, jump_ms: float) -> Verdict:
    """The host's clock stayed within ``offset_ms`` at every sample and never moved by more than ``jump_ms``."""
    required = say(
        "offset within {offset:g} ms at every sample, no step above {jump:g} ms", offset=offset_ms, jump=jump_ms
    )
    clock = soak.clock
    jumps = [one for one in soak.steps if abs(one.seconds) * 1000 > jump_ms]
    if jumps:
        measured = say("stepped by {seconds:+.3f} s", seconds=jumps[0].seconds)
        note = say("{when}: times of that minute cannot be joined with other hosts", when=when(int(jumps[0].at // 60)))
        return Verdict.of(False, measured, required, note=note, quantities=count("steps", len(jumps)))
    if clock is None or clock.read == 0:
        why = clock.why if clock is not None else say("no sample")
        return Verdict.undecided(say("the clock's daemon told nothing: {why}", why=why), required)
    measured = say("largest offset {offset:.3f} ms, {when}", offset=clock.largest * 1000, when=when(clock.largest_at))
    quantities = (Quantity("largest offset", clock.largest * 1000, "ms"),)
    if clock.unsynchronised:
        note = say("not synchronised from {when}", when=when(clock.first_unsynchronised))
        return Verdict.of(False, measured, required, "ms", note=note, quantities=quantities)
    return finished(
        soak, Verdict.of(clock.largest * 1000 <= offset_ms, measured, required, "ms", quantities=quantities)
    )


def watched_cheaply(soak: HostSoak, share: float) -> Verdict:
    """The worker itself took no more than ``share`` of one core."""
    required = say("at most {share:g} percent of one core", share=share * 100)
    found = soak.gauge("worker", "cpu_seconds")
    real = soak.last / soak.plan.scale if soak.plan.scale else 0.0
    if not found or real <= 0:
        return Verdict.undecided(say("the worker did not tell what it took"), required)
    took = max(one.high for one in found) / real
    measured = say("{share:.3f} percent of one core", share=took * 100)
    return finished(
        soak, Verdict.of(took <= share, measured, required, "%", quantities=count("worker", took * 100, "%"))
    )


def together(soaks: Mapping[str, HostSoak], hours: float) -> Verdict:
    """All hosts took part in one soak, and the time that counts is the same time on all of them."""
    required = say("at least {hours:g} h that count on all hosts at once, of one soak", hours=hours)
    if not soaks:
        return Verdict.undecided(say("no host has a journal"), required)
    names = sorted({soak.plan.soak for soak in soaks.values()})
    if len(names) != 1:
        return Verdict.undecided(say("the hosts ran different soaks: {names}", names=", ".join(names)), required)
    earliest = min(soak.begun_utc for soak in soaks.values())
    common: frozenset[int] | None = None
    for soak in soaks.values():
        late = round((soak.begun_utc - earliest) / 1e6 * soak.plan.scale / 60)
        mine = frozenset(minute + late for minute in soak.account.counted())
        common = mine if common is None else common & mine
    shared = len(common or ()) / 60
    measured = say("{hours:.2f} h on {count} hosts", hours=shared, count=len(soaks))
    quantities = count("shared", shared, "h")
    running = [soak for soak in soaks.values() if soak.running]
    if running:
        return Verdict.undecided(say("{count} hosts still run", count=len(running)), required, measured)
    if shared < hours:
        broken = {host: soak.account.of(State.INTERRUPTED) for host, soak in sorted(soaks.items())}
        parts = [say("{host}: {spans}", host=host, spans=_spans(spans)) for host, spans in broken.items() if spans]
        if not parts:
            return Verdict.undecided(say("gaps, or plans that are too short, leave less"), required, measured)
        return Verdict.of(False, measured, required, "h", note=joined(parts), quantities=quantities)
    return Verdict.of(True, measured, required, "h", quantities=quantities)
