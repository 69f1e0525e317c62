"""``kvgate runs`` and ``kvgate show``: the history, failed attempts included, and one run clause by clause."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.padding import Padding
from rich.text import Text

from checks.decision import Owed
from checks.verdict import SEVERITY, Outcome
from kvgate import agreement as agreements
from kvgate.agreement import Agreement
from kvgate.campaign import commands, standing
from kvgate.campaign.documents import Documents
from kvgate.campaign.waivers import Weighed, remaining, waivers_of
from kvgate.certificates import soak_book
from kvgate.cli import answer as answers
from kvgate.cli import complete, options, signing, speech
from kvgate.gate.unfinished import stops, taken_up, unjudged
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import TAKEN_UP, RunRecord, StoredVerdict
from kvgate.reports import basis, begun, grouping, hints, soaking, terminal
from kvgate.reports.messages import Reader, language
from kvgate.reports.wrapping import Sentence

_WIDE = 110  # columns from which on a table of verdicts is read more easily than lines below one another


def _open(url: str) -> Ledger:
    """Open a ledger to look at it; nothing is made or changed, and an absent one is refused."""
    return Ledger.open(url, write=False)


class _Signed:
    """Waivers that count now, by run; the documents of a campaign are read once."""

    def __init__(self, ledger: Ledger, trust: Path | None) -> None:
        self._ledger, self._trust = ledger, signing.trusted(trust)
        self._documents: dict[str, Documents] = {}

    def waivers(self, run: RunRecord) -> list[Weighed]:
        """Those of a run that count."""
        if run.campaign not in self._documents:
            self._documents[run.campaign] = Documents(self._ledger, run.campaign, self._trust, standing.now())
        return [one for one in waivers_of(self._ledger, run, self._documents[run.campaign]) if one.counts]

    def outcome(self, run: RunRecord) -> str:
        """What the run comes to with them."""
        found = self.waivers(run)
        if not found:
            return self._ledger.outcome(run).outcome.value
        return remaining(self._ledger.owed(run), self._ledger.recorded(run), found).outcome.value


def _summary(ledger: Ledger, run: RunRecord, signed: _Signed) -> dict[str, Any]:
    came_to = ledger.outcome(run)
    return {
        "run": run.id,
        "campaign": run.campaign,
        "gate": run.gate,
        "attempt": run.attempt,
        "outcome": came_to.outcome.value,
        "with_waivers": signed.outcome(run),
        "decided": came_to.decided,
        "state": "unfinished" if run.state == "started" or taken_up(ledger, run) else run.state,
        "started": run.started,
        "ended": run.ended,
        "operator": run.operator,
        "simulated": run.simulated,
        "code": run.code,
        "evidence": run.evidence,
        "missing": len(came_to.missing),
        "stops": stops(ledger, run),
        "interruptions": sum(
            entry.kind == "interrupted" and not entry.why.startswith(TAKEN_UP) for entry in ledger.decisions(run)
        ),
        "why": run.why,
        "problems": list(came_to.problems),
    }


def _outcome(run: dict[str, Any], read: Reader) -> str:
    if not run["decided"]:
        came_to = Outcome.STOP.value if run["stops"] else run["outcome"]  # it counts as a STOP, whatever its end
        return read("{outcome} ({state})", outcome=came_to, state=read.word(run["state"]))
    if run["with_waivers"] != run["outcome"]:
        with_waivers = read("PASS with waivers") if run["with_waivers"] == "PASS" else run["with_waivers"]
        return f"{run['outcome']}{read('; ')}{with_waivers}"
    if run["interruptions"]:
        return read("{outcome} (interrupted {count} x before)", outcome=run["outcome"], count=run["interruptions"])
    return str(run["outcome"])


@click.command(
    "runs", help=speech.read("List every run, oldest first: failed, interrupted and unfinished attempts too.")
)
@options.LEDGER
@click.option("--campaign", help=speech.read("only this campaign"))
@click.option("--gate", shell_complete=complete.gates, help=speech.read("only this gate"))
@signing.TRUST
@options.JSON
def runs(ledger: str, campaign: str | None, gate: str | None, trust: Path | None, as_json: bool) -> None:
    """Print the history."""
    read, out = Reader(language()), terminal.console(sys.stdout)
    book = _open(ledger)
    signed = _Signed(book, trust)
    found = [_summary(book, run, signed) for run in book.runs(campaign, gate)]
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    if not found:
        start = hints.command("pytest", "-m", "G1", "--inventory", "FILE", ledger=ledger)
        click.echo(read("no such runs; start one: {command}", command=start), err=True)
        return
    wide = out.width >= _WIDE  # else the id alone says when it was started
    rows = [
        (
            run["run"],
            run["campaign"] + (read(" (simulated)") if run["simulated"] else ""),
            run["gate"],
            str(run["attempt"]),
            _outcome(run, read),
            *([run["started"][:19].replace("T", " ")] if wide else []),
            run["operator"],
        )
        for run in found
    ]
    heads = (
        read("run"),
        read("campaign"),
        read("gate"),
        read("attempt"),
        read("outcome"),
        *([read("started (UTC)")] if wide else []),
        read("operator"),
    )
    out.print(terminal.listing(rows, *heads))
    for run in found:
        for problem in run["problems"]:
            click.echo(f"! {problem}", err=True)


def _verdict(row: StoredVerdict, waived: Weighed | None, agreement: Agreement) -> dict[str, Any]:
    verdict, clause = row.verdict, agreement.acceptance.clauses.get(row.clause)
    return {
        "clause": row.clause,
        "subject": row.subject,
        "outcome": verdict.outcome.value,
        "waived": [
            {"document": one.document, "until": one.said.until, "reason": one.said.reason}
            for one in ([] if waived is None else [waived])
        ],
        "measured": str(verdict.measured),
        "required": str(verdict.required),
        "unit": verdict.unit,
        "note": str(verdict.note or ""),
        "remedy": clause.remedy.en if clause is not None and verdict.outcome is not Outcome.PASS else "",
        "basis": row.basis,
        "reason": row.reason,
        "evidence": [f"E{number}" for number in row.evidence],
        "quantities": [asdict(quantity) for quantity in verdict.quantities],
    }


def _agreement(book: Ledger, run: RunRecord) -> Agreement:
    """Return the agreement that the run went by, not the one of this installation."""
    content = next(found.content for found in book.revisions(run.campaign) if found.digest == run.acceptance_digest)
    return agreements.stored(content)


def _found(row: StoredVerdict, waived: Weighed | None, read: Reader) -> Sentence:
    text = terminal.found(row.verdict, read)
    if waived is not None:
        text.append(read("; ")).append(
            read("waived until {until}: {reason}", until=waived.said.until, reason=waived.said.reason),
            style="bold yellow",
        )
    return text


@click.command(
    "show",
    help=speech.read(
        "Show RUN (its id, or the beginning of it): decision, every clause that did not pass, with measured "
        "and required, and what to do.\n\n"
        "With ANSWER, the evidence id that stands beside a verdict: what that host was asked, and what it answered, as kept.\n\n"
        "Example: kvgate show 20261129T19 E17"
    ),
)
@click.argument("run", shell_complete=complete.runs)
@click.argument("answer", required=False, shell_complete=complete.answers)
@options.LEDGER
@options.evidence(speech.read("where runs are kept, if ANSWER does not lie where the ledger says"))
@click.option("--all", "all_", is_flag=True, help=speech.read("passed clauses too"))
@signing.TRUST
@options.JSON
def show(
    run: str, answer: str | None, ledger: str, evidence: Path, all_: bool, trust: Path | None, as_json: bool
) -> None:
    """Print one run, or one answer of its evidence."""
    read, out = Reader(language()), terminal.console(sys.stdout)
    book = _open(ledger)
    record = book.run(run)
    if answer is not None:
        answers.show(book, record, answer, ledger=ledger, root=evidence, as_json=as_json)
        return
    signed = _Signed(book, trust)
    summary = _summary(book, record, signed)
    waived = {place: one for one in signed.waivers(record) for place in one.places()}
    recorded = book.recorded(record)
    starts = soak_book.until(book, record) if record.gate == "G4" else None
    if as_json:
        agreement = _agreement(book, record)
        rows = [_verdict(row, waived.get(item[:2]), agreement) for item, row in recorded.items()]
        missing = [{"clause": item.clause, "subject": item.subject} for item in book.outcome(record).missing]
        overlaid = [asdict(change) for change in agreement.overlaid]
        soaks = [] if starts is None else [soaking.start_json(one, starts) for one in starts.soaks]
        found = {**summary, "overlaid": overlaid, "verdicts": rows, "missing": missing, "soaks": soaks}
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    out.print(
        read(
            "{gate} of {campaign}, attempt {attempt}: {outcome}; started {started} UTC; {verdicts}, {missing} missing",
            gate=record.gate,
            campaign=record.campaign,
            attempt=record.attempt,
            outcome=_outcome(summary, read),
            started=record.started[:19].replace("T", " "),
            verdicts=read.ngettext("{count} verdict", "{count} verdicts", len(recorded)),
            missing=summary["missing"],
        )
    )
    out.print(read("evidence: {path}", path=record.evidence))
    for line in () if starts is None else begun.lines(starts, read):
        out.print(line, soft_wrap=True)
    if record.why:
        out.print(f"! {record.why}", soft_wrap=True, markup=False)
    if (further := _go_on(book, summary, record, read)) is not None:
        out.print(further, soft_wrap=True, markup=False)
    agreement = _agreement(book, record)
    for line in basis.agreed(agreement, read):
        out.print(line, soft_wrap=True)
    if declared := sum(row.basis == "declared" for row in recorded.values()):
        line = read.ngettext(
            "{count} verdict was declared by a person, not measured: --all shows by whom",
            "{count} verdicts were declared by people, not measured: --all shows by whom",
            declared,
        )
        out.print(line)
    ordered = sorted(
        recorded.items(),
        key=lambda pair: (
            not pair[0].blocking, SEVERITY.index(pair[1].verdict.outcome), grouping.order(pair[0].clause)
        ),
    )  # fmt: skip
    table = [
        (
            row.verdict.outcome.value + ("" if item.blocking else "*"),
            item.clause,
            item.subject,
            _found(row, waived.get(item[:2]), read),
            " ".join(f"E{number}" for number in row.evidence[:3]),
        )
        for item, row in ordered
        if all_ or row.verdict.outcome is not Outcome.PASS
    ]
    heads = (read("outcome"), read("clause"), read("subject"), read("found"), read("evidence"))
    if table and out.width < _WIDE:
        for word, clause, subject, told, seen in table:
            out.print(f"{word} {clause} {subject}  {seen}".rstrip(), soft_wrap=True)
            out.print(Padding(told, (0, 0, 0, 4), expand=False))
    elif table:
        out.print(terminal.listing(table, *heads))
    if table:
        out.print(read("* advisory: shown, but keeps no gate shut"))
        _remedies(ordered, agreement, read)
        if used := [number for _, row in ordered if row.verdict.outcome is not Outcome.PASS for number in row.evidence]:
            line = hints.command("kvgate", "show", record.id, f"E{used[0]}", ledger=ledger)
            out.print(read("one answer as it was kept: {command}", command=line), soft_wrap=True)
    for problem in summary["problems"]:
        click.echo(f"! {problem}", err=True)


def _go_on(book: Ledger, run: dict[str, Any], record: RunRecord, read: Reader) -> str | None:
    """How a run is gone on with that came to neither PASS nor STOP; None for one that did, or that a later attempt followed."""
    if run["with_waivers"] != Outcome.UNDECIDED.value or book.runs(record.campaign, record.gate)[-1].id != record.id:
        return None
    go, close = commands.to_resume(record.gate), f"kvgate close {record.id} --reason '...'"
    if run["state"] != "unfinished" and unjudged(book, record):
        return read("not decided, and not judged to its end: no gate begins before; do that: {close}", close=close)
    if run["stops"] and run["state"] != "unfinished":
        return read(
            "what had come to STOP counts, however the run ended; unless that was done: mend it, then both parties reopen the campaign: "
            "{reopen}",
            reopen="kvgate reopen --reason '...' --key FILE --party NAME",
        )
    if run["state"] == "unfinished":
        return read(
            "not decided: it still runs, or its process ended; then go on with what is missing: {go}; or close it: {close}",
            go=go, close=close,
        )  # fmt: skip
    return read("not decided; go on with what could not be told: {go}", go=go)


def _remedies(rows: Sequence[tuple[Owed, StoredVerdict]], agreement: Agreement, read: Reader) -> None:
    """What to do about each clause that did not pass, once, as the gate says it; where one reason keeps many open, the gate
    says none either: the reason is what must be mended.
    """
    out = terminal.console(sys.stdout)
    untold = [(item, row.verdict) for item, row in rows if row.verdict.outcome is Outcome.UNDECIDED]
    alike = {item for group in grouping.alike(untold) for item, _ in group.rows}
    left: dict[str, Outcome] = {}
    for item, row in rows:
        if row.verdict.outcome is not Outcome.PASS and item not in alike:
            left.setdefault(item.clause, row.verdict.outcome)
    for name, outcome in left.items():
        if (clause := agreement.acceptance.clauses.get(name)) is not None:
            out.print(Text(name, style="bold"))
            for line in terminal.remedy(name, clause, read, outcome):
                out.print(Padding(line, (0, 0, 0, 4)))


COMMANDS = (runs, show)
