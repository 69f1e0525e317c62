"""When a soak was free of errors: counters by difference, the kernel's log, paths, links, engine, requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from checks.phrase import Phrase, joined, say
from checks.soak.causes import Outage
from checks.soak.counters import Counted, Rise
from checks.soak.facts import HostSoak
from checks.soak.judging import count, finished, loads_of, untold, when
from checks.soak.log import BY_RATE, HARMLESS, RECONNECTS
from checks.soak.requests import Requests
from checks.verdict import Outcome, Quantity, Verdict

_NAMED = 4


def unmoved(soak: HostSoak, group: str, streams: Sequence[str], allowed: float = 0) -> Verdict:
    """No counter of the group rose by more than ``allowed`` over the soak; what it stood at before does not matter."""
    required = say("no counter rises by more than {allowed:g}", allowed=allowed)
    found = soak.counted.get(group, Counted(0, (), ()))
    rose = [one for one in found.moved if one.by > allowed]
    if rose:
        first = min(rose, key=lambda one: (one.minute is None, one.minute or 0))
        total = sum(one.by for one in rose)
        shown = joined([_rise(one) for one in sorted(rose, key=lambda one: one.minute or 0)[:_NAMED]])
        return Verdict.of(
            False,
            shown,
            required,
            note=say("first in {when}", when=when(first.minute)),
            quantities=count("errors", total),
        )
    if (why := untold(soak, streams, required)) is not None:
        return why
    if found.untold:
        parts = [say("{stream}: {why}", stream=stream, why=why) for stream, why in found.untold]
        return Verdict.undecided(joined(parts), required)
    if back := [one for one in found.moved if one.back is not None]:
        note = joined([
            say(
                "{subject} {field} went backwards in {when}: driver reloaded or counter reset, what it held is lost",
                subject=one.subject, field=one.field, when=when(one.back),
            )
            for one in back[:_NAMED]
        ])  # fmt: skip
        return Verdict.undecided(note, required)
    if found.watched == 0:
        return Verdict.undecided(say("none of the counters that this clause is about stands in the journal"), required)
    measured = say("{count} counters, none rose", count=found.watched)
    return finished(soak, Verdict.of(True, measured, required, quantities=count("errors", 0)))


def _rise(one: Rise) -> Phrase:
    return say(
        "{subject} {field} +{by:g} from {when}", subject=one.subject, field=one.field, by=one.by, when=when(one.minute)
    )


def accelerators_well(soak: HostSoak) -> Verdict:
    """No card counted an uncorrected error; those that were corrected are told and stop nothing."""
    verdict = unmoved(soak, "accelerator", ("accelerator",))
    rose = [one for one in soak.counted.get("corrected", Counted(0, (), ())).moved if one.by]
    if verdict.outcome is not Outcome.PASS or not rose:
        return verdict
    return replace(verdict, note=say("corrected: {rises}", rises=joined([_rise(one) for one in rose[:_NAMED]])))


def uncongested(soak: HostSoak, share: float) -> Verdict:
    """No pause storm, and the ports stood still for at most ``share`` of the time."""
    storms = unmoved(soak, "storm", ("ethtool",))
    if storms.outcome.value == "STOP":
        return storms
    required = say("paused for at most {share:g} percent of the time, no pause storm", share=share * 100)
    if (why := untold(soak, ("ethtool",), required)) is not None:
        return why
    found = soak.counted.get("pause", Counted(0, (), ()))
    if found.watched == 0 or soak.last <= 0:
        return Verdict.not_offered(say("the driver has no counter of the time that a port was paused"), required)
    real = soak.last / soak.plan.scale
    worst = max(found.moved, key=lambda one: one.by, default=None)
    part = worst.by / 1e6 / real if worst is not None else 0.0
    measured = say("paused for {share:.3f} percent of the time", share=part * 100)
    note = (
        say("{subject} {field}, from {when}", subject=worst.subject, field=worst.field, when=when(worst.minute))
        if worst
        else None
    )
    verdict = Verdict.of(part <= share, measured, required, "%", note=note, quantities=count("paused", part * 100, "%"))
    return finished(soak, verdict)


def paths_stayed(soak: HostSoak) -> Verdict:
    """No path to the array was lost, not even one that came back: every sample and every record of the log says so."""
    required = say("live in every sample, no reconnect in the log")
    away = [one for one in soak.outages if one.cause == "array"]
    logged = soak.log.of(*RECONNECTS) if soak.log is not None else ()
    resets = [one for one in soak.counted.get("reset", Counted(0, (), ())).moved if one.by]
    if away or logged or resets:
        minutes = (
            [int(one.begin // 60) for one in away]
            + [one.minute for one in logged]
            + [one.minute or 0 for one in resets]
        )
        parts: list[Phrase | str] = [_outage(one) for one in away[:_NAMED]]
        parts += [
            say("log, {when}: {message}", when=when(one.minute), message=one.message[:120]) for one in logged[:_NAMED]
        ]
        parts += [_rise(one) for one in resets[:_NAMED]]
        note = say("first in {when}", when=when(min(minutes)))
        return Verdict.of(
            False, joined(parts), required, note=note, quantities=count("losses", len(away) + len(logged))
        )
    if (why := untold(soak, ("nvme", "kernel"), required)) is not None:
        return why
    if soak.log is None or soak.log.lost:
        return Verdict.undecided(say("the kernel's log is not whole: silence is not proved"), required)
    if not any(key[0] == "nvme" for key in soak.first):
        return Verdict.undecided(say("the journal knows no controller"), required)
    return finished(soak, Verdict.of(True, say("live throughout"), required, quantities=count("losses", 0)))


def _outage(one: Outage) -> Phrase:
    return say(
        "{what} away for {seconds:.0f} s in {when}",
        what=one.detail or one.cause, seconds=one.end - one.begin, when=when(int(one.begin // 60)),
    )  # fmt: skip


def links_stayed(soak: HostSoak) -> Verdict:
    """No port that carried the soak went down, not even for a moment between two samples."""
    away = [one for one in soak.outages if one.cause == "link"]
    required = say("up in every sample, no change of carrier between them")
    moved = [one for one in soak.counted.get("link", Counted(0, (), ())).moved if one.by]
    if away or moved:
        parts = [*map(_outage, away[:_NAMED]), *map(_rise, moved[:_NAMED])]
        first = min([int(one.begin // 60) for one in away] + [one.minute or 0 for one in moved])
        return Verdict.of(
            False, joined(parts), required, note=say("first in {when}", when=when(first)), quantities=count("changes", len(parts))
        )  # fmt: skip
    return unmoved(soak, "link", ("net",))


def log_silent(soak: HostSoak) -> Verdict:
    """The kernel wrote no known wording of trouble; reconnects and corrected errors have clauses of their own."""
    required = say("no trouble in the kernel's log")
    if soak.log is not None:
        bad = [one for one in soak.log.events if one.kind not in HARMLESS | RECONNECTS | BY_RATE]
        if bad:
            parts = [say("{when}: {message}", when=when(one.minute), message=one.message[:160]) for one in bad[:_NAMED]]
            measured = say("log lines: {count}", count=len(bad))
            return Verdict.of(False, measured, required, note=joined(parts), quantities=count("log lines", len(bad)))
    if (why := untold(soak, ("kernel",), required)) is not None:
        return why
    if soak.log is None or soak.log.lost:
        at = soak.log.lost_at if soak.log is not None else None
        note = say("records were overwritten before they were read, {when}: silence is not proved", when=when(at))
        return Verdict.undecided(note, required)
    measured = say("{count} records, none of trouble", count=soak.log.records)
    return finished(soak, Verdict.of(True, measured, required, quantities=count("log lines", 0)))


def engines_stayed(soaks: Mapping[str, HostSoak]) -> Verdict:
    """Every planned process was there at every sample, and was another one only after a planned restart."""
    required = say("no process gone or begun anew outside planned restarts")
    mine = {host: soak for host, soak in sorted(soaks.items()) if "process" in soak.plan.streams}
    away = [(host, one) for host, soak in mine.items() for one in soak.outages if one.cause == "engine"]
    if away:
        first = min(int(one.begin // 60) for _, one in away)
        shown = joined([say("{host}: {what}", host=host, what=_outage(one)) for host, one in away[:_NAMED]])
        note = say("first in {when}", when=when(first))
        return Verdict.of(False, shown, required, note=note, quantities=count("losses", len(away)))
    if not mine:
        return Verdict.undecided(say("no plan watches a process: name the engine's unit in `soak`"), required)
    for soak in mine.values():
        if (why := untold(soak, ("process",), required)) is not None:
            return why
    restarts = sum(
        1 for soak in mine.values() for one in soak.loads if one.what == "begin" and one.fields.get("scheduled") is True
    )
    verdict = Verdict.of(
        True, say("none; planned restarts: {count}", count=restarts), required, quantities=count("losses", 0)
    )
    for soak in mine.values():
        verdict = finished(soak, verdict)
    return verdict


def requests_answered(soaks: Mapping[str, HostSoak], load: str, share: float) -> Verdict:
    """At most ``share`` of the requests failed outside planned restarts."""
    required = say("at most {share:g} percent of the requests fail", share=share * 100)
    mine = {(host, name): soak for host, soak in soaks.items() for name in loads_of(soak, load)}
    if not mine:
        return Verdict.undecided(say("no plan has the load {load}", load=load), required)
    failed = total = 0
    parts: list[Phrase | str] = []
    for (host, name), soak in sorted(mine.items(), key=lambda one: one[0]):
        found = soak.requests.get(name, "no request")
        if not isinstance(found, Requests):
            return Verdict.undecided(say("{host}: {why}", host=host, why=found), required)
        failed, total = failed + found.failed, total + found.total
        if found.failed:
            parts.append(
                say("{host}: {count} from {when}", host=host, count=found.failed, when=when(found.first_failed))
            )
    if total == 0:
        return Verdict.undecided(say("no request was made"), required)
    measured = say("{failed} of {total} failed", failed=failed, total=total)
    quantities = (Quantity("failed", failed / total * 100, "%"),)
    verdict = Verdict.of(
        failed <= share * total, measured, required, "%", note=joined(parts) if parts else None, quantities=quantities
    )
    for soak in mine.values():
        verdict = finished(soak, verdict)
    return verdict
