"""A certificate that the ledger has already: it is written again as it is, because two of one decision look as if one was signed anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from checks.phrase import Phrase, say
from kvgate.campaign import standing
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Certificate
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.examine import Asked, examine
from kvgate.certificates.trust import Trust
from kvgate.errors import Refused
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord
from kvgate.reports import certificates as shown
from kvgate.reports.messages import Reader


@dataclass(frozen=True, slots=True)
class Already:
    """The document with every signature that it has, what it says, and who has not signed it; None: it is not known whose keys count."""

    envelope: Envelope
    made: Certificate
    missing: tuple[str, ...] | None


def already(book: Ledger, run: RunRecord, made: Certificate, trust: Trust | None) -> Already | None:
    """The certificate of the same decision of a run, on the same gate before it, with the same waivers, that still counts.

    One that all have signed, else the newest. One that is over, or signed by a key that is no party's, is none: then a new one is due.
    """
    at = standing.now()
    found: list[Already] = []
    for stored in reversed(book.envelopes(run.campaign, "certificate", run.id)):
        one = examine(stored.content, Asked(at, trust, draft=True, simulated=run.simulated))
        if one.certificate is None or one.envelope is None:
            continue
        if _about(one.certificate) != _about(made) or standing.moment(one.certificate.predicate.expires) <= at:
            continue
        signed = one.endorsement
        if trust is not None and (signed is None or signed.problems or not signed.signed):
            continue
        found.append(Already(one.envelope, one.certificate, None if signed is None else signed.missing))
    return next((one for one in found if one.missing == ()), found[0] if found else None)


def _about(certificate: Certificate) -> tuple[str, str, frozenset[str]]:
    said = certificate.predicate
    before = "" if said.previous is None else said.previous.document
    return said.entry.hash, before, frozenset(one.document for one in said.waivers)


def is_there(path: Path, envelope: Envelope) -> bool:
    """Whether the file holds just these bytes."""
    try:
        return path.is_file() and path.read_bytes() == envelope.to_bytes()
    except OSError:
        return False


def in_the_way(path: Path, envelope: Envelope) -> Phrase:
    """Say what stands where a document should be written."""
    try:
        same = envelopes.read(path.read_bytes()).digest == envelope.digest
    except (OSError, Refused):
        same = False
    if same:
        return say(
            "{path} is there already: the same document with other signatures than the ledger has; co-sign it (kvgate cosign {path}), or "
            "name another file with -o",
            path=str(path),
        )
    return say("{path} is there already, and is another document: name another file with -o", path=str(path))


def there(found: Already, path: Path, read: Reader) -> None:
    """Say that the file has it already, and who has not signed it."""
    _told(found, path, read("certified at {issued} already, and {path} holds it: nothing was signed or written",
                            issued=_issued(found), path=str(path)), read)  # fmt: skip


def written_again(found: Already, path: Path, read: Reader) -> None:
    """Say that the document which the ledger has was written to a file, and who has not signed it."""
    said = read(
        "certified at {issued} already: the same document was written again, nothing was signed", issued=_issued(found)
    )
    _told(found, path, said, read)


def _issued(found: Already) -> str:
    return f"{found.made.predicate.issued[:19]}Z"


def _told(found: Already, path: Path, said: str, read: Reader) -> None:
    for line in shown.summary(found.made, read):
        click.echo(line, err=True)
    click.echo(said, err=True)
    if found.missing is None:
        click.echo(
            read("whose signatures count is not known without --trust FILE: who has not signed it is not told"),
            err=True,
        )
    for party in found.missing or ():
        command = f"kvgate cosign {path} --key FILE --party {party} --trust FILE"
        click.echo(read("{party} has not signed it yet: {command}", party=party, command=command), err=True)
    click.echo(path)
