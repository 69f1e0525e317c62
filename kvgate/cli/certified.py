"""A certificate that the ledger has already: it is written again as it is, because two of one decision look as if one was signed anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from kvgate.campaign import standing
from kvgate.certificates.decision import Certificate
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.examine import Asked, examine
from kvgate.certificates.trust import Trust
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord
from kvgate.reports import certificates as shown
from kvgate.reports.messages import Reader


@dataclass(frozen=True, slots=True)
class Already:
    """The document with every signature that it has, what it says, and who has not signed it; nobody where no keys are known."""

    envelope: Envelope
    made: Certificate
    missing: tuple[str, ...]


def already(book: Ledger, run: RunRecord, made: Certificate, trust: Trust | None) -> Already | None:
    """The newest certificate of the same decision of a run, with the same waivers, that still counts.

    One that is over, or signed by a key that is no party's, is none: then a new one is due.
    """
    at = standing.now()
    for stored in reversed(book.envelopes(run.campaign, "certificate", run.id)):
        found = examine(stored.content, Asked(at, trust, draft=True, simulated=run.simulated))
        if found.certificate is None or found.envelope is None:
            continue
        if _about(found.certificate) != _about(made) or standing.moment(found.certificate.predicate.expires) <= at:
            continue
        signed = found.endorsement
        if trust is not None and (signed is None or signed.problems or not signed.signed):
            continue
        return Already(found.envelope, found.certificate, () if signed is None else signed.missing)
    return None


def _about(certificate: Certificate) -> tuple[str, frozenset[str]]:
    said = certificate.predicate
    return said.entry.hash, frozenset(one.document for one in said.waivers)


def written_again(found: Already, path: Path, read: Reader) -> None:
    """Say so, and who has not signed it."""
    for line in shown.summary(found.made, read):
        click.echo(line, err=True)
    issued = f"{found.made.predicate.issued[:19]}Z"
    click.echo(
        read("certified at {issued} already: the same document was written again, nothing was signed", issued=issued),
        err=True,
    )
    for party in found.missing:
        command = f"kvgate cosign {path} --key FILE --party {party} --trust FILE"
        click.echo(read("{party} has not signed it yet: {command}", party=party, command=command), err=True)
    click.echo(path)
