"""``kvgate ticket``: the signed start ticket of a run as a file, for the other party to count attempts by."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from checks.phrase import say
from kvgate.campaign import tickets
from kvgate.certificates import soak_book
from kvgate.cli import complete, options, signing, speech
from kvgate.errors import NotAllowed
from kvgate.ledger.repository import Ledger


@click.command(
    "ticket",
    help=speech.read(
        "Write the signed start ticket of RUN to a file, while it still runs or later: the other party keeps it, and finds with "
        "kvgate audit --anchor FILE whether the attempt was deleted since. Of the name of a soak: the newest record of its start.\n\n"
        "Example: kvgate ticket 20261129T19 -o ticket-G1.json"
    ),
)
@click.argument("run", shell_complete=complete.runs)
@options.LEDGER
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help=speech.read("file to write  [default: var/certificates/ticket-GATE-RUN.json]"),
)
def ticket(run: str, ledger: str, out: Path | None) -> None:
    """Write the signed start ticket of a run to a file."""
    with contextlib.closing(Ledger.open(ledger, write=False)) as book:
        if run.startswith("soak-"):
            _soak(book, run, out)
            return
        record = book.run(run)
        found = next(tickets.kept(book, record), None)
    if found is None:
        raise NotAllowed(
            say(
                "nobody signed the start ticket of run {run}: pytest -m {gate} --key FILE --party NAME signs it before it asks",
                run=record.id,
                gate=record.gate,
            )
        )
    path = out or Path("var/certificates") / f"ticket-{record.gate}-{record.id}.json"
    signing.write(path, found.to_bytes())
    click.echo(path)


def _soak(book: Ledger, name: str, out: Path | None) -> None:
    found = [one for one in soak_book.written(book)[0] if one.said.soak == name and one.said.event == "start"]
    signed = [one for one in found if one.envelope.signatures]
    if not signed:
        what = (
            say("the ledger has no start of {soak}", soak=name)
            if not found
            else say("nobody signed the start of {soak}", soak=name)
        )
        raise NotAllowed(
            say(
                "{what}: kvgate soak start --key FILE --party NAME writes it down, signed, before a host hears of it",
                what=what,
            )
        )
    path = out or Path("var/certificates") / f"start-{name}.json"
    signing.write(path, signed[-1].envelope.to_bytes())
    click.echo(path)


COMMANDS = (ticket,)
