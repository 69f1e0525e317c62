"""G3: every round with both arms, what it was taken out for, and how hot it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.serving import around
from checks.serving import trials as planned
from checks.serving.cells import Pair, several
from kvgate.reports import arms
from kvgate.reports.charts import Chart
from kvgate.reports.messages import Reader
from kvgate.reports.sections.levels import Level, roles, titled
from kvgate.reports.sections.section import Grid, Section


def section(levels: Sequence[Level], read: Reader) -> Section:
    """Every round in a table, and both arms of each side by side."""
    rows: list[Sequence[str]] = []
    charts: list[Chart] = []
    for level in levels:
        by = {one.number: (one, pair) for one, pair in zip(level.rounds, level.pairs, strict=True)}
        for ended in level.ended:
            who = planned.first(level.site, level.concurrency, ended.number)
            head = (level.name, str(ended.number), read("local") if who == "local" else read("array"))
            if ended.number in by:
                rows.append((*head, *_pair(by[ended.number][1], read)))
            else:
                why = ended.void if ended.void is not None else ended.failed.phrase if ended.failed else None
                mark = read("void") if ended.void is not None else read("could not be told")
                rows.append((*head, *["-"] * 6, f"{mark}: {read.phrase(why)}"))
        charts += _dumbbells(level, read)
    heads = [
        read("concurrency"), read("round"), read("first arm"), read("local TTFT p50, s"), read("array TTFT p50, s"), read("change"),
        read("local tok/s"), read("array tok/s"), read("change"), read("remark"),
    ]  # fmt: skip
    lines = [
        read(
            "A round is both arms with the same prompts, one after the other, the first arm in turns; concurrencies take turns in "
            "an order drawn from seed {seed}.",
            seed=levels[0].site.seed,
        )
    ]  # fmt: skip
    grids = [Grid(heads, rows), *_heat(levels, read)]
    return Section(
        titled(read("Paired rounds"), levels), lines, grids, charts, folded=not levels[0].primary
    )  # fmt: skip


def _heat(levels: Sequence[Level], read: Reader) -> Iterator[Grid]:
    """How hot it was around the windows; a round in which heat slowed anything is void and stands above."""
    rows = []
    for level in levels:
        for role, name in roles(read):
            arms_of = [one.local if role == "local" else one.array for one in level.rounds]
            told = [around.degrees(arm.looked) for arm in arms_of if arm.looked is not None]
            disk, cards = (_degrees([value for one in told for value in one[place]]) for place in (0, 1))
            rows.append((level.name, name, disk, cards))
    if any(row[2:] != ("-", "-") for row in rows):
        yield Grid([read("concurrency"), read("arm"), read("local disk, C"), read("hottest accelerator, C")], rows)


def _degrees(found: Sequence[float | None]) -> str:
    """The coolest and the hottest look."""
    told = [one for one in found if one is not None]
    return f"{min(told):.0f}..{max(told):.0f}" if told else "-"


def _pair(pair: Pair, read: Reader) -> tuple[str, ...]:
    local, array = pair.local.figures, pair.array.figures
    if local is None or array is None:
        why = [
            f"{name}: {read.phrase(several(cell.faults))}"
            for (_, name), cell in zip(roles(read), (pair.local, pair.array), strict=True)
            if cell.faults
        ]
        return (*["-"] * 6, read("invalid: {why}", why="; ".join(why)))
    return (
        f"{local.ttft_p50:.4g}", f"{array.ttft_p50:.4g}", f"{(array.ttft_p50 / local.ttft_p50 - 1) * 100:+.2f} %",
        f"{local.throughput:.4g}", f"{array.throughput:.4g}", f"{(array.throughput / local.throughput - 1) * 100:+.2f} %", "",
    )  # fmt: skip


def _dumbbells(level: Level, read: Reader) -> Iterator[Chart]:
    whole = [pair for pair in level.pairs if pair.local.figures is not None and pair.array.figures is not None]
    if not whole:
        return
    for title, unit, throughput in (
        (read("{level}: TTFT p50, round by round", level=level.name), "s", False),
        (read("{level}: throughput, round by round", level=level.name), "tok/s", True),
    ):
        found = {
            role: (name, [(pair.round, _value(pair, role, throughput=throughput)) for pair in whole])
            for role, name in roles(read)
        }
        yield arms.rounds(title, found, read("round"), unit)


def _value(pair: Pair, role: str, *, throughput: bool) -> float:
    found = (pair.local if role == "local" else pair.array).figures
    assert found is not None  # noqa: S101 - asked for whole pairs alone
    return found.throughput if throughput else found.ttft_p50
