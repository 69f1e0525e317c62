"""``kvgate judge``: a stored run judged again from its evidence alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from kvgate.evidence.store import Evidence
from kvgate.gate import options as gate_options
from kvgate.gate.start import find_run


@click.command("judge")
@click.argument("run")
@click.option(
    "--evidence", type=click.Path(path_type=Path), envvar="KVGATE_EVIDENCE", default=gate_options.DEFAULT_EVIDENCE, show_default=True,
    help="where runs are kept",
)  # fmt: skip
@click.option("--junitxml", type=click.Path(), help="write a JUnit report too")
def judge(run: str, evidence: Path, junitxml: str | None) -> None:
    """Judge RUN (a run id or an evidence folder) again with this version of the code. No host is contacted.

    The exit status is the gate's: 0 PASS, 1 STOP, 6 UNDECIDED.
    """
    folder = find_run(gate_options.Options("G1", None, "", evidence), run)
    gate = Evidence.open(folder).start.gate
    arguments = ["-p", "kvgate.pytest_plugin", "-m", gate, "--replay", str(folder), "-q"]
    if junitxml:
        arguments += ["--junitxml", junitxml]
    sys.exit(pytest.main(arguments))


COMMANDS = (judge,)
