"""``kvgate status``: where the campaign stands, what blocks the next gate, and what to do about it."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import click

from checks.phrase import say
from kvgate import agreement as agreements
from kvgate.campaign import elsewhere, frozen, standing
from kvgate.campaign.documents import Documents
from kvgate.campaign.overview import overview
from kvgate.campaign.standing import Campaign
from kvgate.certificates import soak_book
from kvgate.cli import options, signing, speech
from kvgate.cli.deviation import campaign_of
from kvgate.errors import NotAllowed
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.ledger.repository import Ledger
from kvgate.reports import status as shown
from kvgate.reports.messages import Reader, language


@click.command(
    "status",
    help=speech.read(
        "Show the campaign at a glance: planned and actual weeks, attempts and outcomes, what blocks the next "
        "gate.\n\n"
        "Example: kvgate status --inventory inventories/rack-a.yaml --trust keys/allowed_signers"
    ),
)
@click.option(
    "--inventory", type=click.Path(path_type=Path), envvar="KVGATE_INVENTORY",
    help=speech.read("the rack as it is ordered now  [default: as in the newest run]"),
)  # fmt: skip
@click.option("--campaign", help=speech.read("which campaign, where no inventory says and the ledger holds several"))
@signing.TRUST
@options.LEDGER
@options.JSON
def status(inventory: Path | None, campaign: str | None, trust: Path | None, ledger: str, as_json: bool) -> None:
    """Show the campaign at a glance."""
    with contextlib.closing(Ledger.open(ledger, write=False)) as book:
        named = None if inventory is None else reader.read(inventory)
        name = campaign or (campaign_of(book, None) if named is None else named.rack.campaign)
        rack = named if named is not None else _newest(book, name)
        force = frozen.in_force(book, rack if rack.rack.campaign == name else None, trust, name)
        documents = Documents(book, name, force.trust, standing.now())
        found = overview(
            _campaign(book, name, rack, documents), rack.rack, _agreement(book, name, named), documents.at,
            trusted=force.trust is not None, problems=tuple(documents.problems), changed=force.changed, loud=force.loud,
            starts=soak_book.starts(book, name, rack, force.trust),
        )  # fmt: skip
    if as_json:
        click.echo(json.dumps(shown.as_json(found, Reader(language())), ensure_ascii=False))
        return
    shown.show(found, sys.stdout)


def _campaign(book: Ledger, name: str, rack: Inventory, documents: Documents) -> Campaign:
    """Where a campaign stands; what its rack did under other names too, where the inventory is of this campaign."""
    if rack.rack.campaign != name:
        return standing.read(book, name, documents)
    return elsewhere.read(book, rack, documents)


def _newest(book: Ledger, campaign: str) -> Inventory:
    runs = book.runs(campaign)
    if not runs:
        raise NotAllowed(
            say(
                "this ledger has no run of campaign {campaign!r}: name an --inventory to see its plan",
                campaign=campaign,
            )
        )
    return reader.stored(book.inventories(campaign)[runs[-1].inventory_digest], f"{runs[-1].id}/inventory")


def _agreement(book: Ledger, campaign: str, named: Inventory | None) -> str:
    """Digest of the agreement in force: by the inventory's own words, else that of the newest run."""
    if named is None:
        return book.revisions(campaign)[-1].digest
    overlay = named.rack.acceptance
    return agreements.read(Path(named.file).parent / overlay if overlay else None).digest


COMMANDS = (status,)
