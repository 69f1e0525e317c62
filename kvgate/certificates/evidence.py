"""A certificate against the evidence it names: every line and blob, the rack that answered, and the verdicts judged again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from checks.phrase import Phrase, listed, plain, say
from checks.verdict import Outcome
from kvgate.certificates.code import code_digest
from kvgate.certificates.decision import Certificate, Clause
from kvgate.certificates.examine import Check
from kvgate.certificates.proven import Judgement, Proven, clauses, different, hours_after, prove
from kvgate.certificates.simulated import marked
from kvgate.codec import Seal
from kvgate.errors import KvgateError, Refused
from kvgate.evidence.check import check_folder
from kvgate.evidence.store import Evidence

JudgeAgain = Callable[[Path], Judgement]

_FEW = 3
#: Hours that the entry in the ledger may be made after the last line of the evidence, and by how much a clock may differ.
_KEEPING, _CLOCKS = 1.0, 0.01


def compare(certificate: Certificate, folder: Path, again: JudgeAgain) -> list[Check]:
    """Check a folder of evidence against a certificate. Never raises for bad content."""
    found = certificate.predicate
    seal = Seal(found.evidence.lines, found.evidence.head, certificate.root)
    checked = check_folder(folder, seal)
    problems = list(checked.problems)
    if checked.run and checked.run != found.run:
        problems.insert(0, f"it is the evidence of run {checked.run}, not of {found.run}")
    if problems:
        told = say("{first} ({count} such)", first=problems[0], count=len(problems))
        return [Check("evidence", Outcome.STOP, told)]
    whole = say("{lines} lines and {blobs} blobs are those that were sealed", lines=seal.lines, blobs=checked.blobs)
    checks = [Check("evidence", Outcome.PASS, whole)]
    try:
        evidence = Evidence.open(folder)
        proven = prove(evidence)
        checks += [*_basis(certificate, proven, code_digest()), _marks(certificate, evidence)]
        checks += _verdicts(certificate, again(folder), proven)
    except Refused as error:
        checks.append(Check("judgement", Outcome.UNDECIDED, plain(str(error))))
    except (KvgateError, ValueError) as error:
        checks.append(Check("judgement", Outcome.STOP, plain(str(error))))
    return checks


def _check(name: str, wrong: list[Phrase], right: Phrase) -> Check:
    return Check(name, Outcome.STOP if wrong else Outcome.PASS, listed(wrong) if wrong else right)


def _basis(certificate: Certificate, proven: Proven, code: str) -> Iterator[Check]:
    """Every field that the evidence tells; what it does not tell, or what is otherwise, is named.

    ``code`` is the digest of the code that looks: terms are otherwise than in its own standard document.
    """
    unlike = proven.unlike(certificate)
    standard = unlike.pop("overlaid", None) if code != certificate.predicate.configured("code") else None
    hosts = unlike.pop("hosts", None)
    wrong = [
        say("another {name}: signed {signed}, the evidence has {there}", name=name, signed=signed, there=there)
        for name, signed, there in unlike.values()
    ]
    try:
        hours = hours_after(certificate.predicate.finished, proven.last)
    except ValueError:
        hours = math.inf
    if not -_CLOCKS <= hours <= _KEEPING:
        wrong.append(
            say(
                "another end: signed {signed}, the last line of the evidence is of {there}",
                signed=certificate.predicate.finished,
                there=proven.last or "-",
            )
        )
    if wrong:
        yield Check("basis", Outcome.STOP, listed(wrong))
    elif standard is not None:
        told = say(
            "{name}: signed {signed}, by the standard document of this code {there}: verify with the code that certified",
            name=standard[0],
            signed=standard[1],
            there=standard[2],
        )
        yield Check("basis", Outcome.UNDECIDED, told)
    elif silent := proven.untold():
        told = say("this evidence does not tell: {names}; it was kept by an older kvgate", names=listed(silent))
        yield Check("basis", Outcome.UNDECIDED, told)
    else:
        yield Check("basis", Outcome.PASS, say("rack, agreement, terms, attempt and times are those of the evidence"))
    yield _check(
        "hosts",
        [say("another set of host keys")] if hosts else [],
        say("{count} hosts with their keys", count=len(certificate.predicate.hosts)),
    )


def _marks(certificate: Certificate, evidence: Evidence) -> Check:
    marks = marked(evidence) or (["inventory"] if evidence.start.simulated else [])
    wrong = []
    if marks and not certificate.predicate.simulated:
        wrong = [
            say(
                "the embedded rack answered ({hosts}), and the certificate does not say so",
                hosts=", ".join(marks[:_FEW]),
            )
        ]
    right = say("the embedded rack, and it says so") if marks else say("no mark of the embedded rack")
    return _check("origin", wrong, right)


def _verdicts(certificate: Certificate, again: Judgement, proven: Proven) -> list[Check]:
    """Every verdict judged again from the bytes must be the one that was signed, in its outcome and in all it says."""
    predicate = certificate.predicate
    signed = {(one.clause, one.subject): one for one in predicate.clauses}
    now = {(one.clause, one.subject): one for one in clauses(again, proven.acceptance, {})}
    places = dict.fromkeys((*signed, *now))
    wrong = [
        say(
            "{clause} on {subject}: signed {signed}, judged again {now}",
            clause=place[0], subject=place[1],
            signed=_decided(signed.get(place), now.get(place)), now=_decided(now.get(place), signed.get(place)),
        )
        for place in places
        if place not in signed or place not in now or _decides(signed[place]) != _decides(now[place])
    ]  # fmt: skip
    wrong = _few(wrong) + [plain(trouble) for trouble in again.trouble[:_FEW]]
    same_code = again.code == predicate.configured("code")
    if same_code and again.version != predicate.version:
        wrong.append(
            say("signed as of kvgate {signed}, that code is {now}", signed=predicate.version, now=again.version)
        )
    told = say("{count} verdicts judged again by kvgate {version}: the same", count=len(now), version=again.version)
    if not same_code:
        told = say(
            "{count} verdicts judged again by kvgate {version}: the same, though its code is not the one that certified",
            count=len(now),
            version=again.version,
        )
    return [
        _check("judgement", wrong, told),
        _numbers([(signed[p], now[p]) for p in places if p in signed and p in now], same_code),
    ]


def _decided(one: Clause | None, other: Clause | None) -> Phrase:
    """Say the outcome; where that is the same, whether it blocks is what differs."""
    if one is None:
        return plain("-")
    if other is None or one.outcome != other.outcome:
        return plain(one.outcome)
    return say("{outcome}, {word}", outcome=one.outcome, word=say("blocking") if one.blocking else say("advisory"))


def _numbers(pairs: list[tuple[Clause, Clause]], same_code: bool) -> Check:
    """What was measured and required, word for word. Another version may word it otherwise: then it cannot be told."""
    wrong = [
        say(
            "{clause} on {subject}: {field}: signed {signed:.80}, judged again {now:.80}",
            clause=signed.clause, subject=signed.subject, field=name,
            signed=_shown(signed, name), now=_shown(now, name),
        )
        for signed, now in pairs
        if _decides(signed) == _decides(now) and (name := different(signed, now)) is not None
    ]  # fmt: skip
    if not wrong:
        return Check("numbers", Outcome.PASS, say("what was measured and required, with its evidence: the same"))
    if same_code:
        return Check("numbers", Outcome.STOP, listed(_few(wrong)))
    told = say(
        "{what}; this is another code than the one that certified: verify with that one", what=listed(_few(wrong))
    )
    return Check("numbers", Outcome.UNDECIDED, told)


def _decides(one: Clause) -> tuple[str, bool]:
    return one.outcome, one.blocking


def _shown(one: Clause, name: str) -> str:
    value = getattr(one, name)
    return ", ".join(value) if isinstance(value, tuple) else str(value) or "-"


def _few(wrong: list[Phrase]) -> list[Phrase]:
    rest = [say("and {count} more", count=len(wrong) - _FEW)] if len(wrong) > _FEW else []
    return wrong[:_FEW] + rest
