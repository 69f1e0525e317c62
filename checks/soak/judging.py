"""What all clauses of a soak share: how a minute is told, and that nothing passes before the soak came to its end."""

from __future__ import annotations

from collections.abc import Sequence

from checks.phrase import Phrase, say
from checks.soak.facts import HostSoak
from checks.verdict import Outcome, Quantity, Verdict


def when(minute: int | None) -> Phrase:
    """A minute of the soak as people read it."""
    if minute is None:
        return say("at a time that nobody can tell")
    return say("minute {minute} (hour {hour:.1f})", minute=minute, hour=minute / 60)


def finished(soak: HostSoak, verdict: Verdict) -> Verdict:
    """A PASS only of a soak that came to its end; one that still runs is UNDECIDED, with the time left."""
    if verdict.outcome is not Outcome.PASS or not soak.running:
        return verdict
    note = say("good so far; {ahead}: judge again when it has ended", ahead=ahead(soak))
    return Verdict.undecided(note, verdict.required, verdict.measured)


def ahead(soak: HostSoak) -> Phrase:
    """What is still to come of a soak that has not ended."""
    left = max(0.0, soak.plan.seconds - soak.last) / 3600
    if soak.gone:
        return say(
            "the worker was killed {left:.1f} h before the end and left no word: `kvgate soak start` resumes it, `kvgate soak stop` gives "
            "it up",
            left=left,
        )  # fmt: skip
    return say("the soak runs for another {left:.1f} h", left=left)


def loads_of(soak: HostSoak, load: str) -> list[str]:
    """Loads of a host's plan with that name, and those beside it that differ in a number at the end alone."""
    return [one.name for one in soak.plan.loads if one.name.rstrip("0123456789") == load]


def lacking(soak: HostSoak, streams: Sequence[str]) -> list[str]:
    """Streams that the plan does not have, or that gave not one sample that tells anything."""
    told = {one.stream for one in soak.sampled if one.got}
    return [stream for stream in streams if stream not in told]


def untold(soak: HostSoak, streams: Sequence[str], required: Phrase) -> Verdict | None:
    """UNDECIDED where a stream told nothing at all; declarable where the machine says that it has no such thing."""
    missing = lacking(soak, streams)
    if not missing:
        return None
    why = {one.stream: one.why for one in soak.sampled}
    reasons = ", ".join(f"{stream} ({why.get(stream) or 'not planned or no sample'})" for stream in missing)
    note = say("the journal tells nothing of {streams}", streams=reasons)
    absent = all("no such" in why.get(stream, "").lower() for stream in missing)
    return Verdict.not_offered(note, required) if absent else Verdict.undecided(note, required)


def count(name: str, value: float, unit: str = "") -> tuple[Quantity, ...]:
    """One quantity."""
    return (Quantity(name, float(value), unit),)
