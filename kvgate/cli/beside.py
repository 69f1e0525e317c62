"""What stands beside a certificate: the ledger that knows its run, the gate before it, the waivers that it stands on."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from checks.phrase import Phrase, plain, say
from checks.verdict import Outcome
from kvgate.campaign import statements, waived
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Certificate
from kvgate.certificates.examine import Asked, Check, previous
from kvgate.certificates.history import counted
from kvgate.codec import first_bytes
from kvgate.errors import NotAllowed, Refused, because
from kvgate.ledger.repository import Ledger


def bytes_of(path: Path) -> bytes:
    """Read a document, and no more of it than one may have. Raises NotAllowed."""
    try:
        return first_bytes(path, envelopes.LIMIT + 1)
    except OSError as error:
        raise NotAllowed(say("{path} cannot be read: {strerror}", path=str(path), strerror=because(error))) from None


def all_of_it(
    certificate: Certificate, asked: Asked, ledger: str, waivers: Sequence[Path], *, without_ledger: bool
) -> list[Check]:
    """Check everything beside it, from files where they are named, else from the ledger; what is not at hand is UNDECIDED."""
    found = certificate.predicate
    given = [(str(path), bytes_of(path)) for path in waivers]
    checks: list[Check] = []
    with contextlib.ExitStack() as stack:
        book, why = _opened(ledger, stack)
        if not without_ledger:
            checks.append(counted(certificate, book) if book else Check("attempts", Outcome.UNDECIDED, why))
        if found.previous is not None and asked.previous is None:
            document = found.previous.document
            kept = _kept(book, "certificate", document)
            told = say("{gate}: its certificate {document} is not at hand (--previous FILE)", gate=found.previous.gate,
                       document=document[:16])  # fmt: skip
            checks.append(
                previous(certificate, kept[-1][1], asked) if kept else Check("previous", Outcome.UNDECIDED, told)
            )
        if found.waivers:
            for document in dict.fromkeys(one.document for one in found.waivers):
                given += _kept(book, statements.WAIVER, document)
            checks.append(waived.check(certificate, given, asked.trust, asked.at))
    return checks


def asked_for(certificate: Certificate, asked: Asked, ledger: str | None, waivers: Sequence[Path]) -> list[Check]:
    """Check what somebody who verifies named, and nothing else."""
    checks: list[Check] = []
    if ledger is not None:
        with contextlib.closing(Ledger.open(ledger, write=False)) as book:
            checks.append(counted(certificate, book))
    if waivers:
        given = [(str(path), bytes_of(path)) for path in waivers]
        checks.append(waived.check(certificate, given, asked.trust, asked.at))
    return checks


def not_asked(certificate: Certificate, checks: Sequence[Check]) -> dict[str, Phrase]:
    """Name of a check that nobody asked for -> how to ask. Nothing of it is known to hold."""
    found, names = certificate.predicate, {check.name for check in checks}
    all_ = {
        "evidence": say("the evidence, and that its numbers are those (--evidence DIR)"),
        "attempts": say("that no earlier attempt is left out (--ledger URL)"),
    }
    if found.previous is not None:
        all_["previous"] = say("the certificate of {gate} before it (--previous FILE)", gate=found.previous.gate)
    if found.waivers:
        all_["waivers"] = say("the waivers that both parties signed (--waiver FILE)")
    return {name: how for name, how in all_.items() if name not in names}


def _opened(ledger: str, stack: contextlib.ExitStack) -> tuple[Ledger | None, Phrase]:
    try:
        return stack.enter_context(contextlib.closing(Ledger.open(ledger, write=False))), plain("")
    except Refused as error:
        return None, error.phrase


def _kept(book: Ledger | None, kind: str, document: str) -> list[tuple[str, bytes]]:
    found = book.envelopes(kind=kind, document=document) if book is not None else []
    return [(f"{kind} {one.digest[:16]} in the ledger", one.content) for one in found]
