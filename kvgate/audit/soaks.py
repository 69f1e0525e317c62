"""Records of soaks: each must be readable and follow the one before, and one that left this machine must be in the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.certificates import soak_book, soak_event
from kvgate.certificates.envelope import Envelope
from kvgate.errors import Unproven
from kvgate.ledger.findings import Finding
from kvgate.ledger.repository import Ledger


def look(ledger: Ledger) -> Iterator[Finding]:
    """Yield what is wrong with the records that the ledger holds."""
    _, problems = soak_book.written(ledger)
    for problem in problems:
        yield Finding("soak-missing", "soaks", problem)


def about(envelope: Envelope) -> bool:
    """Whether a document is the record of a soak."""
    return envelope.statement().get("predicateType") == soak_event.TYPE


def check(place: str, envelope: Envelope, ledger: Ledger) -> Iterator[Finding]:
    """Yield that the ledger does not have a record which somebody else holds."""
    try:
        said = soak_event.read(envelope)
    except Unproven as error:
        yield Finding("certificate", place, f"{place}: {error}")
        return
    if envelope.digest not in {one.envelope.digest for one in soak_book.written(ledger)[0]}:
        text = f"{place} says {said.event} of {said.soak}, written {said.at[:19]}, which is not in the ledger: a record was deleted"
        yield Finding("soak-missing", said.soak, text)
