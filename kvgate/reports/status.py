"""``kvgate status`` on a terminal: the weeks, the gates, every attempt, and what to do next. Understandable without colour."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import IO, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from checks.verdict import Outcome
from kvgate.campaign import order
from kvgate.campaign.commands import to_resume, to_run
from kvgate.campaign.order import Obstacle
from kvgate.campaign.overview import GateView, Overview, valid_days
from kvgate.campaign.standing import Attempt, moment
from kvgate.reports import begun, lines
from kvgate.reports.messages import Reader, language
from kvgate.reports.soaking import start_json
from kvgate.reports.terminal import STYLE, console
from kvgate.reports.wrapping import Sentence

#: One letter an attempt in the calendar.
_LETTER = {Outcome.PASS: "P", Outcome.STOP: "S", Outcome.UNDECIDED: "U"}
_MOST = 3  # letters in a week; more are counted
_RUN = 24  # characters of a run\'s id


def show(found: Overview, stream: IO[str]) -> None:
    """Print the campaign."""
    read, out = Reader(language()), console(stream)
    title = Text.assemble(
        (found.name, "bold"), f"  {found.rack.rack}", read(" (simulated)") if found.rack.simulated else ""
    )
    out.print(Rule(title, align="left", style="none"))
    out.print(_calendar(found, read))
    out.print(Text(read("= planned, P passed, W passed with a waiver, S stopped, U undecided, . open"), style="dim"))
    out.print(_gates(found, read))
    if found.elsewhere or any(view.attempts for view in found.gates):
        out.print(_attempts(found, read))
    for part in _next(found, read):
        out.print(part)
    for line in _remarks(found, read):
        out.print(Sentence(line))


def _calendar(found: Overview, read: Reader) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    shown = max(found.weeks, min(found.week, found.weeks + 2))
    weeks = range(1, shown + 1)
    grid.add_row(
        Text(read("week")), *(Text(str(week), style="reverse" if week == found.week else "dim") for week in weeks)
    )
    for view in found.gates:
        cells = []
        for week in weeks:
            start = found.begins + timedelta(weeks=week - 1)
            inside = (
                view.planned is not None
                and view.planned.start <= start + timedelta(days=6)
                and start <= view.planned.end
            )
            cells.append(
                _cell(inside, [one for one in view.attempts if found.week_of(moment(one.run.started).date()) == week])
            )
        grid.add_row(Text(view.gate, style="bold"), *cells)
    return Padding(grid, (1, 0, 0, 0))


def _cell(planned: bool, attempts: list[Attempt]) -> Text:
    text = Text("==" if planned and not attempts else "")
    for one in attempts[-_MOST:]:
        letter = "." if one.open else "S" if one.ended_in_stop else "W" if _waived(one) else _LETTER[one.outcome]
        text.append(letter, style=STYLE[Outcome.STOP if one.ended_in_stop else one.outcome])
    if len(attempts) > _MOST:
        text.append(f"+{len(attempts) - _MOST}")
    return text


def _waived(one: Attempt) -> bool:
    return one.outcome is Outcome.PASS and one.decision is not Outcome.PASS


def _gates(found: Overview, read: Reader) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for view in found.gates:
        plan = "-" if view.planned is None else f"{view.planned.start:%m-%d}..{view.planned.end:%m-%d}"
        lines: list[RenderableType] = [_state(view, found, read)]
        lines += [
            Sentence(f"! {read.phrase(flaw.why)}", style="yellow") for flaw in view.flaws if flaw.kind != "unsigned"
        ]
        grid.add_row(Text(view.gate, style="bold"), Text(plan, style="dim", no_wrap=True), Group(*lines))
    return Padding(grid, (1, 0, 0, 0))


def _state(view: GateView, found: Overview, read: Reader) -> Sentence:
    if view.passed is not None:
        word = read("PASS with waivers") if _waived(view.passed) else Outcome.PASS.value
        text = Sentence(word, style=STYLE[Outcome.PASS] if not view.spoiled and not view.expired else "yellow")
        ended = (view.passed.run.ended or view.passed.run.started)[:10]
        text.append(read(" on {day}, attempt {number}; certificate {state}", day=ended, number=view.passed.run.attempt,
                         state=view.passed.certified.state), style="none")  # fmt: skip
        if view.expires is not None:
            text.append(read("; counts until {end} UTC", end=f"{view.expires:%Y-%m-%d %H:%M}"), style="none")
        return text
    if not view.attempts:
        if view.planned is not None and found.at.date() > view.planned.end:
            return Sentence(read("not run yet; it was planned until {day}", day=str(view.planned.end)))
        return Sentence(read("not run yet"))
    last = view.attempts[-1]
    if view.taken is not None:
        return Sentence(read.phrase(order.taken_back(*view.taken)), style=STYLE[Outcome.STOP])
    count, outcome = len(view.attempts), _outcome(last, read)
    if count == 1:
        return Sentence(read("no PASS in one attempt; it came to {outcome}", outcome=outcome))
    return Sentence(read("no PASS in {count} attempts; the last came to {outcome}", count=count, outcome=outcome))


def _outcome(one: Attempt, read: Reader) -> str:
    came_to = (
        Outcome.STOP.value if one.ended_in_stop else one.outcome.value
    )  # one that ended early after a STOP counts as one
    if one.open:
        return read("{outcome} (open: it has no end yet)", outcome=came_to)
    if not one.decided:
        return read("{outcome} (interrupted)", outcome=came_to)
    return read("PASS with waivers") if _waived(one) else one.outcome.value


def _attempts(found: Overview, read: Reader) -> RenderableType:
    table = Table(
        read("attempt"), Column(read("run"), no_wrap=True, min_width=_RUN), read("started (UTC)"), read("outcome"), read("remarks"),
        box=None, pad_edge=False,
        padding=(1, 2, 0, 0), collapse_padding=True,
    )  # fmt: skip
    table.padding = (0, 2, 0, 0)
    for view in found.gates:
        own = [(one, read("; ").join(_about(one, read))) for one in view.attempts]
        others = [
            (one, read("; ").join([read("campaign {name}, the same rack", name=other.campaign), *_about(one, read)]))
            for other in found.elsewhere for one in other.attempts if one.run.gate == view.gate
        ]  # fmt: skip
        for one, remarks in sorted([*own, *others], key=lambda pair: pair[0].run.seq):
            outcome = Sentence(_outcome(one, read), style=STYLE[Outcome.STOP if one.ended_in_stop else one.outcome])
            table.add_row(Text(f"{view.gate} {one.run.attempt}", no_wrap=True), Text(one.run.id, no_wrap=True),
                          Text(one.run.started[5:16].replace("T", " ")), outcome, Sentence(remarks))  # fmt: skip
    return Padding(table, (1, 0, 0, 0))


def _about(one: Attempt, read: Reader) -> Iterator[str]:
    if one.stops and (not one.decided or one.decision is Outcome.STOP):
        yield read.ngettext("{count} verdict stopped", "{count} verdicts stopped", one.stops)
    if one.reopened is not None:
        yield read("reopened by both parties")
    if one.unopened is not None:
        yield read.phrase(one.unopened)
    for waiver in one.waivers:
        places = read(", ").join(dict.fromkeys(clause for clause, _ in waiver.places()))
        if waiver.counts:
            yield read("waived until {until}: {places}", until=waiver.said.until, places=places)
        else:
            yield read("waiver of {places} has no effect: {why}", places=places, why=read.phrase(waiver.why))
    yield read("ticket signed by {party}", party=one.ticket) if one.ticket else read("ticket not signed")


def _next(found: Overview, read: Reader) -> Iterator[RenderableType]:
    yield Text("")
    if found.next is None:
        yield Sentence(read("all gates are passed on this rack by this agreement"), style=STYLE[Outcome.PASS])
        return
    gate = found.next.gate
    if not found.next.obstacles:
        yield Sentence(
            read("next: {gate} may start: {command}", gate=gate, command=to_run(gate)),
            style="bold",
        )
        yield from _unfinished(found, gate, read)
        return
    yield Sentence(read("next: {gate} may not start", gate=gate), style="bold")
    for obstacle in found.next.obstacles:
        yield Padding(_obstacle(obstacle, read), (0, 0, 0, 2))


def _unfinished(found: Overview, gate: str, read: Reader) -> Iterator[RenderableType]:
    """Say how the last attempt of a gate that came to neither PASS nor STOP is gone on with."""
    attempts = next(view.attempts for view in found.gates if view.gate == gate)
    if not attempts or attempts[-1].outcome is not Outcome.UNDECIDED:
        return
    last = attempts[-1]
    words = read(
        "or go on with attempt {number} (run {run}), which asks only what could not be told: {command}",
        number=last.run.attempt, run=last.run.id, command=to_resume(gate),
    )  # fmt: skip
    yield Padding(Sentence(words), (0, 0, 0, 2))


def _obstacle(one: Obstacle, read: Reader) -> RenderableType:
    return Group(
        Sentence(f"! {read.phrase(one.why)}"),
        Padding(Sentence.assemble((read("do: "), "bold"), read.phrase(one.do)), (0, 0, 0, 2)),
    )


def _remarks(found: Overview, read: Reader) -> Iterator[str]:
    if not found.planned:
        yield read("no calendar in the inventory: weeks count from the first attempt, and a PASS counts for {days} days",
                   days=valid_days(found.gates[0]))  # fmt: skip
    if found.revisions > 1:
        yield read("the agreement was changed on the way: {count} revisions; now {digest}", count=found.revisions,
                   digest=found.acceptance[:16])  # fmt: skip
    if not found.trusted:
        yield read(
            "whose signatures count is not known here: nothing signed was weighed (--trust FILE, or KVGATE_TRUST)"
        )
    yield from lines.loud(found.loud)
    yield from begun.lines(found.starts, read)
    for problem in found.problems:
        yield f"! {problem}"


def as_json(found: Overview, read: Reader) -> dict[str, Any]:
    """Return the same with stable keys; see runbooks/json.md."""
    return {
        "campaign": found.name,
        "rack": found.rack.rack,
        "simulated": found.rack.simulated,
        "at": found.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "begins": str(found.begins),
        "week": found.week,
        "weeks": found.weeks,
        "planned": found.planned,
        "fingerprint": found.fingerprint,
        "acceptance": found.acceptance,
        "revisions": found.revisions,
        "trusted": found.trusted,
        "other_keys": None if found.loud is None else str(found.loud),
        "ended": bool(found.stopping),
        "gates": [_gate_json(view) for view in found.gates],
        "attempts": [_attempt_json(one) for view in found.gates for one in view.attempts],
        "elsewhere": [
            {
                "campaign": other.campaign,
                "parts": other.count,
                "known_by": list(other.shared),
                "attempts": [_attempt_json(one) for one in other.attempts],
            }
            for other in found.elsewhere
        ],
        "next": None if found.next is None else found.next.gate,
        "may_start": found.next is not None and not found.next.obstacles,
        "obstacles": [] if found.next is None else [_obstacle_json(one) for one in found.next.obstacles],
        "soaks": [start_json(one, found.starts) for one in found.starts.soaks],
        "problems": [*found.problems, *found.starts.problems],
    }


def _obstacle_json(one: Obstacle) -> dict[str, str]:
    return {"kind": one.kind, "why": str(one.why), "do": str(one.do)}


def _gate_json(view: GateView) -> dict[str, Any]:
    plan, passed = view.planned, view.passed
    return {
        "gate": view.gate,
        "start": None if plan is None else str(plan.start),
        "end": None if plan is None else str(plan.end),
        "valid_days": valid_days(view),
        "attempts": len(view.attempts),
        "passed": None if passed is None else passed.run.id,
        "certificate": None if passed is None else passed.certified.state,
        "expires": None if view.expires is None else view.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "flaws": [_obstacle_json(flaw) for flaw in view.flaws],
        "taken_back": None if view.taken is None else view.taken[0].run.id,
        "taken_back_by": None if view.taken is None else view.taken[1].run.id,
    }


def _attempt_json(one: Attempt) -> dict[str, Any]:
    return {
        "run": one.run.id,
        "gate": one.run.gate,
        "attempt": one.run.attempt,
        "state": one.run.state,
        "outcome": one.outcome.value,
        "decision": one.decision.value,
        "stops": one.stops,
        "stopped": one.stopped,
        "reopened": one.reopened,
        "certificate": one.certified.state,
        "ticket_signed_by": one.ticket,
        "waivers": [
            {
                "document": waiver.document, "until": waiver.said.until, "reason": waiver.said.reason, "counts": waiver.counts,
                "why": str(waiver.why or ""), "signed": list(waiver.signers),
                "places": [{"clause": clause, "subject": subject} for clause, subject in waiver.places()],
            }
            for waiver in one.waivers
        ],
    }  # fmt: skip
