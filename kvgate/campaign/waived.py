"""The waivers that a certificate stands on, against the documents that both parties signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from checks.phrase import Phrase, listed, plain, say
from checks.verdict import Outcome
from kvgate.campaign import statements
from kvgate.campaign.statements import Waiver
from kvgate.certificates import decision as decisions
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Certificate
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.examine import Check
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.trust import Trust
from kvgate.errors import Refused

#: Characters of a text that is compared: both documents cut long ones, each in its way.
_ALIKE = 3900


def check(certificate: Certificate, documents: Sequence[tuple[str, bytes]], trust: Trust | None, at: datetime) -> Check:
    """Find the document of every waiver and weigh it; ``documents`` are (where, bytes). Never raises for bad content."""
    found = certificate.predicate
    held, unread = _held(documents)
    wrong: list[Phrase] = []
    untold: list[Phrase] = list(unread)
    for one in found.waivers:
        envelope = held.get(one.document)
        name = {"clause": one.clause, "subject": one.subject}
        if envelope is None:
            untold.append(say("the waiver of {clause} on {subject} is not at hand (--waiver FILE)", **name))
        elif trust is None:
            untold.append(
                say(
                    "no trust file: whose the signatures on the waiver of {clause} on {subject} are is not known",
                    **name,
                )
            )
        elif (why := _flaw(certificate, one, envelope, trust, at)) is not None:
            wrong.append(say("the waiver of {clause} on {subject}: {why}", **name, why=why))
    if wrong:
        return Check("waivers", Outcome.STOP, listed(wrong))
    if untold:
        return Check("waivers", Outcome.UNDECIDED, listed(untold))
    return Check("waivers", Outcome.PASS, say("{count} signed by both parties", count=len(found.waivers)))


def _held(documents: Sequence[tuple[str, bytes]]) -> tuple[Mapping[str, Envelope], list[Phrase]]:
    """Documents by the digest of what was signed; the form that carries most signatures counts."""
    held: dict[str, Envelope] = {}
    unread: list[Phrase] = []
    for place, data in documents:
        try:
            envelope = envelopes.read(data, place)
        except Refused as error:
            unread.append(plain(str(error)))
            continue
        known = held.get(envelope.digest)
        if known is None or len(known.signatures) < len(envelope.signatures):
            held[envelope.digest] = envelope
    return held, unread


def _flaw(
    certificate: Certificate, used: decisions.Waiver, envelope: Envelope, trust: Trust, at: datetime
) -> Phrase | None:
    found = certificate.predicate
    try:
        said = statements.read(envelope, statements.WAIVER, Waiver)
    except Refused as error:
        return plain(str(error))
    weighed = weigh(envelope, trust, at)
    if weighed.state is not State.FINAL:
        missing = listed(weighed.missing) if weighed.missing else plain("-")
        return say("{state}, wanted FINAL: not signed by {missing}", state=weighed.state.value, missing=missing)
    if (said.run, said.ticket, said.decision) != (found.run, found.ticket, found.entry.hash):
        return say("it is about another run or decision")
    if said.until != used.until:
        return say("it counts until {there}, signed here until {signed}", there=said.until, signed=used.until)
    place = (used.clause, used.subject)
    deviation = next((one for one in said.deviations if (one.clause, one.subject) == place), None)
    if deviation is None:
        return say("it does not cover that verdict")
    clause = next(one for one in found.clauses if (one.clause, one.subject) == place)
    pairs = (
        (deviation.outcome, clause.outcome),
        (deviation.measured, clause.measured),
        (deviation.required, clause.required),
    )
    if any(there[:_ALIKE] != signed[:_ALIKE] for there, signed in pairs):
        return say(
            "it accepts {there}, the certificate has {signed}",
            there=deviation.measured or "-",
            signed=clause.measured or "-",
        )
    return None
