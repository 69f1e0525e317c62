"""``kvgate explain`` and ``kvgate runbook``: what a clause says, where its numbers come from, what to do about a STOP."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Group
from rich.markdown import Markdown

from checks.acceptance import Clause
from checks.phrase import say
from kvgate import agreement as agreements
from kvgate.cli import complete, speech
from kvgate.cli.speech import near
from kvgate.errors import NotAllowed
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from kvgate.reports.wrapping import Sentence
from kvgate.runbook import commands, sections

_INVENTORY = click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    envvar="KVGATE_INVENTORY",
    help=speech.read("show this campaign's overlaid numbers"),
)


def _find(agreement: agreements.Agreement, name: str) -> str:
    try:
        return agreement.acceptance.find(name)
    except KeyError:
        clauses = agreement.acceptance.clauses
        known = [*clauses, *dict.fromkeys(clause.check for clause in clauses.values())]
        raise NotAllowed(
            say(
                "found {name!r}, wanted a clause id (G1.2.3) or a check name{near}; `kvgate explain` lists them all",
                name=name,
                near=near(name, known),
            )
        ) from None


def _agreement(inventory: Path | None) -> agreements.Agreement:
    if inventory is None:
        return agreements.read()
    from kvgate.inventory import reader

    overlay = reader.read(inventory).rack.acceptance
    return agreements.read(inventory.parent / overlay if overlay else None)


@click.command(
    "explain",
    help=speech.read(
        "Explain CLAUSE (id or check name): text, numbers, units, origin, remedy. Without CLAUSE, list all."
    ),
)
@click.argument("clause", required=False, shell_complete=complete.clauses)
@_INVENTORY
@click.option("--json", "as_json", is_flag=True, help=speech.read("the clause (or all) as JSON"))
def explain(clause: str | None, inventory: Path | None, as_json: bool) -> None:
    """Print a clause, or all."""
    agreement = _agreement(inventory)
    chosen = (
        agreement.acceptance.clauses
        if clause is None
        else {(name := _find(agreement, clause)): agreement.acceptance.clauses[name]}
    )
    if as_json:
        click.echo(
            json.dumps({name: item.model_dump(mode="json") for name, item in chosen.items()}, ensure_ascii=False)
        )
        return
    read, out = Reader(language()), terminal.console(sys.stdout)
    if clause is None:
        rows = [
            (name, item.check, read.word(item.subject), read.word(item.weight), read.text(item.text))
            for name, item in chosen.items()
        ]
        heads = (read("clause"), read("check"), read("subject"), read("weight"), read("what it says"))
        out.print(terminal.listing(rows, *heads))
        return
    for name, item in chosen.items():
        _one(name, item, read, agreement)


def _one(name: str, clause: Clause, read: Reader, agreement: agreements.Agreement) -> None:
    out = terminal.console(sys.stdout)
    out.print(f"[bold]{name}[/bold]  {clause.check}", markup=True)
    out.print(Group(Sentence(read.text(clause.text))))
    out.print(
        read(
            "about each {subject}; {weight}; {answer}; level {level}",
            subject=read.word(clause.subject),
            weight=read.word(clause.weight),
            answer=read.word(clause.answer),
            level=read.word(clause.level),
        )
    )
    if clause.where:
        out.print(
            read(
                "only where {conditions}",
                conditions=read("; ").join(f"{trait} = {' / '.join(words)}" for trait, words in clause.where.items()),
            )
        )
    rows = [
        (key, f"{limit.value} {read.word(limit.unit)}".strip(), read.word(limit.origin), limit.source)
        for key, limit in clause.limits.items()
    ]
    if rows:
        out.print(terminal.listing(rows, read("number"), read("value"), read("origin"), read("source")))
    else:
        out.print(read("it decides on what was ordered (the inventory), no number of its own"))
    for change in agreement.overlaid:
        if change.clause == name:
            out.print(
                read("overlaid: {what} {before} -> {after}", what=change.what, before=change.before, after=change.after)
            )
    out.print(Group(Sentence(read("do on a STOP: {remedy}", remedy=read.text(clause.remedy)))))
    out.print(read("more: kvgate runbook {clause}", clause=name))


@click.command("runbook", help=speech.read("Show what CLAUSE means, how to confirm it by hand and how to mend it."))
@click.argument("clause", shell_complete=complete.clauses)
def runbook(clause: str) -> None:
    """Print the section of a clause."""
    name = _find(agreements.read(), clause)
    section = sections().get(name)
    if section is None:
        raise NotAllowed(
            say("{clause} has no section in runbooks/: `kvgate explain {clause}` says what is known", clause=name)
        )
    read = Reader(language())
    agreed = agreements.read().acceptance.clauses[name]
    section = _translated(name, agreed, commands(section), read) if read.lang != "en" else _whole(section, agreed, read)
    out = terminal.console(sys.stdout)
    out.print(Markdown(section) if out.is_terminal else section, markup=False, soft_wrap=not out.is_terminal)


def _bold(words: str) -> str:
    return f"**{words}**"


def _limits(clause: Clause, read: Reader) -> list[str]:
    return [
        f"- `{key}`: {limit.value} {read.word(limit.unit)} ({read.word(limit.origin)})"
        for key, limit in clause.limits.items()
    ]


def _whole(section: str, clause: Clause, read: Reader) -> str:
    """Return the English section with what was agreed put into it: the sentence, its numbers, and what to do on a STOP."""
    title, _, rest = section.partition("\n")
    limits = _limits(clause, read)
    agreed = [read.text(clause.text), *([_bold(read("Numbers")), "\n".join(limits)] if limits else [])]
    remedy = [_bold(read("What to do on a STOP")), read.text(clause.remedy)]
    return "\n\n".join([title, *agreed, rest.strip(), *remedy]) + "\n"


def _translated(name: str, clause: Clause, confirming: Sequence[str], read: Reader) -> str:
    """Return the section in the reader's language: the pages are written in English, what both parties agreed on is in both."""
    limits = _limits(clause, read)
    parts = [
        f"### {name} {read.text(clause.text)}",
        _bold(read("What it means")),
        read(
            "{text} (about each {subject}; {weight}; level {level})",
            text=read.text(clause.text), subject=read.word(clause.subject), weight=read.word(clause.weight),
            level=read.word(clause.level),
        ),
        *([_bold(read("Numbers")), "\n".join(limits)] if limits else []),
        _bold(read("Confirm by hand")),
        "\n".join(f"    {one}" for one in confirming) or read("No command shows it; look where the remedy says."),
        _bold(read("What to do on a STOP")),
        read.text(clause.remedy),
        read("The whole section, in English: `kvgate --lang en runbook {clause}`", clause=name),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


COMMANDS = (explain, runbook)
