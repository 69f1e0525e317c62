"""Whether a certificate agrees with itself: everything in it that can be told from it alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from checks.decision import Owed, decide
from checks.phrase import Phrase, say
from checks.verdict import Outcome, Verdict
from kvgate.certificates.decision import Certificate, GateDecision

_RESULT = {"PASS": "PASSED", "STOP": "FAILED"}
GATES = ("G1", "G2", "G3", "G4")


def contradictions(certificate: Certificate) -> list[Phrase]:
    """Everything in which it contradicts itself; none is good."""
    found = certificate.predicate
    return [*_decision(found), *_attempts(found), *_waivers(found), *_times(found), *_order(certificate)]


def counted(found: GateDecision) -> Outcome:
    """Decide again from the clauses of the certificate: a waived verdict keeps no gate shut, and is no pass either."""
    empty = say("")
    verdicts = {
        Owed(one.clause, one.subject, one.blocking and not one.waiver): Verdict(Outcome(one.outcome), empty, empty)
        for one in found.clauses
    }
    return decide(list(verdicts), verdicts).outcome


def _decision(found: GateDecision) -> Iterator[Phrase]:
    if found.result != _RESULT[found.decision]:
        yield say("it says {result} and {decision}", result=found.result, decision=found.decision)
    places = [(one.clause, one.subject) for one in found.clauses]
    if len(set(places)) != len(places):
        yield say("a clause is decided twice on one subject")
        return
    if strangers := sorted({one.clause for one in found.clauses if one.clause.split(".")[0] != found.gate}):
        yield say("{clause} is no clause of {gate}", clause=strangers[0], gate=found.gate)
    if (told := counted(found)) != found.decision:
        yield say("it says {decision}, its clauses come to {outcome}", decision=found.decision, outcome=told.value)
    if found.decision == "PASS" and any(one.outcome == "PASS" and one.waiver for one in found.clauses):
        yield say("a verdict that passed is called waived")


def _attempts(found: GateDecision) -> Iterator[Phrase]:
    numbers = [one.attempt for one in found.attempts if one.campaign == found.campaign]
    # Counted first: who writes the number may write any, and a list of so many would end the reader before it could say so.
    if len(numbers) != found.attempt - 1 or numbers != list(range(1, found.attempt)):
        yield say(
            "it is attempt {attempt}, but the attempts before it are {numbers}",
            attempt=found.attempt,
            numbers=", ".join(map(str, numbers)) or "-",
        )
    if found.run in {one.run for one in found.attempts}:
        yield say("its own run stands among the attempts before it")


def _waivers(found: GateDecision) -> Iterator[Phrase]:
    given = sorted((one.document, one.clause, one.subject) for one in found.waivers)
    used = sorted((one.waiver, one.clause, one.subject) for one in found.clauses if one.waiver)
    if given != used:
        yield say("its waivers are not those of its waived clauses")

    for one in found.waivers:
        if datetime.fromisoformat(found.expires) > ends(one.until):
            yield say(
                "it expires {expires}, after its waiver of {clause} on {subject}, which counts until {until}",
                expires=found.expires[:19] + "Z",
                clause=one.clause,
                subject=one.subject,
                until=one.until,
            )


def ends(until: str) -> datetime:
    """Return the end of a waiver's last day, UTC."""
    day = date.fromisoformat(until)
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)


def _times(found: GateDecision) -> Iterator[Phrase]:
    if not found.started <= found.finished <= found.issued < found.expires:
        yield say(
            "its times are out of order: started {started}, finished {finished}, issued {issued}, expires {expires}",
            started=found.started,
            finished=found.finished,
            issued=found.issued,
            expires=found.expires,
        )
    if found.log.seq < found.entry.seq:
        yield say("its decision stands behind the head of the decision log")


def _order(certificate: Certificate) -> Iterator[Phrase]:
    found = certificate.predicate
    before = GATES[GATES.index(found.gate) - 1] if found.gate != GATES[0] else None
    if (found.previous.gate if found.previous else None) != before:
        yield say("it does not name the certificate of the gate before {gate}", gate=found.gate)
    names = [one.name for one in certificate.subject]
    if names != [f"rack/{found.rack}", f"evidence/{found.run}"]:
        yield say("its subjects are not its own rack and run")
