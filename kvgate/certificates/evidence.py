"""A certificate against the evidence it names: every line and blob, the rack that answered, and the verdicts judged again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from checks.phrase import Phrase, listed, plain, say
from checks.verdict import Outcome
from kvgate import agreement as agreements
from kvgate.certificates.decision import Certificate
from kvgate.certificates.examine import Check
from kvgate.certificates.issue import Judgement, met_hosts, party_keys
from kvgate.certificates.simulated import marked
from kvgate.codec import Seal, digest
from kvgate.errors import KvgateError, Refused
from kvgate.evidence.check import check_folder
from kvgate.evidence.store import Evidence
from kvgate.inventory import reader

JudgeAgain = Callable[[Path], Judgement]

_FEW = 3


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
        checks += [_basis(certificate, evidence), _hosts(certificate, evidence), _marks(certificate, evidence)]
        checks.append(_verdicts(certificate, again(folder)))
    except Refused as error:
        checks.append(Check("judgement", Outcome.UNDECIDED, plain(str(error))))
    except (KvgateError, ValueError) as error:
        checks.append(Check("judgement", Outcome.STOP, plain(str(error))))
    return checks


def _check(name: str, wrong: list[Phrase], right: Phrase) -> Check:
    return Check(name, Outcome.STOP if wrong else Outcome.PASS, listed(wrong) if wrong else right)


def _basis(certificate: Certificate, evidence: Evidence) -> Check:
    """Inventory, agreement and gate as they stand in the evidence."""
    start = evidence.start
    inventory = reader.stored(start.inventory, "inventory")
    agreement = agreements.stored(start.acceptance)
    found = certificate.predicate
    pairs = (
        (say("another inventory"), found.configured("inventory"), inventory.text_digest),
        (say("another rack"), certificate.fingerprint, inventory.fingerprint),
        (say("another agreement"), found.configured("acceptance"), agreement.digest),
        (say("another gate"), found.gate, start.gate),
        (say("another campaign"), found.campaign, start.campaign),
    )
    wrong = [what for what, said, there in pairs if said != there]
    if start.ticket and (digest(start.ticket) != found.ticket or tuple(party_keys(start.ticket)) != found.parties):
        wrong.append(say("another start ticket, or other keys of the parties"))
    return _check("basis", wrong, say("inventory, rack, agreement and gate are those of the evidence"))


def _hosts(certificate: Certificate, evidence: Evidence) -> Check:
    inventory = reader.stored(evidence.start.inventory, "inventory")
    wrong = (
        []
        if tuple(met_hosts(inventory, evidence)) == certificate.predicate.hosts
        else [say("another set of host keys")]
    )
    return _check("hosts", wrong, say("{count} hosts with their keys", count=len(certificate.predicate.hosts)))


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


def _verdicts(certificate: Certificate, again: Judgement) -> Check:
    """Every verdict judged again from the bytes must be the one that was signed."""
    signed = {(one.clause, one.subject): (one.outcome, one.blocking) for one in certificate.predicate.clauses}
    now = {(o.clause, o.subject): (verdict.outcome.value, o.blocking) for o, verdict in again.verdicts.items()}
    different = sorted(place for place in signed.keys() | now.keys() if signed.get(place) != now.get(place))
    wrong = [
        say(
            "{clause} on {subject}: signed {signed}, judged again {now}",
            clause=clause, subject=subject, signed=signed.get((clause, subject), ("-",))[0],
            now=now.get((clause, subject), ("-",))[0],
        )
        for clause, subject in different[:_FEW]
    ]  # fmt: skip
    if len(different) > _FEW:
        wrong.append(say("and {count} more", count=len(different) - _FEW))
    wrong += [plain(trouble) for trouble in again.trouble[:_FEW]]
    same = say("{count} verdicts judged again by kvgate {version}: the same", count=len(now), version=again.version)
    if again.code != certificate.predicate.configured("code"):
        same = say(
            "{count} verdicts judged again by kvgate {version}: the same, though its code is not the one that certified",
            count=len(now),
            version=again.version,
        )
    return _check("judgement", wrong, same)
