"""``kvgate parse``: one tool's raw output -> the typed fact as JSON, or why it cannot be read."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import json
import pkgutil
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import click

import checks.parsers
from checks.probe import UnreadableOutput
from kvgate.errors import NotAllowed
from kvgate.reports.messages import Reader, language


def parsers() -> dict[str, Callable[[str], Any]]:
    """Command name -> parse function, for every parser there is."""
    found: dict[str, Callable[[str], Any]] = {}
    for info in pkgutil.iter_modules(checks.parsers.__path__):
        if info.name.startswith("_") or info.name == "TEMPLATE":
            continue
        module = importlib.import_module(f"checks.parsers.{info.name}")
        found[module.COMMAND] = module.parse
    return found


def _reads(parser: Callable[[str], Any]) -> str:
    """Return the first sentence of the parser's module, which names the command line."""
    text = sys.modules[parser.__module__].__doc__ or ""
    return " ".join(text.split("\n\n")[0].split()).replace("``", "")


def plain(fact: Any) -> Any:
    """A fact as JSON values: dataclasses become objects, tuples lists."""
    if dataclasses.is_dataclass(fact) and not isinstance(fact, type):
        return {field.name: plain(getattr(fact, field.name)) for field in dataclasses.fields(fact)}
    if isinstance(fact, dict):
        return {str(key): plain(value) for key, value in fact.items()}
    if isinstance(fact, (list, tuple)):
        return [plain(value) for value in fact]
    if isinstance(fact, (set, frozenset)):
        return sorted(plain(value) for value in fact)
    return fact.value if isinstance(fact, Enum) else fact


@click.command("parse")
@click.argument("command", required=False)
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--list", "list_", is_flag=True, help="name the parsers, with what each reads")
@click.option("--json", "as_json", is_flag=True, help="with --list: as JSON; a fact is always JSON")
def parse(command: str | None, file: Path | None, list_: bool, as_json: bool) -> None:
    """Read COMMAND's raw output from FILE or stdin and print the fact as JSON. Exit 3 when it cannot be read.

    Example: nvme smart-log /dev/nvme0 -o json | kvgate parse nvme-smart-log
    """
    known = parsers()
    if list_ or command is None:
        reads = {name: _reads(parser) for name, parser in sorted(known.items())}
        if as_json:
            click.echo(
                json.dumps([{"command": name, "reads": text} for name, text in reads.items()], ensure_ascii=False)
            )
        else:
            click.echo("\n".join(reads))
        return
    if command not in known:
        near = difflib.get_close_matches(command, known, n=4, cutoff=0.5)
        hint = f" near it: {', '.join(near)};" if near else ""
        raise NotAllowed(
            f"found command {command!r}, which no parser reads;{hint} `kvgate parse --list` names them all"
        )
    if file is None and sys.stdin.isatty():
        click.echo(
            Reader(language())("reading the output of {command} from here; Ctrl-D ends it", command=command), err=True
        )
    raw = file.read_bytes() if file else sys.stdin.buffer.read()
    try:
        fact = known[command](raw.decode("utf-8", "backslashreplace"))
    except UnreadableOutput as error:
        click.echo(f"kvgate: this output of {command} cannot be read: {error}", err=True)
        raise SystemExit(3) from None
    click.echo(json.dumps(plain(fact), indent=2, ensure_ascii=False))


COMMANDS = (parse,)
