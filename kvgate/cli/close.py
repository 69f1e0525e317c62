"""``kvgate close``: gives an attempt that died its end, so that the next one may start."""

from __future__ import annotations

import contextlib
import socket

import click

from checks.phrase import say
from kvgate.cli import complete, options, speech
from kvgate.errors import NotAllowed
from kvgate.gate.stored import running
from kvgate.ledger.repository import Ledger, RunRecord
from kvgate.reports.messages import Reader, language


@click.command(
    "close",
    help=speech.read(
        "Close RUN, whose process died, as UNDECIDED. It is counted as an attempt; nothing of it is lost.\n\n"
        "`pytest -m GATE --only-stale` takes it up again instead, and asks only what it still owes.\n\n"
        "Example: kvgate close 20261129T19 --reason 'laptop lost power'"
    ),
)
@click.argument("run", shell_complete=complete.runs)
@click.option("--reason", required=True, help=speech.read("what ended it: it stays with the run"))
@click.option(
    "--ended", is_flag=True, help=speech.read("I have seen to it that it runs no more on the machine that started it")
)
@options.LEDGER
def close(run: str, reason: str, ended: bool, ledger: str) -> None:
    """Close a run, whose process died, as UNDECIDED."""
    read = Reader(language())
    if len(reason.strip()) < 3:
        raise NotAllowed(say("found no reason, wanted --reason 'what ended it'"))
    with contextlib.closing(Ledger.open(ledger)) as book:
        record = book.run(run)
        if record.state != "started":
            raise NotAllowed(say("run {id} has its end already: it is {state}", id=record.id, state=record.state))
        if not ended:
            _over(record)
        book.interrupt(record, f"closed: {reason.strip()}")
    click.echo(
        read(
            "run {run} (attempt {attempt} at {gate}) is closed as UNDECIDED",
            run=record.id,
            attempt=record.attempt,
            gate=record.gate,
        )
    )


def _over(record: RunRecord) -> None:
    """Raise NotAllowed while the run may still be under way."""
    if record.host != socket.gethostname():
        raise NotAllowed(
            say(
                "run {id} was started on {host}, where this machine cannot look: see that it runs no more, then say so with --ended",
                id=record.id,
                host=record.host,
            )
        )
    if running(record):
        raise NotAllowed(
            say(
                "run {id} still runs: another process writes {evidence}; let it end, or stop it",
                id=record.id,
                evidence=record.evidence,
            )
        )


COMMANDS = (close,)
