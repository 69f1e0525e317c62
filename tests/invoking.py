"""The ``kvgate`` command within this process, for every room: what it leaves in the environment ends with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click
from click.testing import CliRunner, Result

from kvgate.cli import main

#: The command tells its children its language by these.
LANGUAGE = ("KVGATE_LANG", "LANGUAGE")


def invoked(
    *words: str | Path,
    text: str | bytes = "",
    env: Mapping[str, str | None] | None = None,
    command: click.Command = main,
) -> Result:
    """Call the command; a traceback is an error of the test, whatever the exit status."""
    result = invoked_any(*words, text=text, env=env, command=command)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return result


def invoked_any(
    *words: str | Path,
    text: str | bytes = "",
    env: Mapping[str, str | None] | None = None,
    command: click.Command = main,
) -> Result:
    """Call the command; what it raises is in the result. ``None`` takes a variable out of the environment."""
    return CliRunner().invoke(command, [str(word) for word in words], input=text, env=lent(env), prog_name="kvgate")


def lent(env: Mapping[str, str | None] | None = None) -> dict[str, str | None]:
    """Return an environment for click's runner that names the language too: what is named, it lays back afterwards."""
    return {**{name: os.environ.get(name) for name in LANGUAGE}, **(env or {})}
