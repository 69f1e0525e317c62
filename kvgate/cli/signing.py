"""What certify, cosign and verify share: their options, the key of a party, and a certificate's file."""

from __future__ import annotations

import contextlib
import getpass
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from checks.phrase import say
from kvgate.campaign import frozen, parties
from kvgate.certificates import trust as trusts
from kvgate.certificates.decision import Certificate
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.keys import Signer
from kvgate.certificates.trust import PARTIES, Trust
from kvgate.cli import speech
from kvgate.codec import Seal
from kvgate.errors import NotAllowed, Refused, Unproven
from kvgate.evidence.durable import flush, unwritable
from kvgate.evidence.store import Evidence
from kvgate.ledger.repository import Ledger
from kvgate.reports.messages import Reader, language

_FILE = click.Path(path_type=Path)

KEY = click.option(
    "--key", type=_FILE, required=True,
    help=speech.read("private key (OpenSSH or PEM, Ed25519), or a public one whose private half ssh-agent holds"),
)  # fmt: skip
PARTY = click.option("--party", type=click.Choice(PARTIES), required=True, help=speech.read("who signs"))
TRUST = click.option(
    "--trust", type=_FILE, envvar="KVGATE_TRUST",
    help=speech.read("whose keys count: OpenSSH allowed_signers, principals vendor and customer; revoked ones in FILE.revoked"),
)  # fmt: skip
AT = click.option("--at", metavar="TIME", help=speech.read("examine as of this time (ISO 8601, UTC); default now"))

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def passphrase(path: Path) -> str:
    """Ask a person, without showing it; without a terminal it is a line of standard input, which nothing shows."""
    read = Reader(language())
    asked = read("passphrase of {path}", path=str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return str(click.prompt(asked, hide_input=True, err=True, default="", show_default=False))
        except getpass.GetPassWarning:
            line = "" if sys.stdin is None else sys.stdin.readline()  # none is there where it was closed
    if not line:
        raise click.Abort
    click.echo(err=True)
    return line.rstrip("\r\n")


def key_of(path: Path, party: str, trust: Trust | None) -> Signer:
    """Return the signer; where it is known whose keys count, its key must be that party's. Raises NotAllowed, Unproven."""
    return parties.signer_of(path, party, trust, passphrase)


def other(party: str) -> str:
    """The party whose signature is missing once this one has signed."""
    return next(one for one in PARTIES if one != party)


def in_force(book: Ledger, campaign: str, path: Path | None) -> Trust | None:
    """Whose keys count where a campaign's run or STOP is signed: the trust file, else those that its first attempt fixed."""
    return frozen.in_force(book, None, path, campaign).trust


def trusted(path: Path | None, revoked: Path | None = None) -> Trust | None:
    """Read the trust file, if one is named."""
    if path is None and revoked is not None:
        raise NotAllowed(say("--revoked says nothing without --trust"))
    return None if path is None else trusts.load(path, revoked)


def moment(text: str | None) -> datetime:
    """Return the time to examine at. Raises NotAllowed."""
    if text is None:
        return datetime.now(UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise NotAllowed(say("found --at {text!r}, wanted ISO 8601, as 2026-11-29T12:00:00Z", text=text)) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def drawn(certificate: Certificate, folder: Path, read: Reader) -> bytes | None:
    """The picture of a soak, from the evidence of its certificate; None where there was none. Raises Unproven for other evidence."""
    from kvgate.gate.soaked import kept
    from kvgate.reports.still import picture

    evidence = Evidence.open(folder)
    seal = certificate.predicate.evidence
    if evidence.verify(Seal(seal.lines, seal.head, certificate.root)).problems:
        raise Unproven(say("{folder} is not the evidence that was sealed: nothing is drawn of it", folder=str(folder)))
    soaks = kept(evidence)
    return picture(soaks, read) if soaks else None


def folder_of(place: Path, run: str) -> Path:
    """Return the run's folder: the place itself, or below it. Raises NotAllowed."""
    for folder in (place, place / run):
        if (folder / "journal.jsonl").is_file():
            return folder
    raise NotAllowed(
        say(
            "found no evidence of run {run} at {place}: name its folder, or the one that holds it",
            run=run,
            place=str(place),
        )
    )


def write(path: Path, data: bytes) -> None:
    """Replace a file whole or not at all. Raises Unwritable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                flush(file.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise unwritable(error, "the certificate", path) from error


def keep(ledger: str, campaign: str, run: str, envelope: Envelope) -> bool:
    """Keep a certificate in the ledger that knows its run; False when this ledger does not, or there is none."""
    try:
        with contextlib.closing(Ledger.open(ledger, write=False)) as book:
            known = book.run(run).id == run
    except Refused:
        return False
    if known:
        with contextlib.closing(Ledger.open(ledger)) as book:
            book.keep_envelope("certificate", campaign, envelope.to_bytes(), envelope.digest, run)
    return known
