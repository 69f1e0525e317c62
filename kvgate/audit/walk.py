"""The walk through everything: ledger, evidence run by run, certificates. Findings come out as they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvgate.audit import evidence, order, soaks, stoploss
from kvgate.audit.certificates import Weighing, gathered, strange
from kvgate.audit.deviations import Deviations
from kvgate.certificates.trust import Trust
from kvgate.errors import Damaged
from kvgate.ledger.findings import Finding
from kvgate.ledger.repository import Ledger

#: Told what is walked through and how many of it are done.
Progress = Callable[[str, int], None]


@dataclass
class Counts:
    """How much was looked at."""

    runs: int = 0
    decisions: int = 0
    folders: int = 0
    lines: int = 0
    blobs: int = 0
    certificates: int = 0
    head: tuple[int, str] = field(default=(0, ""))
    elsewhere: Path | None = None  # folder of certificates that share no run with the ledger: not weighed


@dataclass(frozen=True)
class Asked:
    """What to look at besides the ledger. ``root`` is where runs lie; None: where the ledger says.

    ``guessed``: nobody named the folder of certificates and it does not lie beside the ledger; it may be another one's.
    """

    root: Path | None = None
    certificates: Path | None = None
    guessed: bool = False
    anchors: Sequence[Path] = ()
    trust: Trust | None = None


def walk(ledger: Ledger, asked: Asked, counts: Counts, progress: Progress) -> Iterator[Finding]:
    """Yield every finding; ``counts`` grow meanwhile. Raises NotAllowed for an anchor that cannot be read."""
    yield from ledger.findings(progress)
    try:
        runs = ledger.runs()
        counts.runs, counts.head = len(runs), ledger.head()
        counts.decisions = len(ledger.decisions())
    except Damaged:
        return  # named above
    for done, run in enumerate(runs, start=1):
        try:
            looked = evidence.look(ledger, run, asked.root)
        except Damaged as error:
            yield Finding("row", run.id, f"run {run.id}: {error}")
            continue
        counts.folders += looked.lines > 0
        counts.lines += looked.lines
        counts.blobs += looked.blobs
        yield from looked.findings
        progress("evidence", done)
    if asked.root is not None and asked.root.is_dir():
        yield from evidence.strangers(asked.root, {run.id for run in runs})
    deviations = Deviations(ledger, asked.trust)
    try:
        yield from deviations.look()
        yield from stoploss.look(ledger, asked.trust)
        yield from soaks.look(ledger)
        yield from order.look(ledger)
    except Damaged as error:
        yield Finding("row", "ledger", str(error))
    weighing = Weighing(ledger, asked.trust, deviations)
    folder = asked.certificates
    if asked.guessed and folder is not None and strange(ledger, folder):
        counts.elsewhere, folder = folder, None
    for source in gathered(ledger, folder, asked.anchors):
        counts.certificates += 1
        try:
            yield from weighing.look(source)
        except Damaged as error:
            yield Finding("row", source.place, f"{source.place}: {error}")
        progress("certificates", counts.certificates)
    yield from weighing.together()
