"""``kvgate report``: runs in the terminal, or as one page that needs no network."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click
import pandas as pd

from checks.phrase import say
from kvgate.cli import complete, options, speech
from kvgate.cli.again import session_again
from kvgate.errors import NotAllowed, Refused, Unwritable, because
from kvgate.gate import options as gate_options
from kvgate.gate.session import GateSession
from kvgate.gate.stored import find_run
from kvgate.reports import tables
from kvgate.reports.messages import Reader, language
from kvgate.reports.page import page, parts_of
from kvgate.reports.printed import printed


@click.command(
    "report",
    help=speech.read(
        "Show RUN... (run ids, beginnings of them, or evidence folders) in the terminal, or with --html as one page: decisions, "
        "verdicts, tables and charts of measured load, earlier attempts and published figures beside them, and where every "
        "answer lies.\n\n"
        "Everything is judged again from the evidence; no host is contacted and the page needs no network.\n\n"
        "Example: kvgate report 20261129T19 --html g2.html --lang zh"
    ),
)
@click.argument("runs", nargs=-1, required=True, shell_complete=complete.runs)
@click.option(
    "--html", "target", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help=speech.read("write a page instead; a file that is there is replaced"),
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help=speech.read("in the terminal: also what the page folds"))
@options.evidence(speech.read("where runs are kept"))
@options.LEDGER
def report(runs: tuple[str, ...], target: Path | None, everything: bool, evidence: Path, ledger: str) -> None:
    """Show or write a report."""
    read = Reader(language())
    if target is not None and not target.parent.is_dir():
        raise NotAllowed(
            say("found no folder {folder} for the page, wanted one that is there", folder=str(target.parent))
        )
    sessions: list[GateSession] = []
    for number, name in enumerate(runs, 1):
        click.echo(read("{number} of {count}: judging {run} again", number=number, count=len(runs), run=name), err=True)
        sessions.append(session_again(find_run(gate_options.Options("G1", None, ledger, evidence), name), ledger))
    history = _history(ledger, sessions)
    if target is None:
        printed(parts_of(sessions, read, history), sys.stdout, read, everything=everything)
        sys.exit(0)
    text = page(sessions, read, history)
    _write(target, text)
    size = len(text.encode()) / 1e6
    many = read.ngettext("{count} run", "{count} runs", len(sessions))
    click.echo(read("{path}: {many}, {size:.1f} MB", path=str(target), many=many, size=size))
    sys.exit(0)


def _history(ledger: str, sessions: list[GateSession]) -> pd.DataFrame | None:
    """Measurements of the campaigns, from a ledger that can be read; a page without one says no less of its own runs."""
    frames = []
    for campaign in dict.fromkeys(one.inventory.rack.campaign for one in sessions):
        try:
            frames.append(tables.measurements(ledger, campaign))
        except (Refused, Unwritable):
            return None
    return pd.concat(frames, ignore_index=True) if frames else None


def _write(target: Path, text: str) -> None:
    """Write whole or not at all: a page that was cut must not look like one."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)  # noqa: PTH101 - a page is there to be read; mkstemp made it for its owner alone
        Path(name).replace(target)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise Unwritable(
            say(
                "{path} could not be written: {why}; name another place",
                path=str(target),
                why=because(error),
            )
        ) from error


COMMANDS = (report,)
