"""A certificate in a few plain lines: what somebody is about to sign, and what each check came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checks.phrase import Phrase, say
from checks.verdict import SEVERITY, Outcome
from kvgate.certificates.decision import BegunSoak, Certificate, Clause, GateDecision
from kvgate.certificates.examine import Examination
from kvgate.reports.grouping import order
from kvgate.reports.messages import Reader

#: How each check is called, by its stable name.
TITLES: Mapping[str, Phrase] = {
    "envelope": say("envelope"),
    "statement": say("statement"),
    "timestamp": say("time stamp"),
    "signatures": say("signatures"),
    "parties": say("parties"),
    "ticket": say("start ticket"),
    "validity": say("validity"),
    "rack": say("rack"),
    "decision": say("decision"),
    "previous": say("gate before"),
    "evidence": say("evidence"),
    "basis": say("basis"),
    "hosts": say("hosts"),
    "origin": say("origin"),
    "judgement": say("judgement"),
    "numbers": say("numbers"),
    "attempts": say("attempts"),
    "waivers": say("waivers"),
}

_SHOWN = 12


def checks(found: Examination, read: Reader) -> Iterator[str]:
    """One line a check: outcome, name, what was found."""
    for one in found.checks:
        title = read.phrase(TITLES[one.name])
        yield f"{one.outcome.value:<9}  {title}{read(': ')}{read.phrase(one.found)}"


def keys(found: GateDecision, read: Reader) -> Iterator[str]:
    """Whose keys counted when the run began, and whether a trust file of the operator said so."""
    for one in found.parties:
        yield (
            read("key of {party} by the operator's own trust file: {key}", party=one.party, key=one.key)
            if (one.by == "trust")
            else read("key of {party} by the inventory: {key}", party=one.party, key=one.key)
        )


def summary(certificate: Certificate, read: Reader) -> Iterator[str]:
    """What the certificate says, in the order in which one asks."""
    found = certificate.predicate
    yield ""
    mark = read(" (simulated)") if found.simulated else ""
    yield f"{found.gate} {found.rack}{mark}{read(': ')}{decided(certificate, read)}"
    yield read("campaign {campaign}, attempt {attempt}, run {run}", campaign=found.campaign, attempt=found.attempt,
               run=found.run)  # fmt: skip
    for one in found.attempts:
        name = str(one.attempt) if one.campaign == found.campaign else f"{one.campaign} {one.attempt}"
        yield "  " + read("attempt {number} before it: {outcome} ({run}, {time})", number=name,
                          outcome=one.outcome, run=one.run, time=one.started[:19] + "Z")  # fmt: skip
    for soak in found.soaks:
        yield "  " + _begun(soak, read)
    yield from ("  " + line for line in keys(found, read))
    signed = found.ticket_signed_by
    yield read("ticket signed by {party}", party=signed) if signed else read("ticket not signed")
    yield read(
        "from {start} to {end} UTC",
        start=found.started[:19].replace("T", " "),
        end=found.finished[:19].replace("T", " "),
    )
    yield read(
        "{counts} verdicts on {hosts} hosts", counts=read(", ").join(counts(certificate)), hosts=len(found.hosts)
    )
    not_passed = sorted((one for one in found.clauses if one.outcome != "PASS"), key=worst)
    for clause in not_passed[:_SHOWN]:
        how = read("waived") if clause.waiver else read("blocking") if clause.blocking else read("advisory")
        said = [read("measured {value}", value=clause.measured)] if clause.measured else []
        said += [read("required {value}", value=clause.required)] if clause.required else []
        said += [clause.note] if clause.note else []
        yield f"  {clause.outcome} ({how}) {clause.clause} {clause.subject}{read(': ')}{read('; ').join(said)}"
    if len(not_passed) > _SHOWN:
        yield "  " + read("and {count} more", count=len(not_passed) - _SHOWN)
    for change in found.overlaid:
        origin = f" ({change.origin})" if change.origin else ""
        yield "  " + read("agreed otherwise: {clause} {what}: {before} -> {after}", clause=change.clause, what=change.what,
                          before=change.before, after=change.after) + origin  # fmt: skip
    for waiver in found.waivers:
        yield "  " + read("waived until {until}: {clause} {subject}", until=waiver.until, clause=waiver.clause,
                          subject=waiver.subject)  # fmt: skip
    yield read(
        "agreement {digest}, rack {rack}", digest=found.configured("acceptance")[:16], rack=certificate.fingerprint[:16]
    )
    yield read("expires {time}", time=found.expires[:19] + "Z")


def _begun(one: BegunSoak, read: Reader) -> str:
    """One soak of G4: the one that was judged, or one that was begun and came to no verdict."""
    at = one.started[:19].replace("T", " ") or "-"
    if one.judged:
        return read("soak {soak}, started {utc} UTC: judged here", soak=one.soak, utc=at)
    ended = (one.removed or one.stopped)[:19].replace("T", " ") or "-"
    return read(
        "soak {soak} before it, started {utc} UTC, given up {ended}: no verdict", soak=one.soak, utc=at, ended=ended
    )


def decided(certificate: Certificate, read: Reader) -> str:
    """The decision in words: one that stands on waivers is called so."""
    found = certificate.predicate
    return read("PASS with waivers") if found.decision == "PASS" and found.waivers else found.decision


def worst(clause: Clause) -> tuple[bool, int, tuple[int, ...]]:
    """Sort key of what did not pass: what keeps the gate shut first, and of that what stopped it."""
    return not clause.blocking, SEVERITY.index(Outcome(clause.outcome)), order(clause.clause)


def counts(certificate: Certificate) -> Iterator[str]:
    """``PASS 120``, ... of the blocking verdicts; advisory and waived ones by their own names."""
    found = certificate.predicate.clauses
    for outcome in ("PASS", "STOP", "UNDECIDED"):
        yield f"{outcome} {sum(one.outcome == outcome and one.blocking and not one.waiver for one in found)}"
