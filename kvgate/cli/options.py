"""Options that many commands take: one wording, one default, one environment variable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kvgate.cli import speech
from kvgate.gate import options as gate_options

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

LEDGER: Decorator = click.option(
    "--ledger", envvar="KVGATE_LEDGER", default=gate_options.DEFAULT_LEDGER, show_default=True,
    help=speech.read("results database"),
)  # fmt: skip
JSON: Decorator = click.option("--json", "as_json", is_flag=True, help=speech.read("stable keys, for programs"))


def evidence(help_: str) -> Decorator:
    """Return the option ``--evidence``: a path, by default where gates keep their runs."""
    return click.option(
        "--evidence", type=click.Path(path_type=Path), envvar="KVGATE_EVIDENCE", default=gate_options.DEFAULT_EVIDENCE,
        show_default=True, help=help_,
    )  # fmt: skip
