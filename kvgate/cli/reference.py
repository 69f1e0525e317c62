"""``kvgate reference``: the published figures recomputed, with the rule of G3 applied to them, and where they contradict."""

from __future__ import annotations

import json
import sys
from decimal import Decimal

import click
from rich.text import Text

from checks.serving.published import Judged
from checks.statistics.rounding import half_up
from checks.verdict import Verdict
from kvgate import reference as published
from kvgate.cli import speech
from kvgate.reference import Inconsistency, Reading, Reference
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from kvgate.reports.wrapping import Sentence


@click.command(
    "reference",
    help=speech.read(
        "Put the published figures through the rule of G3 and name their inconsistencies. Contacts nobody.\n\n"
        "Example: kvgate reference --json"
    ),
)
@click.option("--json", "as_json", is_flag=True, help=speech.read("everything as one JSON document"))
def reference(as_json: bool) -> None:
    """Put the published figures through the rule of G3 and name their inconsistencies."""
    figures = published.read()
    if as_json:
        click.echo(json.dumps(_document(figures), ensure_ascii=False))
        return
    read, out = Reader(language()), terminal.console(sys.stdout)
    rule = figures.criteria
    text = read(
        "rule at concurrency {concurrencies}: TTFT p50 lower by at least {least} %; throughput higher by {low} % to {high} %, rounded",
        least=f"{rule.ttft_drop.least:g}", low=f"{rule.throughput_gain.low:g}", high=f"{rule.throughput_gain.high:g}",
        concurrencies=", ".join(str(one) for one in rule.concurrencies),
    )  # fmt: skip
    out.print(Sentence(text))
    normal, strict = published.published(figures), published.published(figures, strict=True)
    out.print()
    out.print(_pairs(normal, strict, read))
    out.print(Sentence(read("in brackets: what the printed digits leave open")))
    out.print(_says(read("by the rule"), normal.decision, read))
    out.print(_says(read("without rounding"), strict.decision, read))
    out.print(
        Sentence(
            read(
                "printed values have no rounds, no interval and no proof of the tier: PASS says that they meet the rule"
            )
        )
    )
    out.print()
    out.print(Sentence(read("tables that hold recomputation in the local column, through the same rule:")))
    out.print(_mislabelled(figures, read))
    out.print()
    out.print(_claims(figures, read))
    out.print()
    out.print(_inconsistencies(figures.inconsistencies, read))
    out.print()
    for name, doc in figures.docs.items():
        out.print(Sentence(" ".join(part for part in (name, doc.title, doc.date, doc.url) if part)))
    out.print(
        Sentence(read("{count} figures, transcribed as printed; none was measured here", count=len(figures.figures)))
    )


def _says(name: str, verdict: Verdict, read: Reader) -> Text:
    parts = [read.phrase(verdict.measured), read.phrase(verdict.note)]
    rest = "; ".join(part for part in parts if part)
    return Text.assemble(f"{name}: ", (verdict.outcome.value, terminal.STYLE[verdict.outcome]), f"  {rest}")


def _percent(value: Decimal, decimals: int = 2) -> str:
    return f"{half_up(value, decimals):+}"


def _pairs(normal: Reading, strict: Reading, read: Reader) -> object:
    rows = []
    for row, hard in zip(normal.rows, strict.rows, strict=True):
        printed = row.printed
        rows.append(
            (
                f"c{printed.concurrency}",
                f"{printed.ttft_local} -> {printed.ttft_array}",
                f"{_percent(-row.drop)} ({_range(tuple(-end for end in reversed(row.drop_between)))})",
                f"{printed.throughput_local} -> {printed.throughput_array}",
                f"{_percent(row.gain)} ({_range(row.gain_between)})",
                _percent(row.gain, 0),
                row.verdict.outcome.value,
                hard.verdict.outcome.value,
            )
        )
    heads = (
        "R2", read("TTFT p50 [s]"), read("TTFT [%]"), read("throughput [tok/s]"),
        read("throughput [%]"), read("rounded"), read("by the rule"), read("without rounding"),
    )  # fmt: skip
    return terminal.listing(rows, *heads)


def _range(ends: tuple[Decimal, ...]) -> str:
    return f"{half_up(ends[0], 2)}..{half_up(ends[1], 2)}"


def _mislabelled(figures: Reference, read: Reader) -> object:
    rows = []
    readings = (
        (read("as its heading says"), published.mislabelled(figures, labelled=False)),
        (read("as what it holds"), published.mislabelled(figures, labelled=True)),
    )
    for how, found in readings:
        for one in found:
            row = one.rows[0]
            why = _reasons(row)
            rows.append(
                (
                    one.name, how, _percent(-row.drop), _percent(row.gain), one.decision.outcome.value,
                    "; ".join(read.phrase(reason.note) for reason in why),
                )
            )  # fmt: skip
    return terminal.listing(
        rows, read("source"), read("read"), read("TTFT [%]"), read("throughput [%]"), read("decision"), read("why")
    )


def _reasons(row: Judged) -> list[Verdict]:
    """The verdicts that carry a reason, each reason once."""
    found: dict[str, Verdict] = {}
    for verdict in (row.drop_verdict, row.gain_verdict, row.ceiling):
        if verdict is not None and verdict.note is not None:
            found.setdefault(str(verdict.note), verdict)
    return list(found.values())


def _claims(figures: Reference, read: Reader) -> object:
    rows = [
        (
            said.what, said.printed, str(half_up(claim.exact, 3)), read("yes") if claim.agrees else read("no"),
            ", ".join(said.docs), said.inconsistency or "",
        )
        for said, claim in published.claims(figures)
    ]  # fmt: skip
    return terminal.listing(
        rows, read("printed claim"), read("printed"), read("recomputed"), read("agrees"), read("source"), read("see")
    )


def _inconsistencies(found: tuple[Inconsistency, ...], read: Reader) -> object:
    rows = [
        (one.id, read.word(one.severity), ", ".join(one.docs), one.zh if read.lang == "zh" else one.en) for one in found
    ]
    return terminal.listing(rows, read("inconsistency"), read("severity"), read("source"), read("what it says"))


def _document(figures: Reference) -> dict[str, object]:
    rule = figures.criteria
    return {
        "rule": {
            "ttft_drop_percent": rule.ttft_drop.least,
            "throughput_gain_percent": [rule.throughput_gain.low, rule.throughput_gain.high],
            "concurrencies": list(rule.concurrencies),
        },
        "published": _reading(published.published(figures)),
        "strict": _reading(published.published(figures, strict=True)),
        "mislabelled": [
            {"labelled": labelled, **_reading(one)}
            for labelled in (False, True)
            for one in published.mislabelled(figures, labelled=labelled)
        ],
        "claims": [
            {
                "docs": list(said.docs), "what": said.what, "kind": said.kind, "printed": said.printed,
                "recomputed": float(claim.exact), "agrees": claim.agrees, "inconsistency": said.inconsistency,
            }
            for said, claim in published.claims(figures)
        ],
        "inconsistencies": [one.model_dump(mode="json") for one in figures.inconsistencies],
        "docs": {name: doc.model_dump(mode="json") for name, doc in figures.docs.items()},
        "figures": [
            {"id": one.id, "value": one.value, "unit": one.unit, "baseline": one.baseline, "docs": list(one.docs), "trust": one.trust}
            for one in figures.figures
        ],
    }  # fmt: skip


def _reading(reading: Reading) -> dict[str, object]:
    return {
        "source": reading.name,
        "outcome": reading.decision.outcome.value,
        "why": str(reading.decision.note or ""),
        "rows": [
            {
                "concurrency": row.printed.concurrency,
                "baseline": row.printed.baseline,
                "ttft_s": [float(row.printed.ttft_local), float(row.printed.ttft_array)],
                "ttft_drop_percent": float(row.drop),
                "ttft_drop_between": [float(end) for end in row.drop_between],
                "throughput_tok_s": [float(row.printed.throughput_local), float(row.printed.throughput_array)],
                "throughput_gain_percent": float(row.gain),
                "throughput_gain_rounded": int(half_up(row.gain)),
                "throughput_gain_between": [float(end) for end in row.gain_between],
                "outcome": row.verdict.outcome.value,
            }
            for row in reading.rows
        ],
    }


COMMANDS = (reference,)
