"""``kvgate show RUN E17``: one answer of the evidence as it was kept, and which verdicts rest on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from checks.phrase import say
from kvgate.errors import NotAllowed
from kvgate.evidence.record import label, seq_of
from kvgate.evidence.store import Evidence
from kvgate.gate import options as gate_options
from kvgate.gate.stored import find_run, then
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord
from kvgate.reports import answer, lines
from kvgate.reports.messages import Reader, language


def show(book: Ledger, run: RunRecord, name: str, *, ledger: str, root: Path, as_json: bool) -> None:
    """Print the answer. Raises NotAllowed for an id that names none, or evidence that the ledger did not seal; Damaged."""
    read = Reader(language())
    try:
        number = seq_of(name)
    except ValueError:
        raise NotAllowed(
            say("found evidence id {name!r}, wanted one that `kvgate show {run}` names, as E17", name=name, run=run.id)
        ) from None
    folder = Path(run.evidence)
    if not (folder / "journal.jsonl").is_file():
        folder = find_run(gate_options.Options(run.gate, None, ledger, root), run.id)
    with Evidence.open(folder) as evidence:
        if warning := lines.unvouched(then(evidence, ledger), ledger, read):
            click.echo(warning, err=True)
        try:
            kept = evidence.answer(number)
        except KeyError:
            count = sum(1 for _ in evidence.lines())
            wanted = say("the number of a line that holds an answer of a host")
            found = say("{id} of {count} lines", id=label(number), count=count)
            raise NotAllowed(
                say("{folder}: found {found}, wanted {wanted}", folder=str(folder), found=found, wanted=wanted)
            ) from None
        rests = [(item, row.verdict) for item, row in book.recorded(run).items() if number in row.evidence]
        if as_json:
            about = {"run": run.id, "evidence": str(folder), "answer": answer.as_json(kept, rests)}
            click.echo(json.dumps(about, ensure_ascii=False))
            return
        for line in answer.told(kept, rests, read):
            sys.stdout.write(f"{line}\n")
