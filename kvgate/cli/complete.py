"""What a shell completes besides words of the command line: runs of the ledger, evidence ids of a run. Never an error."""

from __future__ import annotations

import click

from kvgate.errors import KvgateError
from kvgate.evidence.record import label
from kvgate.gate import options as gate_options


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
