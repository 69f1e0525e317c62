"""``kvgate close``: gives an attempt that died its end, so that the next one may start."""

from __future__ import annotations

import contextlib
import socket

import click

from kvgate.cli import signing
from kvgate.errors import NotAllowed
from kvgate.gate.stored import running
from kvgate.ledger.repository import Ledger, RunRecord
from kvgate.reports.messages import Reader, language


@click.command("close")
@click.argument("run")
@click.option("--reason", required=True, help="what ended it: it stays with the run")
@click.option("--ended", is_flag=True, help="I have seen to it that it runs no more on the machine that started it")
@signing.LEDGER
def close(run: str, reason: str, ended: bool, ledger: str) -> None:
    """Close RUN, whose process died, as UNDECIDED. It is counted as an attempt; nothing of it is lost.

    `pytest -m GATE --only-stale` takes it up again instead, and asks only what it still owes.

    Example: kvgate close 20261129T19 --reason 'laptop lost power'
    """
    read = Reader(language())
    if len(reason.strip()) < 3:
        raise NotAllowed("found no reason, wanted --reason 'what ended it'")
    with contextlib.closing(Ledger.open(ledger)) as book:
        record = book.run(run)
        if record.state != "started":
            raise NotAllowed(f"run {record.id} has its end already: it is {record.state}")
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
            f"run {record.id} was started on {record.host}, where this machine cannot look: see that it runs no more, then "
            "say so with --ended"
        )
    if running(record):
        raise NotAllowed(
            f"run {record.id} still runs: another process writes {record.evidence}; let it end, or stop it"
        )


COMMANDS = (close,)
