"""``kvgate figures``: TTFT and throughput of a load tool's result by kvgate's definition, beside what the tool printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput
from checks.serving.figures import Figures, figures
from checks.serving.imported import READ, UNTOLD, as_found
from checks.serving.records import Run
from checks.serving.validity import faults
from kvgate.cli import speech
from kvgate.codec import first_bytes
from kvgate.errors import NotAllowed
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from kvgate.reports.wrapping import Sentence

_DOUBTED = 6  # something speaks against the figures: as UNDECIDED of a gate
_NAMES = ("ttft_p50_s", "throughput_tokens_s", "duration_s", "output_tokens")
_MOST = 256 * 1024 * 1024  # bytes of one file: thousands of requests with every token's time


@click.command(
    "figures",
    help=speech.read(
        "Recompute TTFT and throughput from a load tool's result FILEs by kvgate's definition, beside what the tool printed, and "
        "say why they may not be believed. Exit 0 when nothing speaks against them, 6 when something does, 3 when they cannot be "
        "read. They decide no gate.\n\n"
        "Example: kvgate figures vllm-bench bench.json"
    ),
)
@click.argument("tool", type=click.Choice(list(READ)))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help=speech.read("as one JSON document"))
def figures_of(tool: str, files: tuple[Path, ...], as_json: bool) -> None:
    """Recompute a result."""
    names, parse = READ[tool]
    if len(files) != len(names):
        raise NotAllowed(
            say(
                "found {count} files, wanted of {tool}, in this order: {names}",
                count=len(files), tool=tool, names=", ".join(names),
            )
        )  # fmt: skip
    read = Reader(language())
    try:
        run = parse([_text(file) for file in files])
    except UnreadableOutput as error:
        click.echo(read("kvgate: this result of {tool} cannot be read: {why}", tool=tool, why=str(error)), err=True)
        raise SystemExit(3) from None
    planned = as_found(run)
    reasons = faults(run, planned)
    try:
        ours = figures(run, planned.concurrency)
    except ValueError:  # among the reasons
        ours = None
    if as_json:
        click.echo(json.dumps(_document(run, ours, reasons, UNTOLD.get(tool, ()), read), ensure_ascii=False))
    else:
        _print(run, ours, reasons, UNTOLD.get(tool, ()), read)
    raise SystemExit(_DOUBTED if reasons else 0)


def _text(file: Path) -> str:
    raw = first_bytes(file, _MOST + 1)
    if len(raw) > _MOST:
        raise NotAllowed(say("found more than {count} bytes in {path}", count=_MOST, path=str(file)))
    return raw.decode("utf-8", "backslashreplace")


def _rows(run: Run, ours: Figures | None) -> list[tuple[str, float | None, float | None]]:
    """Name, ours, the tool's own; None where one of them tells none."""
    told = run.summary
    mine = [None] * 4 if ours is None else [ours.ttft_p50, ours.throughput, ours.window, float(ours.tokens_out)]
    theirs = [None] * 4 if told is None else [told.ttft_p50, told.throughput, told.duration, float(told.tokens_out)]
    return list(zip(_NAMES, mine, theirs, strict=True))


def _document(
    run: Run, ours: Figures | None, reasons: tuple[Phrase, ...], untold: tuple[Phrase, ...], read: Reader
) -> dict[str, object]:
    return {
        "tool": run.tool,
        "requests": len(run.requests),
        "concurrency": run.concurrency,
        "recomputed": {name: mine for name, mine, _ in _rows(run, ours)},
        "printed": {name: told for name, _, told in _rows(run, ours)},
        "against": [read.phrase(reason) for reason in reasons],
        "untold": [read.phrase(one) for one in untold],
    }


def _print(
    run: Run, ours: Figures | None, reasons: tuple[Phrase, ...], untold: tuple[Phrase, ...], read: Reader
) -> None:
    out = terminal.console(sys.stdout)
    names = {
        "ttft_p50_s": read("TTFT p50, s"), "throughput_tokens_s": read("output tokens a second"),
        "duration_s": read("first request to last token, s"), "output_tokens": read("output tokens"),
    }  # fmt: skip
    rows = [
        (names[name], *("-" if value is None else f"{value:.6g}" for value in (mine, told)))
        for name, mine, told in _rows(run, ours)
    ]
    title = read("{tool}: {count} requests", tool=run.tool, count=len(run.requests))
    out.print(Sentence(title))
    out.print(terminal.listing(rows, read("what"), read("recomputed"), read("printed by the tool")))
    for one in untold:
        out.print(Sentence(read("this tool cannot tell {what}", what=read.phrase(one))))
    for reason in reasons:
        out.print(Sentence(read("against it: {why}", why=read.phrase(reason))))


COMMANDS = (figures_of,)
