"""``kvgate parse``: one tool's raw output -> the typed fact as JSON, or why it cannot be read."""

from __future__ import annotations

import dataclasses
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
from checks.phrase import say
from checks.probe import UnreadableOutput
from checks.seen import SEEN
from kvgate.cli import complete, speech
from kvgate.cli.speech import near
from kvgate.codec import first_bytes
from kvgate.errors import NotAllowed
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from kvgate.transport.base import Command

#: Bytes of one output, as the transport caps them.
_MOST = Command("", "").cap


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


def _raw(file: Path | None) -> bytes:
    """Read what is to be parsed, no more than a byte beyond the limit."""
    if file is None or str(file) == "-":
        return sys.stdin.buffer.read(_MOST + 1)
    return first_bytes(file, _MOST + 1)


@click.command(
    "parse",
    help=speech.read(
        "Read COMMAND's raw output from FILE or stdin and print the fact as JSON. Exit 3 when it cannot be "
        "read.\n\n"
        "Example: nvme smart-log /dev/nvme0 -o json | kvgate parse nvme-smart-log"
    ),
)
@click.argument("command", required=False, shell_complete=complete.parsers)
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--list", "list_", is_flag=True, help=speech.read("name the parsers, with what each reads"))
@click.option("--json", "as_json", is_flag=True, help=speech.read("with --list: as JSON; a fact is always JSON"))
def parse(command: str | None, file: Path | None, list_: bool, as_json: bool) -> None:
    """Read a raw output."""
    known = parsers()
    if list_ or command is None:
        reads = {name: _reads(parser) for name, parser in sorted(known.items())}
        if as_json:
            found = [
                {"command": name, "reads": text, "seen": SEEN.get(name, "").split()} for name, text in reads.items()
            ]
            click.echo(json.dumps(found, ensure_ascii=False))
            return
        read = Reader(language())
        rows = [(name, text.split(": ")[0], SEEN.get(name, "")) for name, text in reads.items()]
        heads = (read("COMMAND"), read("reads the output of"), read("versions seen (others are read too, or refused)"))
        terminal.console(sys.stdout).print(terminal.listing(rows, *heads))
        return
    if command not in known:
        raise NotAllowed(
            say(
                "found {name!r}, wanted a command that a parser reads{near}; `kvgate parse --list` names them all",
                name=command,
                near=near(command, known),
            )
        )
    if file is None and sys.stdin.isatty():
        read = Reader(language())
        click.echo(read("reading the output of {command} from here; Ctrl-D ends it", command=command), err=True)
    raw = _raw(file)
    if len(raw) > _MOST:
        more = say(
            "found more than {count} bytes, wanted the output of one command: is {path} the right file?",
            count=_MOST,
            path=str(file or "-"),
        )
        raise NotAllowed(more)
    try:
        fact = known[command](raw.decode("utf-8", "backslashreplace"))
    except UnreadableOutput as error:
        read = Reader(language())
        click.echo(
            read("kvgate: this output of {command} cannot be read: {why}", command=command, why=str(error)), err=True
        )
        raise SystemExit(3) from None
    click.echo(json.dumps(plain(fact), indent=2, ensure_ascii=False))


COMMANDS = (parse,)
