"""Commands that a report suggests: quoted, and with the options in force, so that they work when they are pasted."""

from __future__ import annotations

import shlex
from pathlib import Path

from kvgate.gate import options as gate_options
from kvgate.gate.options import Options


def command(*words: str, ledger: str = "", evidence: str = "") -> str:
    """Return a command line; ledger and evidence stand in it unless they are what it would take by itself."""
    found = list(words)
    if ledger and not _same_ledger(ledger):
        found += ["--ledger", _without_password(ledger)]
    if evidence and not _same_folder(evidence):
        found += ["--evidence", evidence]
    return shlex.join(found)


def show(run: str, options: Options, *answer: str) -> str:
    """``kvgate show RUN``, or one ``answer`` of it by its evidence id."""
    return command("kvgate", "show", run, *answer, ledger=options.ledger)


def judge(run: str, options: Options) -> str:
    """``kvgate judge RUN``."""
    return command("kvgate", "judge", run, ledger=options.ledger, evidence=str(options.evidence))


def again(options: Options) -> str:
    """Return the command that asks again what a run still owes."""
    words = ["pytest", "-m", options.gate, "--inventory", str(options.inventory), "--only-stale"]
    words += ["--allow-load"] if options.allow_load else []
    for serial in options.allow_destructive:
        words += ["--allow-destructive", serial]
    return command(*words, ledger=options.ledger, evidence=str(options.evidence))


def _same_ledger(ledger: str) -> bool:
    standard = gate_options.from_environment("ledger") or gate_options.DEFAULT_LEDGER
    before = "sqlite:///"
    if ledger.startswith(before) and standard.startswith(before):
        return Path(ledger.removeprefix(before)).absolute() == Path(standard.removeprefix(before)).absolute()
    return ledger == standard


def _same_folder(folder: str) -> bool:
    standard = gate_options.from_environment("evidence") or gate_options.DEFAULT_EVIDENCE
    return Path(folder).absolute() == Path(standard).absolute()


def _without_password(ledger: str) -> str:
    """Return the URL as it works when pasted: PostgreSQL takes the password from its own places (``~/.pgpass``)."""
    if ledger.startswith("sqlite:"):
        return ledger
    from sqlalchemy import make_url

    from kvgate.ledger.engine import bare

    return bare(make_url(ledger)).render_as_string(hide_password=False)
