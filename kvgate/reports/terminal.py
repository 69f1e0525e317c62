"""What an operator sees in tables and colours: the plan, and the decision with what stopped it, worst first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, cast

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from checks.acceptance import Clause
from checks.decision import Decision, Owed
from checks.verdict import Outcome, Verdict
from kvgate.gate.judged import Judged
from kvgate.gate.options import Options
from kvgate.gate.preview import Preview
from kvgate.gate.session import GateSession
from kvgate.reports import basis, begun, grouping, hints, lines, replay
from kvgate.reports.messages import Reader, language
from kvgate.reports.wrapping import Sentence

STYLE = {Outcome.PASS: "bold green", Outcome.STOP: "bold red", Outcome.UNDECIDED: "bold yellow"}
_WALL = 160  # characters of a command that are read at a glance
_SHOWN = 12  # subjects of one clause; the rest is counted, and `kvgate show` has them all


class _Console(Console):
    """A console that leaves a closed pipe to whoever started it: rich would end the process with the status of a STOP."""

    def on_broken_pipe(self) -> None:
        """Nobody reads: say so as every write does."""
        raise BrokenPipeError


def console(stream: IO[str]) -> Console:
    """Return a console that obeys NO_COLOR; where no terminal is, lines are whole and have no blanks at their end."""
    terminal = _Console(file=stream, highlight=False, emoji=False, markup=False)
    if terminal.is_terminal:
        return terminal
    whole = cast("IO[str]", _Trimmed(stream))
    return _Console(file=whole, highlight=False, emoji=False, markup=False, width=120)


class _Trimmed:
    """A stream without the blanks that fill a table's lines; rich writes what it prints in one piece."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write lines without blanks at their end."""
        return self._stream.write(re.sub(r"[ \t]+(?=\n)", "", text))

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def plan(preview: Preview, stream: IO[str]) -> None:
    """Print everything owed and every command that would run; nothing was contacted."""
    read, out = Reader(language()), console(stream)
    out.print(Rule(read("{gate}: plan; no host is contacted", gate=preview.gate), align="left"))
    clauses: dict[str, list[str]] = {}
    for owed, _ in preview.owed:
        clauses.setdefault(owed.clause, []).append(owed.subject)
    table = Table(read("clause"), read("what it says"), read("subjects"), box=None, pad_edge=False)
    texts = {owed.clause: text for owed, text in preview.owed}
    for clause, subjects in clauses.items():
        table.add_row(clause, Sentence(read.text(texts[clause])), Sentence(", ".join(subjects)))
    out.print(table)
    out.print(Rule(read("commands"), align="left"))
    walls: dict[str, str] = {}
    times = Counter(planned.command for planned in preview.asked)
    follows = "  " + read("numbers will follow from what the host tells")
    for planned in preview.asked:
        again = f" x{planned.samples}" if planned.samples > 1 else ""
        out.print(
            Text.assemble(
                (f"{planned.host:<16} {planned.level}{again}  ", "cyan"),
                _abridged(planned.command, walls, times[planned.command]),
                (f"  [{', '.join(planned.clauses)}]", "dim"),
                (follows if planned.follows else "", "yellow"),
            ),
            soft_wrap=True,
        )
    if walls:
        out.print(Rule(read("what stands for a long text above, in full"), align="left"))
    for wall, label in walls.items():
        out.print(Text.assemble((f"{label}  ", "cyan"), wall), soft_wrap=True)
    hosts = len({planned.host for planned in preview.asked})
    out.print(
        read(
            "{verdicts} owed, {commands} on {hosts}",
            verdicts=read.ngettext("{count} verdict", "{count} verdicts", len(preview.owed)),
            commands=read.ngettext("{count} command", "{count} commands", len(preview.asked)),
            hosts=read.ngettext("{count} host", "{count} hosts", hosts),
        )
    )


#: A word in single quotes, as shlex writes it.
_QUOTED = r"'(?:[^']|'\"'\"')*'"


def _abridged(command: str, walls: dict[str, str], times: int) -> str:
    """Write a label for what is too long to be read again on every host: a script or program of ours, or the whole command."""
    script = re.match(rf"sh -c ({_QUOTED})", command) or re.match(
        rf"(python3 -c {_QUOTED} [0-9a-f]{{64}} \S+)", command
    )
    if len(command) <= _WALL or (script is None and times == 1):
        return command
    wall = script[1] if script else command
    return command.replace(wall, walls.setdefault(wall, f"<{len(walls) + 1}>"), 1)


def summary(session: GateSession, stream: IO[str], options: Options) -> None:
    """The last lines of a gate run: the decision and everything that stands in its way, worst first."""
    read, out = Reader(language()), console(stream)
    decision = session.decided or session.decision()
    out.print()
    out.print(_head(session, decision, read))
    untold = [row for row in decision.verdicts if row[1].outcome is Outcome.UNDECIDED]
    shared = grouping.alike(untold)
    told = {item for group in shared for item, _ in group.rows}
    for weight in (True, False):
        for outcome in (Outcome.STOP, Outcome.UNDECIDED):
            for group in shared if outcome is Outcome.UNDECIDED else ():
                if bool(group.clauses(blocking=True)) is weight:
                    out.print(_alike(group, read))
            rest: dict[str, list[tuple[Owed, Verdict]]] = {}
            for item, verdict in decision.verdicts:
                if item.blocking is weight and verdict.outcome is outcome and item not in told:
                    rest.setdefault(item.clause, []).append((item, verdict))
            for clause in sorted(rest, key=grouping.order):
                out.print(_clause(session, clause, outcome, rest[clause], read, weight, out.width))
    for line in _basis(session, read):
        words = line.lstrip()
        out.print(Padding(Sentence(words), (0, 0, 0, len(line) - len(words)), expand=False))
    for part in replay.compared(session, read):
        out.print(part, soft_wrap=True)
    ended = [read.phrase(session.ended)] if session.ended is not None else []
    remarks = list(dict.fromkeys(session.remarks))
    more = [read("and {count} more", count=len(remarks) - _SHOWN)] if len(remarks) > _SHOWN else []
    for line in dict.fromkeys((*remarks[:_SHOWN], *more, *session.trouble, *ended)):
        out.print(Text(f"! {line}", style="bold yellow"), soft_wrap=True)
    if session.interrupted and session.run is not None:
        out.print(Text(f"! {lines.stored(session)}", style="bold yellow"), soft_wrap=True)
    out.print()
    for line in _closing(session, decision, read, options):
        out.print(Text(line, style="dim"), soft_wrap=True)
    style = STYLE[decision.outcome]
    out.print(Rule(Text(f"{session.gate}: {decision.outcome.value}", style=style), align="left", style=style))


def _basis(session: GateSession, read: Reader) -> Iterator[str]:
    rack = session.inventory.rack
    people = [item for item, judged in session.judged.items() if judged.basis == "declared"]
    parts = (
        list(basis.agreed(session.agreement, read)),
        list(basis.declared(people, rack, read)),
        list(basis.not_covered(rack, read)),
    )
    if any(parts):
        yield ""
    for part in parts:
        yield from part


def _head(session: GateSession, decision: Decision, read: Reader) -> RenderableType:
    rack = session.inventory.rack
    title = Text.assemble(
        (f"{session.gate} ", "bold"),
        rack.rack,
        (read(" (simulated)") if rack.simulated else ""),
        read(": "),
        (decision.outcome.value, STYLE[decision.outcome]),
    )
    counts = [f"{outcome.value} {decision.count(outcome)}" for outcome in Outcome]
    advisory = sum(decision.count(outcome, blocking=False) for outcome in (Outcome.STOP, Outcome.UNDECIDED))
    hosts = read.ngettext("{count} host", "{count} hosts", len(rack.hosts))
    line = read("blocking verdicts: {counts}, on {hosts}", counts=read(", ").join(counts), hosts=hosts)
    if advisory:
        line += read("; ") + read("{count} advisory to look at", count=advisory)
    if session.run is not None:
        line += read("; ") + read("attempt {number}, run {run}", number=session.run.attempt, run=session.run.id)
        if session.elsewhere:
            line += read("; ") + read.ngettext("{count} attempt before it under another name of the campaign",
                                               "{count} attempts before it under other names of the campaign",
                                               session.elsewhere)  # fmt: skip
    rule = Rule(title, align="left", style=STYLE[decision.outcome])
    loud = (*lines.loud(session.loud), *begun.of_session(session, read))
    return Group(rule, Sentence(line), *(Sentence(one, style="yellow") for one in loud))


def _alike(group: grouping.Alike, read: Reader) -> RenderableType:
    """What keeps many clauses undecided: a host that is down, or eight of them."""
    blocking, advisory = group.clauses(blocking=True), group.clauses(blocking=False)
    reasons = len(group.reasons)
    verdicts = read.ngettext("{count} verdict", "{count} verdicts", len(group.rows))
    clauses = read.ngettext("{count} clause", "{count} clauses", len(blocking) + len(advisory))
    head = read("{verdicts} of {clauses} for one reason:", verdicts=verdicts, clauses=clauses)
    if reasons > 1:
        head = read(
            "{verdicts} of {clauses} for {reasons} reasons alike:", verdicts=verdicts, clauses=clauses, reasons=reasons
        )
    label, style = _label(Outcome.UNDECIDED, read, bool(blocking)), _style(Outcome.UNDECIDED, bool(blocking))
    parts = [Text.assemble((f"{label} ", style), head)]
    parts += [Sentence(read.phrase(reason), style="bold") for reason in group.reasons[:_SHOWN]]
    if reasons > _SHOWN:
        parts.append(Text(read("and {count} more", count=reasons - _SHOWN)))
    if blocking:
        parts.append(Text("; ".join(grouping.spans(blocking)), style="cyan"))
    if advisory:
        parts.append(Text(read("advisory: {clauses}", clauses="; ".join(grouping.spans(advisory))), style="cyan"))
    parts.append(Text(read("each of them: kvgate explain CLAUSE, kvgate runbook CLAUSE"), style="dim"))
    return Group(Text(""), parts[0], *(Padding(part, (0, 0, 0, 4), expand=False) for part in parts[1:]))


def _label(outcome: Outcome, read: Reader, blocking: bool) -> str:
    return outcome.value if blocking else read("advisory {outcome}", outcome=outcome.value)


def _style(outcome: Outcome, blocking: bool) -> str:
    return STYLE[outcome] if blocking else "yellow"


def _clause(
    session: GateSession,
    clause_id: str,
    outcome: Outcome,
    rows: list[tuple[Owed, Verdict]],
    read: Reader,
    blocking: bool,
    width: int,
) -> RenderableType:
    clause = session.agreement.acceptance.clauses[clause_id]
    label, style = _label(outcome, read, blocking), _style(outcome, blocking)
    parts: list[RenderableType] = [
        Sentence.assemble((f"{label} ", style), (f"{clause_id} ", "bold"), read.text(clause.text))
    ]
    texts = {item: found(verdict, read) for item, verdict in rows}
    groups = grouping.same({item: text.plain for item, text in texts.items()})
    told = []
    for first, *others in groups[:_SHOWN]:
        told.append((Text(first.subject, style="cyan"), texts[first], _evidence(session.judged.get(first))))
        if others:
            names = ", ".join(item.subject for item in others[:_SHOWN])
            more = " " + read("and {count} more", count=len(others) - _SHOWN) if len(others) > _SHOWN else ""
            told.append((Text(), Sentence(read("the same on {subjects}", subjects=names + more)), ""))
    parts.append(Padding(_subjects(told, width), (0, 0, 0, 4), expand=False))
    if left := sum(map(len, groups[_SHOWN:])):
        parts.append(Text("    " + read("and {count} more", count=left)))
    told_of = (Padding(text, (0, 0, 0, 4), expand=False) for text in remedy(clause_id, clause, read, outcome))
    return Group(Text(""), *parts, *told_of)


def remedy(clause_id: str, clause: Clause, read: Reader, outcome: Outcome) -> tuple[Text, Text]:
    """What to do about a clause that did not pass, and where more about it stands."""
    # A remedy mends what was measured: where nothing was, it might exchange or erase what is good.
    do = (
        read("do: ")
        if outcome is Outcome.STOP
        else read("first mend what kept it from being told; the remedy, should it then stop: ")
    )
    told = Sentence.assemble((do, "bold"), read.text(clause.remedy))
    return told, Text(read("more: kvgate runbook {clause}", clause=clause_id), style="dim")


def _subjects(rows: list[tuple[Text, Sentence, str]], width: int) -> RenderableType:
    """Beside each subject what was found there; below it where its name would leave no room, as an NQN does."""
    if max(subject.cell_len for subject, _, _ in rows) > max(width // 4, 16):
        pieces: list[RenderableType] = []
        for subject, text, evidence in rows:
            if subject.plain:
                pieces.append(Text.assemble(subject, f"  {evidence}"))
            pieces.append(Padding(text, (0, 0, 0, 4), expand=False))
        return Group(*pieces)
    grid = Table.grid(padding=(0, 2))
    for row in rows:
        grid.add_row(*row)
    return grid


def found(verdict: Verdict, read: Reader) -> Sentence:
    """What was measured, what is required, and why, as one sentence."""
    text = Sentence()
    measured, required, note = read.phrase(verdict.measured), read.phrase(verdict.required), read.phrase(verdict.note)
    if measured:
        text.append(read("measured ")).append(measured, style="bold")
    if required:
        text.append(read("; ") if text.plain else "").append(read("required ")).append(required)
    if note:
        text.append(read("; ") if text.plain else "").append(note)
    return text


def _evidence(judged: Judged | None) -> str:
    return " ".join(f"E{number}" for number in judged.evidence[:3]) if judged else ""


def _closing(session: GateSession, decision: Decision, read: Reader, options: Options) -> Iterator[str]:
    if session.run is not None and decision.outcome is Outcome.STOP:
        reopen = "kvgate reopen --reason '...' --key FILE --party NAME"
        yield read("mend what stopped it, then both parties reopen the campaign: {reopen}", reopen=reopen)
        if not session.interrupted:  # a waiver is about a decision
            waive = f"kvgate waive {session.run.id} CLAUSE --reason '...' --until DAY --key FILE --party NAME"
            yield read("or both accept the deviation: {waive}", waive=waive)
    elif session.run is not None and decision.outcome is Outcome.UNDECIDED:
        yield read("ask again only what is undecided, once it can be told: {command}", command=hints.again(options))
    if session.evidence is not None:
        yield read("evidence: {path}", path=str(session.evidence.path))
    if session.run is not None:
        yield read("show again: {command}", command=hints.show(session.run.id, options))
        if number := _first_answer(session):
            line = hints.show(session.run.id, options, f"E{number}")
            yield read("one answer as it was kept: {command}", command=line)
        yield read("judge again without hosts: {command}", command=hints.judge(session.run.id, options))


def _first_answer(session: GateSession) -> int | None:
    """Evidence id of the worst verdict that has one; None where all passed or nothing was answered."""
    for outcome in (Outcome.STOP, Outcome.UNDECIDED):
        for judged in session.judged.values():
            if judged.verdict.outcome is outcome and judged.evidence:
                return judged.evidence[0]
    return None


def listing(rows: Iterable[tuple[str | Sentence, ...]], *head: str) -> Table:
    """Build a plain table for `kvgate` listings; nothing is cut off, and what stands first (a name, an id) is not folded either."""
    columns = (Column(name, overflow="fold", no_wrap=number == 0) for number, name in enumerate(head))
    table = Table(*columns, box=None, pad_edge=False)
    for first, *rest in rows:
        cells = (cell if isinstance(cell, Sentence) else Sentence(cell) for cell in rest)
        table.add_row(first if isinstance(first, Text) else Text(first), *cells)
    return table
