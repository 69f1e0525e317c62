"""The key that signs the start ticket of a G4 that nobody attends: found good before hours of load are made."""

from __future__ import annotations

from pathlib import Path

import click

from checks.phrase import say
from kvgate.campaign import parties
from kvgate.certificates import keys
from kvgate.certificates.trust import PARTIES
from kvgate.cli import signing, speech
from kvgate.errors import NotAllowed
from kvgate.inventory import reader

KEY = click.option(
    "--key", type=click.Path(path_type=Path), envvar="KVGATE_KEY",
    help=speech.read(
        "signs the start ticket of G4: a private key without a passphrase, as a timer can ask neither a person nor ssh-agent"
    ),
)  # fmt: skip
PARTY = click.option(
    "--party", type=click.Choice(PARTIES), envvar="KVGATE_PARTY", help=speech.read("whose key that is")
)


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
