"""A campaign as pandas tables: its runs, its verdicts, and every number that was measured. Only reads; needs no rack.

>>> from kvgate.reports import tables
>>> frame = tables.measurements("sqlite:///var/kvgate.db", "fx100-2026-q4")
>>> frame[frame.name == "latency p99"].groupby("attempt").value.median()

What each column says stands in runbooks/tables.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from checks.phrase import say
from checks.verdict import number
from kvgate.errors import NotAllowed, Unwritable, because
from kvgate.ledger.queries import latest
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, StoredVerdict

TIME = "datetime64[us, UTC]"

#: Columns of every table that tell which run a row is of.
_RUN = {
    "campaign": "string", "run": "string", "gate": "string", "attempt": "Int64", "simulated": "boolean", "started": TIME,
}  # fmt: skip

RUNS: Mapping[str, str] = {
    **_RUN, "ended": TIME, "outcome": "string", "decided": "boolean", "state": "string", "why": "string", "operator": "string",
    "host": "string", "code": "string", "revision": "Int64", "agreement": "string", "inventory": "string", "fingerprint": "string",
}  # fmt: skip

VERDICTS: Mapping[str, str] = {
    **_RUN, "clause": "string", "subject": "string", "blocking": "boolean", "judgement": "Int64", "newest": "boolean",
    "outcome": "string", "measured": "string", "required": "string", "unit": "string", "note": "string", "basis": "string",
    "reason": "string", "at": TIME,
}  # fmt: skip

MEASUREMENTS: Mapping[str, str] = {
    **_RUN, "clause": "string", "subject": "string", "judgement": "Int64", "newest": "boolean", "outcome": "string",
    "name": "string", "value": "Float64", "unit": "string", "at": TIME,
}  # fmt: skip


def runs(ledger: str, campaign: str | None = None) -> pd.DataFrame:
    """One row a run, oldest first; failed and interrupted ones too. Raises Refused, Unwritable."""
    book = Ledger.open(ledger, write=False)
    found = []
    for run in book.runs(campaign):
        standing = book.outcome(run)
        ended = (
            run.ended,
            standing.outcome.value,
            standing.decided,
            run.state,
            run.why,
            run.operator,
            run.host,
            run.code,
        )
        found.append((*_run(run), *ended, run.revision, run.acceptance_digest, run.inventory_digest, run.fingerprint))
    return _frame(found, RUNS)


def verdicts(ledger: str, campaign: str | None = None, *, every: bool = False) -> pd.DataFrame:
    """One row a verdict: of each owed one the newest, or with ``every`` those given again too (``newest`` tells them apart)."""
    found = []
    for run, row, newest, blocking in _verdicts(ledger, campaign, every):
        told = row.verdict
        words = (told.outcome.value, str(told.measured), str(told.required), told.unit, str(told.note or ""))
        place = (row.clause, row.subject, blocking, row.judgement, newest)
        found.append((*_run(run), *place, *words, row.basis, row.reason, row.utc))
    return _frame(found, VERDICTS)


def measurements(ledger: str, campaign: str | None = None, *, every: bool = False) -> pd.DataFrame:
    """One row a number behind a verdict, ``value`` in ``unit``; missing where the number was not finite."""
    found = []
    for run, row, newest, _ in _verdicts(ledger, campaign, every):
        place = (row.clause, row.subject, row.judgement, newest, row.verdict.outcome.value)
        for one in row.verdict.quantities:
            found.append((*_run(run), *place, one.name, number(one.value), one.unit, row.utc))
    return _frame(found, MEASUREMENTS)


TABLES = {"runs": runs, "verdicts": verdicts, "measurements": measurements}


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as ``.csv`` (RFC 4180, UTF-8, times in ISO 8601) or ``.parquet``. Raises NotAllowed, Unwritable."""
    try:
        if path.suffix == ".csv":
            path.write_text(as_csv(frame), "utf-8", newline="")
        elif path.suffix == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            raise NotAllowed(say("found {name!r}, wanted a name that ends in .csv or .parquet", name=path.name))
    except OSError as error:
        raise Unwritable(say("{path} could not be written: {what}", path=str(path), what=because(error))) from error


def as_csv(frame: pd.DataFrame) -> str:
    """Return the table as CSV; a number has as many digits as it takes to read the same number back."""
    return frame.to_csv(index=False, lineterminator="\r\n", date_format="%Y-%m-%dT%H:%M:%S.%fZ")


def _verdicts(ledger: str, campaign: str | None, every: bool) -> Iterator[tuple[RunRecord, StoredVerdict, bool, bool]]:
    book = Ledger.open(ledger, write=False)
    for run in book.runs(campaign):
        weight = {(item.clause, item.subject): item.blocking for item in book.owed(run)}
        judgements = sorted({1, *(entry.judgement for entry in book.decisions(run))}) if every else [1]
        for judgement in judgements:
            rows = book.verdicts(run, judgement=judgement)
            last = {row.id for row in latest(rows).values()}
            for row in rows:
                if every or row.id in last:
                    yield run, row, row.id in last, weight[row.clause, row.subject]


def _run(run: RunRecord) -> tuple[object, ...]:
    return run.campaign, run.id, run.gate, run.attempt, run.simulated, run.started


def _frame(rows: Sequence[tuple[object, ...]], columns: Mapping[str, str]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=list(columns))
    for name in (name for name, kind in columns.items() if kind == TIME):
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame.astype(dict(columns))
