"""``kvgate ledger``: a ledger as a file, from a file, and as tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from kvgate.certificates.code import code_version
from kvgate.cli import options, speech
from kvgate.reports.messages import Reader, language
from kvgate.reports.steps import Steps


@click.group("ledger", help=speech.read("Move a ledger between SQLite and PostgreSQL, and take tables out of it."))
def ledger_group() -> None:
    """Move a ledger between SQLite and PostgreSQL, and take tables out of it."""


@ledger_group.command(
    "export",
    help=speech.read(
        "Write the whole ledger, every campaign with its chain, to FILE (JSON Lines). A damaged ledger is not "
        "exported.\n\n"
        "Example: kvgate ledger export rack-a.ledger"
    ),
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@options.LEDGER
@options.JSON
def export(file: Path, ledger: str, as_json: bool) -> None:
    """Write the whole ledger, every campaign with its chain, to a file (JSON Lines)."""
    from kvgate.ledger.moving import export as write

    read, steps = Reader(language()), Steps(sys.stderr)
    rows = write(ledger, file, code_version(), steps)
    steps.end()
    if as_json:
        click.echo(json.dumps({"file": str(file), "rows": rows}, ensure_ascii=False))
        return
    click.echo(read("{rows} rows written to {file}", rows=rows, file=str(file)))


@ledger_group.command(
    "import",
    help=speech.read(
        "Read FILE into an empty ledger, or into one that is the beginning of the same history; then only "
        "what is new is added.\n\n"
        "Everything is verified first, and nothing counts until all is there. Two ledgers that grew apart are "
        "never mixed.\n\n"
        "Example: kvgate ledger import rack-a.ledger --ledger postgresql://ops@db/rack_a"
    ),
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@options.LEDGER
@options.JSON
def import_(file: Path, ledger: str, as_json: bool) -> None:
    """Read a file into an empty ledger, or into one that is the beginning of the same history; then only what is new is added."""
    from kvgate.ledger.moving import take_in

    read, steps = Reader(language()), Steps(sys.stderr)
    found = take_in(file, ledger, steps)
    steps.end()
    if as_json:
        told = {"file": str(file), "before": found.before, "added": found.added, "ended": found.ended}
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    click.echo(read("{added} rows added to {before} that were there", added=found.added, before=found.before))


@ledger_group.command(
    "table",
    help=speech.read(
        "Take a table out of the ledger for pandas, a spreadsheet or another database; runbooks/tables.md has "
        "its columns.\n\n"
        "Example: kvgate ledger table measurements --campaign fx100-2026-q4 -o measurements.parquet"
    ),
)
@click.argument("table", type=click.Choice(["runs", "verdicts", "measurements"]))
@click.option("--campaign", help=speech.read("only this campaign"))
@click.option("--every", is_flag=True, help=speech.read("verdicts that were given again too"))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help=speech.read("FILE.csv or FILE.parquet  [default: CSV on stdout]"),
)
@options.LEDGER
def table(table: str, campaign: str | None, every: bool, output: Path | None, ledger: str) -> None:
    """Take a table out of the ledger for pandas, a spreadsheet or another database; runbooks/tables.md has its columns."""
    from kvgate.reports import tables

    read = Reader(language())
    if table == "runs":
        frame = tables.runs(ledger, campaign)
    else:
        frame = (tables.verdicts if table == "verdicts" else tables.measurements)(ledger, campaign, every=every)
    if output is None:
        click.echo(tables.as_csv(frame), nl=False)
        return
    tables.write(frame, output)
    click.echo(read("{rows} rows written to {file}", rows=len(frame), file=str(output)), err=True)


COMMANDS = (ledger_group,)
