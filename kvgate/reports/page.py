"""A report as one HTML page that needs no network: decisions, verdicts, measured load, what stands beside it, evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from checks.decision import Owed
from checks.verdict import SEVERITY, Outcome, Verdict
from kvgate import reference as published
from kvgate.certificates.code import code_version
from kvgate.evidence.record import StoredFailure, label
from kvgate.gate.session import GateSession
from kvgate.reports import basis, begun, charts, sections
from kvgate.reports.grouping import order
from kvgate.reports.messages import Reader
from kvgate.reports.sections import alone, experiment, soak
from kvgate.reports.sections.section import Grid, Section

_PAGES = Path(__file__).parent / "pages"
_LINE = 160  # characters of a command that the index shows; the evidence has all of it


@dataclass(frozen=True)
class Part:
    """One run as the page shows it."""

    anchor: str
    title: str
    decision: str
    marks: Sequence[str]
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]


def page(sessions: Sequence[GateSession], read: Reader, history: pd.DataFrame | None = None) -> str:
    """Return the page. ``history`` holds the measurements of the campaign (tables.measurements), earlier attempts too."""
    parts = parts_of(sessions, read, history)
    drawn = any(section.charts for part in parts for section in part.sections)
    pages = Environment(loader=FileSystemLoader(_PAGES), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    racks = dict.fromkeys(f"{one.inventory.rack.campaign}, {one.inventory.rack.rack}" for one in sessions)
    return pages.get_template("report.html").render(
        lang=read.lang,
        title=read("kvgate report"),
        about=read("; ").join(racks),
        by=read("judged by kvgate {version} from the evidence alone", version=code_version()),
        parts=parts,
        code=charts.code() if drawn else "",
        outcomes=[one.value for one in Outcome],
        screen=read("on screen only"),
    )


def parts_of(sessions: Sequence[GateSession], read: Reader, history: pd.DataFrame | None = None) -> list[Part]:
    """Return what a report shows of each run; ``history`` as :func:`page` takes it."""
    return [_part(session, read, history) for session in sessions]


def _part(session: GateSession, read: Reader, history: pd.DataFrame | None) -> Part:
    decision = session.decided or session.decision()
    rack = session.inventory.rack
    run = session.evidence.run if session.evidence is not None else _run(session)
    marks = (
        [read("SIMULATED: the embedded rack answered. This says nothing about any real one.")] if rack.simulated else []
    )
    facts = [
        (read("rack"), rack.rack), (read("campaign"), rack.campaign), (read("run"), run), *_when(session, history, read),
        (read("verdicts"), _counts(decision.verdicts, read)), *_basis(session, read),
    ]  # fmt: skip
    found = list(_verdicts(session, decision.verdicts, read))
    if session.tried is not None:
        found += sections.of(session.tried, read)
        found += alone.sections(session, session.tried, read)
        found += experiment.sections(session, session.tried, read)
    found += soak.sections(session.soaks, read)
    found += _earlier(session, history, read)
    found += _reference(session.gate, read)
    found += _evidence(session, read)
    return Part(
        run,
        f"{session.gate} {rack.rack}",
        decision.outcome.value,
        [*marks, *begun.of_session(session, read), *session.trouble],
        facts,
        found,
    )


def _run(session: GateSession) -> str:
    return session.answers.evidence.run if session.answers is not None else "-"


def _when(session: GateSession, history: pd.DataFrame | None, read: Reader) -> Iterator[tuple[str, str]]:
    """Which attempt it was, of how many where a ledger is at hand, when it began, and who ran it."""
    if session.answers is None:
        return
    told = session.answers.evidence.start.fields
    number = told.get("attempt")
    known = [] if history is None or history.empty else history[history.gate == session.gate].attempt.dropna().tolist()
    if isinstance(number, int):
        last = max([number, *map(int, known)])
        yield read("attempt"), read("{number} of {count}", number=number, count=last) if known else str(number)
    yield read("started (UTC)"), str(told.get("started", "-"))[:19].replace("T", " ")
    yield read("operator"), str(told.get("operator", "-"))


def _counts(verdicts: Sequence[tuple[Owed, Verdict]], read: Reader) -> str:
    """Blocking verdicts, which decide, apart from advisory ones."""
    told = []
    for blocking, name in ((True, read("blocking")), (False, read("advisory"))):
        some = [verdict.outcome for owed, verdict in verdicts if owed.blocking is blocking]
        if some:
            counts = read(", ").join(f"{one.value} {some.count(one)}" for one in Outcome)
            told.append(f"{name}{read(': ')}{counts}")
    return read("; ").join(told)


def run_on(lines: Iterable[str], read: Reader) -> str:
    """Several lines as one: what a line with a colon announces follows it without another mark."""
    told = ""
    for line in map(str.strip, lines):
        mark = "" if not told or told.endswith("：") else " " if told.endswith(":") else read("; ")
        told += f"{mark}{line}"
    return told


def _basis(session: GateSession, read: Reader) -> Iterator[tuple[str, str]]:
    yield read("agreement"), run_on(basis.agreed(session.agreement, read), read)
    owed = [item for item, judged in session.judged.items() if judged.basis == "declared"]
    if people := list(basis.declared(owed, session.inventory.rack, read)):
        yield read("declared"), read("; ").join(line.strip() for line in people[1:])
    if gaps := list(basis.not_covered(session.inventory.rack, read)):
        yield read("not vouched for"), read("; ").join(line.strip() for line in gaps[1:])


def _verdicts(session: GateSession, verdicts: Sequence[tuple[Owed, Verdict]], read: Reader) -> Iterator[Section]:
    """What did not pass, and folded below it what passed; where everything passed, that alone and open."""
    passed = [one for one in verdicts if one[1].outcome is Outcome.PASS]
    other = [one for one in verdicts if one[1].outcome is not Outcome.PASS]
    yield Section(read("Verdicts, worst first"), grids=[_table(session, other or passed, read)])
    if other and passed:
        title = read("PASS: {count} verdicts", count=len(passed))
        yield Section(title, grids=[_table(session, passed, read)], folded=True)


def _table(session: GateSession, verdicts: Sequence[tuple[Owed, Verdict]], read: Reader) -> Grid:
    """One row a verdict; a column in which nothing stands is left out."""
    ordered = sorted(
        verdicts, key=lambda one: (SEVERITY.index(one[1].outcome), not one[0].blocking, order(one[0].clause))
    )
    rows = []
    for owed, verdict in ordered:
        clause = session.clause(owed)
        judged = session.judged.get(owed)
        evidence = " ".join(label(number) for number in judged.evidence[:6]) if judged is not None else ""
        todo = "" if verdict.outcome is Outcome.PASS else read.text(clause.remedy)
        if verdict.outcome is Outcome.UNDECIDED:  # as in the terminal: a remedy mends what was measured
            todo = read("first mend what kept it from being told; the remedy, should it then stop: ") + todo
        weight = read("blocking") if owed.blocking else read("advisory")
        rows.append(
            (
                verdict.outcome.value, owed.clause, owed.subject, weight, read.text(clause.text), read.phrase(verdict.measured),
                read.phrase(verdict.required), read.phrase(verdict.note), todo, evidence,
            )
        )  # fmt: skip
    heads = [
        read("outcome"), read("clause"), read("subject"), read("weight"), read("what it says"), read("measured"), read("required"),
        read("remark"), read("what to do"), read("evidence"),
    ]  # fmt: skip
    shown = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    brief = [shown.index(place) for place in (0, 1, 2, 4, 5, 6, 7) if place in shown]
    return Grid([heads[place] for place in shown], [[row[place] for place in shown] for row in rows], brief)


def _earlier(session: GateSession, history: pd.DataFrame | None, read: Reader) -> Iterator[Section]:
    """The numbers of every attempt of this gate, side by side."""
    if history is None or history.empty:
        return
    mine = history[(history.gate == session.gate) & history.newest.fillna(value=False)]
    attempts = sorted(mine.attempt.dropna().astype(int).unique().tolist())
    if len(attempts) < 2:
        return
    rows = []
    for (clause, subject, name, unit), group in mine.groupby(["clause", "subject", "name", "unit"], sort=False):
        known = group.dropna(subset=["attempt", "value"])
        by = dict(zip(known.attempt.astype(int).tolist(), known.value.astype(float).tolist(), strict=True))
        values = (f"{by[one]:,.6g}" if one in by else "-" for one in attempts)
        rows.append((str(clause), str(subject), str(name), str(unit), *values))
    heads = [read("clause"), read("subject"), read("number"), read("unit")]
    heads += [read("attempt {number}", number=one) for one in attempts]
    yield Section(read("Every attempt side by side"), grids=[Grid(heads, rows)], folded=True)


def _reference(gate: str, read: Reader) -> Iterator[Section]:
    """Published figures of the same kind: context, never a limit."""
    figures = published.read()
    known = [one for one in figures.figures if any(anchor.startswith(f"{gate}.") for anchor in one.anchors)]
    if not known:
        return
    rows = [
        (one.id, one.scenario, _plain(one.concurrency), one.metric, one.arm, one.baseline, f"{_plain(one.value)} {one.unit}", one.trust)
        for one in known
    ]  # fmt: skip
    heads = [
        read("figure"), read("scenario"), read("concurrency"), read("what"), read("arm"), read("against"), read("printed"), read("trust"),
    ]  # fmt: skip
    wrong = [f"{one.id}: {one.zh if read.lang == 'zh' else one.en}" for one in figures.inconsistencies]
    lines = [
        read("As printed in five articles; other hardware and other procedures. `kvgate reference` recomputes them.")
    ]
    yield Section(read("Published figures, as context"), lines, [Grid(heads, rows)], folded=True)
    yield Section(read("Where the published figures contradict each other"), wrong, folded=True)


def _plain(value: object) -> str:
    if value is None:
        return "-"
    return " - ".join(str(one) for one in value) if isinstance(value, (list, tuple)) else str(value)


def _evidence(session: GateSession, read: Reader) -> Iterator[Section]:
    """Where every answer lies, for whoever wants to look at the bytes."""
    if session.answers is None:
        return
    rows = []
    for one in session.answers.evidence.answers():
        command = one.line if len(one.line) <= _LINE else one.line[: _LINE - 3] + "..."
        if isinstance(one, StoredFailure):
            rows.append((label(one.seq), one.host, command, one.reason, "-", one.message[:_LINE]))
        else:
            rows.append(
                (label(one.seq), one.host, command, str(one.status), f"{one.seconds:.2f}", one.stdout_blob[0][:16])
            )
    heads = [
        read("evidence"), read("host"), read("command"), read("status"), read("seconds"), read("SHA-256 of the output, or the reason"),
    ]  # fmt: skip
    title = read("Evidence: {count} answers", count=len(rows))
    yield Section(title, grids=[Grid(heads, rows)], folded=True, long=True)
