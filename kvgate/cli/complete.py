"""What a shell completes besides words of the command line: clauses, gates, faults, parsers, runs of the ledger, evidence ids.

Never an error: a shell would take its words for a choice.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from kvgate import agreement as agreements
from kvgate.errors import KvgateError
from kvgate.evidence.record import label
from kvgate.gate import options as gate_options
from kvgate.reports.grouping import order
from kvgate.reports.messages import Reader, language


def runs(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of runs that begin so, the newest first; none where there is no ledger."""
    from kvgate.ledger.repository import Ledger

    del parameter
    try:
        book = Ledger.open(_ledger(ctx), write=False)
        return [run.id for run in reversed(book.runs()) if run.id.startswith(incomplete)]
    except (KvgateError, OSError):
        return []


def answers(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Evidence ids that verdicts of the run rest on."""
    from kvgate.ledger.repository import Ledger

    del parameter
    try:
        book = Ledger.open(_ledger(ctx), write=False)
        rows = book.recorded(book.run(str(ctx.params.get("run") or ""))).values()
    except (KvgateError, OSError):
        return []
    numbers = sorted({number for row in rows for number in row.evidence})
    return [found for found in map(label, numbers) if found.startswith(incomplete)]


def _ledger(ctx: click.Context) -> str:
    return str(ctx.params.get("ledger") or gate_options.from_environment("ledger") or gate_options.DEFAULT_LEDGER)


def _offer(found: Iterable[tuple[str, str]], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text or None) for name, text in found if name.startswith(begun)]


def clauses(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids, and names of checks where one was begun."""
    del context, parameter
    read, known = Reader(language()), agreements.read().acceptance.clauses
    ids = [(name, read.text(known[name].text)) for name in sorted(known, key=order)]
    checks = [(clause.check, name) for name, clause in known.items()] if begun and not begun.startswith("G") else []
    return _offer((*ids, *checks), begun)


def gates(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Gates of this version."""
    del context, parameter
    there = [gate for gate, folder in gate_options.GATES.items() if (gate_options.gates_root() / folder).is_dir()]
    return _offer(((gate, "") for gate in there), begun)


def faults(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Faults of the embedded rack."""
    del context, parameter
    from lab.faults import chinese, every
    from lab.soak.faults import EMBEDDED

    said = chinese() if language().startswith("zh") else {}
    words = [(fault.name, said.get(fault.name, fault.text)) for fault in every().values()]
    words += [(one.name, one.zh if said else one.text) for one in EMBEDDED]
    return _offer(words, begun)


def parsers(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Commands that ``kvgate parse`` can read."""
    del context, parameter
    from checks.seen import SEEN

    return _offer(((name, "") for name in sorted(SEEN)), begun)
