"""``kvgate judge``: a stored run judged again from its evidence alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from kvgate.cli import speech
from kvgate.evidence.store import Evidence
from kvgate.gate import options as gate_options
from kvgate.gate.sealed import vouched
from kvgate.gate.start import find_run
from kvgate.reports.messages import Reader, language


@click.command(
    "judge",
    help=speech.read(
        "Judge RUN (a run id or an evidence folder) again with this version of the code. No host is "
        "contacted.\n\n"
        "The exit status is the gate's: 0 PASS, 1 STOP, 6 UNDECIDED."
    ),
)
@click.argument("run")
@click.option(
    "--evidence", type=click.Path(path_type=Path), envvar="KVGATE_EVIDENCE", default=gate_options.DEFAULT_EVIDENCE, show_default=True,
    help=speech.read("where runs are kept"),
)  # fmt: skip
@click.option(
    "--ledger",
    envvar="KVGATE_LEDGER",
    default=gate_options.DEFAULT_LEDGER,
    show_default=True,
    help=speech.read("results database"),
)
@click.option("--junitxml", type=click.Path(), help=speech.read("write a JUnit report too"))
def judge(run: str, evidence: Path, ledger: str, junitxml: str | None) -> None:
    """Judge a stored run again."""
    folder = find_run(gate_options.Options("G1", None, ledger, evidence), run)
    stored = Evidence.open(folder)
    if not vouched(stored, ledger):
        read = Reader(language())
        click.echo(
            read(
                "no ledger at {ledger} sealed this run: what follows rests on the evidence folder alone, and nobody vouches "
                "that it is the one that was taken",
                ledger=ledger,
            ),
            err=True,
        )
    arguments = [
        "-p",
        "kvgate.pytest_plugin",
        "-m",
        stored.start.gate,
        "--replay",
        str(folder),
        "--ledger",
        ledger,
        "-q",
    ]
    if junitxml:
        arguments += ["--junitxml", junitxml]
    sys.exit(pytest.main(arguments))


COMMANDS = (judge,)
