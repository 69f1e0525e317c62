"""What the shell offers after a word was begun: clauses, runs of the ledger in force, faults, parsers, gates.

A completion never says why it has nothing to offer: a shell would take the words for a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from kvgate import agreement as agreements
from kvgate.errors import KvgateError
from kvgate.gate import options as gate_options
from kvgate.ledger.repository import Ledger
from kvgate.reports.grouping import order
from kvgate.reports.messages import Reader, language

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_MOST = 200  # runs offered, the newest first


def _offer(found: Iterable[tuple[str, str]], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text or None) for name, text in found if name.startswith(begun)]


def clauses(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids, and names of checks where one was begun."""
    del context, parameter
    read, known = Reader(language()), agreements.read().acceptance.clauses
    ids = [(name, read.text(known[name].text)) for name in sorted(known, key=order)]
    checks = [(clause.check, name) for name, clause in known.items()] if begun and not begun.startswith("G") else []
    return _offer((*ids, *checks), begun)


def runs(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Runs of the ledger that the command would open: as typed, else of the environment, else the default."""
    del parameter
    url = context.params.get("ledger") or gate_options.from_environment("ledger") or gate_options.DEFAULT_LEDGER
    try:
        book = Ledger.open(str(url), write=False)
    except KvgateError:
        return []
    try:
        found = [(run.id, f"{run.gate} {run.campaign}, {run.attempt}") for run in book.runs()]
    except KvgateError:
        return []
    finally:
        book.close()
    return _offer(found[::-1][:_MOST], begun)


def gates(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Gates of this version."""
    del context, parameter
    there = [gate for gate, folder in gate_options.GATES.items() if (gate_options.gates_root() / folder).is_dir()]
    return _offer(((gate, "") for gate in there), begun)


def faults(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Faults of the embedded rack."""
    del context, parameter
    from lab.faults import chinese, every

    said = chinese() if language().startswith("zh") else {}
    return _offer(((fault.name, said.get(fault.name, fault.text)) for fault in every().values()), begun)


def parsers(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Commands that ``kvgate parse`` can read."""
    del context, parameter
    from checks.seen import SEEN

    return _offer(((name, "") for name in sorted(SEEN)), begun)
