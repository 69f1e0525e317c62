"""``kvgate judge``: a stored run judged again from its evidence alone, beside what it came to then."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import click
import pytest

from kvgate.certificates.code import code_version
from kvgate.cli import complete, options, speech
from kvgate.cli.again import Witness
from kvgate.evidence.store import Evidence
from kvgate.gate import options as gate_options
from kvgate.gate.stored import find_run
from kvgate.reports import replay

_LOADED = "ignore::pytest.PytestAssertRewriteWarning"  # the plugin is loaded already: this program is part of it


@click.command(
    "judge",
    help=speech.read(
        "Judge RUN (a run id, the beginning of one, or an evidence folder) again with this version of the code.\n\n"
        "No host is contacted. Every verdict that differs from the stored one is named with what changed: its parser, the "
        "judging, a limit, the question. The exit status is the gate's: 0 PASS, 1 STOP, 6 UNDECIDED.\n\n"
        "Example: kvgate judge 20261129T19 --json"
    ),
)
@click.argument("run", shell_complete=complete.runs)
@options.evidence(speech.read("where runs are kept"))
@options.LEDGER
@click.option(
    "--by", type=click.Choice(["stored", "installed"]), default="stored", show_default=True,
    help=speech.read("the agreement that the run went by, or the acceptance document of this installation"),
)  # fmt: skip
@click.option("--junitxml", type=click.Path(), help=speech.read("write a JUnit report too"))
@options.JSON
def judge(run: str, evidence: Path, ledger: str, by: str, junitxml: str | None, as_json: bool) -> None:
    """Judge a stored run again."""
    folder = find_run(gate_options.Options("G1", None, ledger, evidence), run)
    stored = Evidence.open(folder)
    words = [
        "-p",
        "kvgate.pytest_plugin",
        "-W",
        _LOADED,
        "-m",
        stored.start.gate,
        "--replay",
        str(folder),
        "--replay-by",
        by,
    ]
    words += ["--ledger", ledger, "-q", *(["--junitxml", junitxml] if junitxml else [])]
    witness = Witness()
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        status = pytest.main(words, plugins=[witness])
    if as_json and witness.run is not None and witness.run.session is not None:
        told = {"run": stored.run, "folder": str(folder), "by": by, "code": code_version()}
        click.echo(json.dumps({**told, **replay.as_json(witness.run.session)}, ensure_ascii=False))
    sys.exit(status)


COMMANDS = (judge,)
