"""The key that signs the start ticket of a G4 that nobody attends: found good before hours of load are made."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from checks.phrase import say
from kvgate.campaign import parties
from kvgate.certificates import keys
from kvgate.certificates.code import code_version
from kvgate.certificates.soak_book import SoakBook
from kvgate.certificates.trust import PARTIES
from kvgate.cli import options as shared
from kvgate.cli import signing, speech
from kvgate.errors import NotAllowed
from kvgate.gate.operator import operator
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.ledger.repository import Ledger

Command = Callable[..., Any]

ALLOW_LOAD = click.option("--allow-load", is_flag=True, help=speech.read("permit load on the rack for all that time"))

#: What a soak that nobody attends is told: leave to make load, who signs its start ticket, and where ledger and evidence are.
_ALONE = (
    ALLOW_LOAD,
    click.option(
        "--key", type=click.Path(path_type=Path), envvar="KVGATE_KEY",
        help=speech.read(
            "signs the start ticket of G4: a private key without a passphrase, as a timer can ask neither a person nor ssh-agent"
        ),
    ),
    click.option("--party", type=click.Choice(PARTIES), envvar="KVGATE_PARTY", help=speech.read("whose key that is")),
    signing.TRUST,
    shared.LEDGER,
    shared.evidence(speech.read("where runs are kept")),
)  # fmt: skip


#: What a command is told that writes of a soak into the ledger.
_WRITES = (
    shared.LEDGER,
    click.option(
        "--key", type=click.Path(path_type=Path), envvar="KVGATE_KEY",
        help=speech.read("signs what is written down, so that the other party can count starts"),
    ),
    click.option("--party", type=click.Choice(PARTIES), envvar="KVGATE_PARTY", help=speech.read("whose key that is")),
    signing.TRUST,
)  # fmt: skip


def writes(command: Command) -> Command:
    """Give a command the options by which it writes down what it does to a soak."""
    for option in reversed(_WRITES):
        command = option(command)
    return command


@contextlib.contextmanager
def book(
    rack: Inventory, ledger: str, key: Path | None, party: str | None, trust: Path | None, *, write: bool = True
) -> Iterator[SoakBook]:
    """Open the book of a rack's soaks, before any host is asked. Raises NotAllowed, Unwritable: a ledger out of reach starts nothing."""
    if (key is None) is not (party is None):
        raise NotAllowed(say("--key signs what is written down, --party says whose it is: give both, or none"))
    trusts = parties.trusted(rack, trust)
    signer = None if key is None or party is None else parties.signer_of(key, party, trusts, signing.passphrase)
    with contextlib.closing(Ledger.open(ledger, write=write)) as opened:
        yield SoakBook(opened, rack, operator(), code_version(), signer=signer, trust=trusts)


def alone(command: Command) -> Command:
    """Give a command the options of a soak that nobody attends."""
    for option in reversed(_ALONE):
        command = option(command)
    return command


def options(inventory: Path, key: Path | None, party: str | None, trust: Path | None) -> list[str]:
    """Return the options that sign the start ticket of G4, once it is sure that they will do. Raises NotAllowed, Unproven."""
    rack = reader.read(inventory)
    if key is None or party is None:
        raise NotAllowed(
            say(
                "G4 does not start without a signed start ticket: give --key FILE and --party NAME (or KVGATE_KEY and KVGATE_PARTY)"
            )
        )
    keys.unattended(key)
    parties.signer_of(key, party, parties.trusted(rack, trust), signing.passphrase)
    more = [] if trust is None else ["--trust", str(trust.absolute())]
    return ["--key", str(key.absolute()), "--party", party, *more]
