"""``kvgate close``: gives an attempt that died its end, so that the next one may start."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import click

from checks.phrase import say
from kvgate.cli import complete, options, speech
from kvgate.cli.closing import closed
from kvgate.errors import NotAllowed
from kvgate.gate.stored import running
from kvgate.gate.unfinished import folder_of, taken_up, unjudged
from kvgate.ledger.repository import Ledger, RunRecord
from kvgate.reports.messages import Reader, language


@click.command(
    "close",
    help=speech.read(
        "Give RUN, whose process died, its end. It is counted as an attempt, and nothing of it is lost: its evidence is judged "
        "first, without asking any host, and what comes to STOP ends the campaign; else it is UNDECIDED.\n\n"
        "`pytest -m GATE --only-stale` takes it up again instead, and asks only what it still owes.\n\n"
        "Example: kvgate close 20261129T19 --reason 'laptop lost power'"
    ),
)
@click.argument("run", shell_complete=complete.runs)
@click.option("--reason", required=True, help=speech.read("what ended it: it stays with the run"))
@click.option(
    "--ended", is_flag=True, help=speech.read("I have seen to it that it runs no more on the machine that started it")
)
@options.evidence(speech.read("where runs are kept"))
@options.LEDGER
def close(run: str, reason: str, ended: bool, evidence: Path, ledger: str) -> None:
    """Give a run, whose process died, its end."""
    read = Reader(language())
    if len(reason.strip()) < 3:
        raise NotAllowed(say("found no reason, wanted --reason 'what ended it'"))
    with contextlib.closing(Ledger.open(ledger)) as book:
        record = book.run(run)
        _may_end(book, record, evidence)
        if not ended:
            _over(record)
        found = closed(book, record, reason.strip(), evidence)
    words: dict[str, str | int] = {"run": record.id, "attempt": record.attempt, "gate": record.gate}
    if found.stops:
        click.echo(
            read.ngettext(
                "run {run} (attempt {attempt} at {gate}) is closed; {count} verdict of it is STOP, and counts as one: kvgate show {run}",
                "run {run} (attempt {attempt} at {gate}) is closed; {count} verdicts of it are STOP, and count as one: kvgate show {run}",
                found.stops,
                **words,
            )
        )
    elif found.unjudged is not None:
        click.echo(
            read(
                "run {run} (attempt {attempt} at {gate}) is closed, but what it had seen could not be judged ({why}); until somebody "
                "closes it once more with its evidence, or both parties reopen the campaign, no gate of it begins",
                **words,
                why=read.phrase(found.unjudged),
            )
        )
    else:
        click.echo(read("run {run} (attempt {attempt} at {gate}) is closed as UNDECIDED", **words))


def _may_end(book: Ledger, record: RunRecord, evidence: Path) -> None:
    """Raise NotAllowed for a run that has its end and was judged as far as it saw, or whose evidence is not here."""
    if record.state == "started" or taken_up(book, record):
        return
    if not unjudged(book, record):
        raise NotAllowed(say("run {id} has its end already: it is {state}", id=record.id, state=record.state))
    # One more entry would void a reopening that both parties have signed meanwhile.
    if folder_of(record, evidence) is None:
        raise NotAllowed(
            say(
                "run {id} has its end, and its evidence is not at {path}: bring it there, or name its parent with --evidence; where "
                "it is lost, both parties reopen the campaign (kvgate reopen)",
                id=record.id,
                path=record.evidence,
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
