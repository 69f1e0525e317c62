"""May a gate start now? Every reason why not, each with the command that removes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from checks.phrase import Phrase, joined, listed, plain, say
from kvgate.campaign.commands import to_run
from kvgate.campaign.scopes import touching
from kvgate.campaign.standing import Attempt, Campaign, Elsewhere
from kvgate.certificates.code import code_version
from kvgate.inventory.calendar import GATES
from kvgate.inventory.model import Rack


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason, and what to do about it.

    ``kind``: open, stopped, unjudged, missing, unsigned, ticket, changed, agreement, expired, keys.
    """

    kind: str
    why: Phrase
    do: Phrase


@dataclass(frozen=True, slots=True)
class Opening:
    """What a gate starts on: the attempt that passed the gate before it (None for G1), or the obstacles."""

    gate: str
    after: Attempt | None
    obstacles: tuple[Obstacle, ...]


def before(gate: str) -> str | None:
    """Return the gate that must be passed first, None for G1."""
    place = GATES.index(gate)
    return GATES[place - 1] if place else None


def opening(
    campaign: Campaign, gate: str, rack: Rack, agreement: str, at: datetime, *, resumed: str | None = None
) -> Opening:
    """Say whether ``gate`` may start on this rack by the agreement with this digest. ``resumed`` is a run that goes on."""
    found = [_open(one) for one in campaign.attempts if one.open and one.run.id != resumed]
    ended = [one for one in campaign.stopping() if one.run.id != resumed and not (one.open and one.unjudged)]
    found += [_stopped(one) for one in ended]
    found += [obstacle for other in campaign.elsewhere for obstacle in _elsewhere(other)]
    previous = before(gate)
    if previous is None:
        return Opening(gate, None, tuple(found))
    passes = campaign.passes(previous)
    judged = [(one, flaws(campaign, one, rack, agreement, at)) for one in passes]
    if not judged:
        return Opening(gate, None, (*found, _missing(campaign, previous)))
    after, wrong = next(((one, bad) for one, bad in judged if not bad), judged[0])
    return Opening(gate, after, (*found, *wrong))


def _elsewhere(other: Elsewhere) -> list[Obstacle]:
    """What ended the same rack under another name, an attempt that is open and had come to STOP too; others are only counted."""
    found: list[Obstacle] = []
    for attempt in other.stopping:
        run = attempt.run
        if attempt.unjudged:
            one = _open(attempt) if attempt.open else _unjudged(attempt)
            why = say("on this very rack, in campaign {campaign}: {why}", campaign=other.campaign, why=one.why)
            found.append(Obstacle(one.kind, why, one.do))
            continue
        why = say(
            "this very rack ended campaign {campaign} with the STOP of {gate} (attempt {attempt}, run {run}): another name "
            "for the campaign does not change that; it is known by {parts}",
            campaign=other.campaign, gate=run.gate, attempt=run.attempt, run=run.id, parts=_known_by(other),
        )  # fmt: skip
        if (held := _held(attempt)) is not None:
            found.append(Obstacle("stopped", joined([why, held]), _make_it_count(attempt)))
            continue
        do = say(
            "both parties reopen it: kvgate reopen --campaign {campaign} --reason '...' --key FILE --party NAME, and kvgate "
            "cosign; or both accept the deviation: kvgate waive {run} CLAUSE ...",
            campaign=other.campaign, run=run.id,
        )  # fmt: skip
        found.append(Obstacle("stopped", why, do))
    return found


def _known_by(other: Elsewhere) -> Phrase:
    parts = listed(other.shared) if other.shared else plain("-")
    more = other.count - len(other.shared)
    return say("{parts} and {count} more parts", parts=parts, count=more) if more else parts


def flaws(campaign: Campaign, attempt: Attempt, rack: Rack, agreement: str, at: datetime) -> list[Obstacle]:
    """Why a PASS does not open the next gate any more, or not yet."""
    run = attempt.run
    again = say("run {gate} again: {command}", gate=run.gate, command=to_run(run.gate))
    found = []
    if run.simulated is not rack.simulated:
        found.append(
            Obstacle(
                "changed", say("{gate} passed on another kind of rack: one of them is simulated", gate=run.gate), again
            )
        )
    if campaign.ordered(attempt) is None:
        why = say("the inventory of run {run} cannot be read by this version of kvgate", run=run.id)
        found.append(Obstacle("changed", why, again))
    for change in touching(run.gate, campaign.changed(attempt, rack)):
        why = say("{gate} passed on another rack: {change}", gate=run.gate, change=change.phrase())
        found.append(Obstacle("changed", why, again))
    if run.acceptance_digest != agreement:
        why = say(
            "{gate} passed by agreement {before}, now it is {now}",
            gate=run.gate,
            before=run.acceptance_digest[:16],
            now=agreement[:16],
        )
        do = say("restore that agreement, or run {gate} again by the new one", gate=run.gate)
        if run.code != (now := code_version()):
            why = joined(
                [why, say("kvgate was {then} and is {now}: its clauses may be others", then=run.code, now=now)]
            )
            do = say(
                "go on with kvgate {then} and that agreement until the campaign ends, or run {gate} again by the new one",
                then=run.code, gate=run.gate,
            )  # fmt: skip
        found.append(Obstacle("agreement", why, do))
    if (end := attempt.expires(rack)) <= at:
        found.append(
            Obstacle("expired", say("the PASS of {gate} counted until {end} UTC", gate=run.gate, end=_time(end)), again)
        )
    if attempt.certified.state != "FINAL":
        found.append(_unsigned(attempt))
    return found


def _open(attempt: Attempt) -> Obstacle:
    run = attempt.run
    why = say(
        "attempt {attempt} at {gate} (run {run}, started {started} UTC on {host}) has no end yet",
        attempt=run.attempt, gate=run.gate, run=run.id, started=run.started[:16].replace("T", " "), host=run.host,
    )  # fmt: skip
    do = say(
        "let it end if it still runs; else take it up again (pytest -m {gate} --only-stale ...), or close it, which judges what it saw: "
        "kvgate close {run} --reason '...'",
        gate=run.gate, run=run.id,
    )  # fmt: skip
    return Obstacle("open", why, do)


def _unjudged(attempt: Attempt) -> Obstacle:
    run = attempt.run
    why = say(
        "attempt {attempt} at {gate} (run {run}) ended early, and nobody judged what it had seen by then: that may be a STOP",
        attempt=run.attempt, gate=run.gate, run=run.id,
    )  # fmt: skip
    do = say(
        "judge it: kvgate close {run} --reason '...'; where its evidence is lost, both parties reopen the campaign: kvgate reopen "
        "--campaign {campaign} --reason '...' --key FILE --party NAME, and kvgate cosign",
        run=run.id, campaign=run.campaign,
    )  # fmt: skip
    return Obstacle("unjudged", why if (held := _held(attempt)) is None else joined([why, held]), do)


def _stopped(attempt: Attempt) -> Obstacle:
    run = attempt.run
    if attempt.unjudged:
        return _unjudged(attempt)
    if attempt.decided:
        many = say("{count} clause", count=1) if attempt.stops == 1 else say("{count} clauses", count=attempt.stops)
        why = say(
            "the campaign ended with the STOP of {gate} (attempt {attempt}, run {run}, {many})",
            gate=run.gate, attempt=run.attempt, run=run.id, many=many,
        )  # fmt: skip
    else:
        many = say("{count} verdict", count=1) if attempt.stops == 1 else say("{count} verdicts", count=attempt.stops)
        why = say(
            "attempt {attempt} at {gate} (run {run}) ended early after {many} had come to STOP: that counts as a STOP",
            gate=run.gate, attempt=run.attempt, run=run.id, many=many,
        )  # fmt: skip
    if (held := _held(attempt)) is not None:
        return Obstacle("stopped", joined([why, held]), _make_it_count(attempt))
    do = say(
        "mend what stopped it (kvgate show {run}), then both parties reopen the campaign: kvgate reopen --reason '...' "
        "--key FILE --party NAME, and kvgate cosign; or both accept the deviation: kvgate waive {run} CLAUSE ...",
        run=run.id,
    )
    if not attempt.decided:  # there is no decision that a waiver could be about
        do = say(
            "mend what stopped it (kvgate show {run}), then both parties reopen the campaign: kvgate reopen --reason '...' "
            "--key FILE --party NAME, and kvgate cosign",
            run=run.id,
        )
    return Obstacle("stopped", why, do)


def _held(attempt: Attempt) -> Phrase | None:
    """Why what both parties may have signed about a STOP does not count; None where nothing is there."""
    idle = [one.why for one in attempt.waivers if not one.counts and one.why is not None]
    if attempt.unopened is None and idle:
        return say("a waiver is there: {why}", why=idle[-1])
    return attempt.unopened


def _make_it_count(attempt: Attempt) -> Phrase:
    if attempt.untrusted:
        return say(
            "name a trust file: --trust FILE (or KVGATE_TRUST), or put both parties' public keys where the inventory says"
        )
    return say(
        "see whose signature is missing or does not count (kvgate status --trust FILE), and co-sign: kvgate cosign FILE; or sign "
        "anew: kvgate reopen --campaign {campaign} --reason '...' --key FILE --party NAME",
        campaign=attempt.run.campaign,
    )


def _missing(campaign: Campaign, gate: str) -> Obstacle:
    tried = campaign.of(gate)
    if not tried:
        why = say("{gate} was never run in campaign {campaign}", gate=gate, campaign=campaign.name)
    elif (taken := campaign.taken_back(gate)) is not None:
        why = taken_back(*taken)
    else:
        last = tried[-1]
        why = say(
            "{gate} has no PASS: attempt {attempt} came to {outcome}",
            gate=gate,
            attempt=last.run.attempt,
            outcome=last.outcome.value,
        )
    return Obstacle("missing", why, say("run it: {command}", command=to_run(gate)))


def taken_back(passed: Attempt, by: Attempt) -> Phrase:
    """Say why a PASS counts no more: a later STOP of its own gate, or of one that it stands on."""
    if passed.run.gate == by.run.gate:
        return say(
            "the PASS of {gate} (attempt {attempt}) no longer counts: attempt {later} came to STOP",
            gate=passed.run.gate, attempt=passed.run.attempt, later=by.run.attempt,
        )  # fmt: skip
    return say(
        "the PASS of {gate} (attempt {attempt}) no longer counts: it stands on {before}, and attempt {later} at {before} came to "
        "STOP after it: {gate} is to be run again",
        gate=passed.run.gate, attempt=passed.run.attempt, before=by.run.gate, later=by.run.attempt,
    )  # fmt: skip


def _unsigned(attempt: Attempt) -> Obstacle:
    run = attempt.run
    state = attempt.certified.state
    if state == "DRAFT":
        why = say("the certificate of {gate} (run {run}) is a DRAFT: one party has signed", gate=run.gate, run=run.id)
        return Obstacle(
            "unsigned", why, say("the other party signs: kvgate cosign FILE --key FILE --party NAME --trust FILE")
        )
    if state == "UNTRUSTED":
        why = say(
            "the certificate of {gate} (run {run}) is there, but it is not known whose signatures count",
            gate=run.gate,
            run=run.id,
        )
        do = say(
            "name a trust file: --trust FILE (or KVGATE_TRUST), or put both parties' public keys where the inventory says"
        )
        return Obstacle("unsigned", why, do)
    if state == "REFUSED":
        why = say(
            "the certificate of {gate} (run {run}) carries a signature that does not count", gate=run.gate, run=run.id
        )
        do = say(
            "see why: kvgate verify FILE --trust FILE; then certify it anew into another file, and let the other party co-sign "
            "that: kvgate certify {run} --key FILE --party NAME -o FILE",
            run=run.id,
        )
        return Obstacle("unsigned", why, do)
    if not attempt.countable:
        why = say(
            "the PASS of {gate} (run {run}) cannot be certified: no party signed its start ticket before it asked",
            gate=run.gate, run=run.id,
        )  # fmt: skip
        do = say("run {gate} again, signed: {command}", gate=run.gate, command=to_run(run.gate))
        return Obstacle("unsigned", why, do)
    why = say("the PASS of {gate} (run {run}) is not certified", gate=run.gate, run=run.id)
    do = say(
        "both parties sign: kvgate certify {run} --key FILE --party NAME, then kvgate cosign by the other party",
        run=run.id,
    )
    return Obstacle("unsigned", why, do)


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")
