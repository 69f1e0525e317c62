"""The two parties of the demo: both keys lie in one folder, so what they sign proves nothing; it lets the demo go on."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from checks.phrase import say
from kvgate.campaign import parties, reopening, standing, statements
from kvgate.campaign.documents import Documents
from kvgate.certificates.keys import signer
from kvgate.certificates.trust import PARTIES
from kvgate.cli.closing import closed
from kvgate.errors import NotAllowed
from kvgate.gate.stored import running
from kvgate.gate.unfinished import folder_of, taken_up, unjudged
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.ledger.repository import Ledger
from kvgate.reports.messages import Reader, language


def go_on(ledger: str, inventory: Path) -> None:
    """Close what died in an earlier demo, and reopen the campaign after its STOP, as the parties of a real one would."""
    read, rack = Reader(language()), reader.read(inventory)
    with contextlib.closing(Ledger.open(ledger)) as book:
        for run in book.runs(rack.rack.campaign):
            if running(run):
                continue
            if run.state == "started" or taken_up(book, run) or (unjudged(book, run) and folder_of(run) is not None):
                closed(book, run, "an earlier demo did not end it")
        _reopen(book, rack, read)


def _reopen(book: Ledger, inventory: Inventory, read: Reader) -> None:
    name = inventory.rack.campaign
    documents = Documents(book, name, parties.trusted(inventory, None), standing.now())
    stops = standing.read(book, name, documents).stopping()
    if not stops:
        return
    envelope = reopening.propose(name, stops, documents, "the demo goes on", documents.at)
    for party in PARTIES:
        private = Path(inventory.file).parent / Path(inventory.rack.parties[party].key).with_suffix("")
        envelope = envelope.signed_by(signer(private, _never))
    book.keep_envelope(statements.REOPENING, name, envelope.to_bytes(), envelope.digest)
    click.echo(
        read(
            "both parties of the demo reopen its campaign after {count} STOP: kvgate status shows it", count=len(stops)
        ),
        err=True,
    )


def _never(path: Path) -> str:
    raise NotAllowed(
        say("key {path} of the demo has a passphrase: remove it, the demo makes a new one", path=str(path))
    )
