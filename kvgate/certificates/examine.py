"""Everything that is asked of a certificate, each check by its name with its result. Needs no ledger and no rack.

Three outcomes, as everywhere: PASS, STOP (it does not hold), UNDECIDED (it could not be told, and why).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509

from checks.phrase import Phrase, joined, listed, plain, say
from checks.verdict import Outcome
from kvgate.certificates import decision as decisions
from kvgate.certificates import envelope as envelopes
from kvgate.certificates import stamp as stamps
from kvgate.certificates import ticketed
from kvgate.certificates.coherence import contradictions
from kvgate.certificates.decision import Certificate
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.quorum import Endorsement, State, weigh
from kvgate.certificates.trust import PARTIES, Trust
from kvgate.errors import Refused

#: How far the clock of who issued may be ahead of the verifier's.
_SKEW = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a stable name, its outcome, and what was found."""

    name: str
    outcome: Outcome
    found: Phrase


@dataclass(frozen=True)
class Asked:
    """What is asked for. ``parties`` counts signatures: all of them, or (``draft``) at least one."""

    at: datetime
    trust: Trust | None = None
    draft: bool = False
    decision: str = "PASS"
    simulated: bool = False
    token: bytes | None = None
    roots: list[x509.Certificate] = field(default_factory=list)
    previous: bytes | None = None


@dataclass(frozen=True)
class Examination:
    """All checks, and what was read on the way."""

    checks: tuple[Check, ...]
    envelope: Envelope | None = None
    certificate: Certificate | None = None
    endorsement: Endorsement | None = None
    stamp: stamps.Stamp | None = None

    @property
    def outcome(self) -> Outcome:
        """PASS only if every check is: the worst of them."""
        found = {check.outcome for check in self.checks}
        return next(one for one in (Outcome.STOP, Outcome.UNDECIDED, Outcome.PASS) if one in found)

    @property
    def state(self) -> str:
        """DRAFT, FINAL, ...; UNVERIFIED when no trust file was given."""
        return self.endorsement.state.value if self.endorsement else "UNVERIFIED"

    def with_checks(self, more: Iterable[Check]) -> Examination:
        """Return the same with checks added."""
        return Examination(
            (*self.checks, *more), self.envelope, self.certificate, self.endorsement, self.stamp
        )  # fmt: skip


def examine(data: bytes, asked: Asked) -> Examination:
    """Examine the bytes of a certificate. Never raises for bad content."""
    try:
        envelope = envelopes.read(data, say("the certificate"))
    except Refused as error:
        return Examination((Check("envelope", Outcome.STOP, error.phrase),))
    checks = [Check("envelope", Outcome.PASS, say("well-formed, {size} bytes signed", size=len(envelope.payload)))]
    try:
        certificate = decisions.read(envelope)
    except Refused as error:
        return Examination((*checks, Check("statement", Outcome.STOP, error.phrase)), envelope)
    wrong = contradictions(certificate)
    checks.append(_check("statement", not wrong, joined(wrong) if wrong else say("it agrees with itself")))
    stamp = _stamped(envelope, asked, checks)
    at = stamp.time if stamp else asked.at
    endorsement = _signatures(envelope, asked, at, checks)
    checks.append(Check("ticket", *ticketed.weighed(certificate.predicate, asked.trust, at)))
    checks += _asked_for(certificate, asked)
    if asked.previous is not None:
        checks.append(previous(certificate, asked.previous, asked))
    return Examination(tuple(checks), envelope, certificate, endorsement, stamp)


def _check(name: str, holds: bool, found: Phrase) -> Check:
    return Check(name, Outcome.PASS if holds else Outcome.STOP, found)


def _stamped(envelope: Envelope, asked: Asked, checks: list[Check]) -> stamps.Stamp | None:
    if asked.token is None:
        return None
    if not asked.roots:
        found = say("a time stamp is there, but no authority is trusted: name its root certificate with --tsa")
        checks.append(Check("timestamp", Outcome.UNDECIDED, found))
        return None
    try:
        stamp = stamps.verify(asked.token, envelope, asked.roots)
    except Refused as error:
        checks.append(Check("timestamp", Outcome.STOP, error.phrase))
        return None
    told = say("not later than {time}, says {who}", time=f"{stamp.time:%Y-%m-%dT%H:%M:%SZ}", who=stamp.authority)
    checks.append(Check("timestamp", Outcome.PASS, told))
    return stamp


def _signatures(envelope: Envelope, asked: Asked, at: datetime, checks: list[Check]) -> Endorsement | None:
    if asked.trust is None:
        found = say("no trust file: name one with --trust; whose the {count} signatures are is not known",
                    count=len(envelope.signatures))  # fmt: skip
        checks.append(Check("signatures", Outcome.UNDECIDED, found))
        return None
    weighed = weigh(envelope, asked.trust, at)
    who = [
        say("{party} {key} {who}", party=line.party, key=line.key.fingerprint, who=f"({line.who})" if line.who else "")
        for line in weighed.signed
    ]
    if weighed.problems:
        checks.append(Check("signatures", Outcome.STOP, joined(weighed.problems)))
    else:
        checks.append(_check("signatures", bool(who), listed(who) if who else say("nobody has signed it")))
    enough = weighed.state is State.FINAL or (asked.draft and weighed.state is State.DRAFT)
    missing = listed(weighed.missing) if weighed.missing else plain("-")
    told = say("{state}, wanted FINAL: not signed by {missing}", state=weighed.state.value, missing=missing)
    if weighed.state is State.FINAL:
        told = say("FINAL: {parties}", parties=listed(PARTIES))
    elif enough:  # a draft is what is asked for
        told = say("{state}: not yet signed by {missing}", state=weighed.state.value, missing=missing)
    checks.append(_check("parties", enough, told))
    return weighed


def _asked_for(certificate: Certificate, asked: Asked) -> list[Check]:
    found = certificate.predicate
    issued, expires = (datetime.fromisoformat(time) for time in (found.issued, found.expires))
    if issued > asked.at + _SKEW:
        validity = _check("validity", False, say("issued {time}, which is yet to come", time=found.issued[:19] + "Z"))
    else:
        told = say("expires {time}", time=found.expires[:19] + "Z")
        validity = _check("validity", asked.at < expires, told if asked.at < expires else say(
            "it expired on {time}", time=found.expires[:19] + "Z"
        ))  # fmt: skip
    real = say("a real rack") if not found.simulated else say(
        "a simulated rack: it says nothing about any real one (--simulated accepts it)"
    )  # fmt: skip
    if found.simulated and asked.simulated:
        real = say("a simulated rack, as asked for")
    wanted = say("{decision}, wanted {wanted}", decision=found.decision, wanted=asked.decision)
    return [
        validity,
        _check("rack", not found.simulated or asked.simulated, real),
        _check("decision", found.decision == asked.decision, wanted),
    ]


def previous(certificate: Certificate, data: bytes, asked: Asked) -> Check:
    """The certificate of the gate before: the one that this one names, genuine, a PASS, on the same rack."""
    named = certificate.predicate.previous
    if named is None:
        return _check("previous", False, say("{gate} has no gate before it", gate=certificate.predicate.gate))
    before = examine(data, Asked(asked.at, asked.trust, simulated=asked.simulated))
    if before.envelope is None or before.certificate is None:
        return Check("previous", Outcome.STOP, before.checks[-1].found)
    if before.envelope.digest != named.document:
        return _check("previous", False, say("it is not the certificate that this one names"))
    other = before.certificate
    if (other.fingerprint, other.predicate.campaign, other.predicate.gate) != (
        certificate.fingerprint, certificate.predicate.campaign, named.gate,
    ):  # fmt: skip
        return _check("previous", False, say("it is about another rack, campaign or gate"))
    bad = [check for check in before.checks if check.outcome is not Outcome.PASS and check.name != "validity"]
    told = joined([say("{check}: {found}", check=one.name, found=one.found) for one in bad]) if bad else say(
        "{gate} of the same rack, as named", gate=named.gate
    )  # fmt: skip
    worst = min((one.outcome for one in bad), default=Outcome.PASS, key=(Outcome.STOP, Outcome.UNDECIDED).index)
    return Check("previous", worst, told)
