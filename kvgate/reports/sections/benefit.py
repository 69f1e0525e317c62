"""G3: both arms against each other at every concurrency, with intervals, limits, every round, and what was published beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checks.serving import around
from checks.serving import trials as planned
from checks.serving.cells import Pair, several
from checks.serving.comparison import Comparison
from checks.serving.published import Judged
from checks.statistics.rounding import half_up
from kvgate.reports import arms, strips
from kvgate.reports.arms import Curve, Span
from kvgate.reports.charts import Chart
from kvgate.reports.messages import Reader
from kvgate.reports.sections.levels import Level
from kvgate.reports.sections.section import Grid, Section

_PERCENTS = (5, 25, 50, 75, 90, 95)


def sections(levels: Sequence[Level], read: Reader) -> Iterator[Section]:
    """Yield the comparison, the distributions and every round."""
    if not levels:
        return
    yield _compared(levels, read)
    for found in ([one for one in levels if one.primary], [one for one in levels if not one.primary]):
        if any(_figures(level, "local") or _figures(level, "array") for level in found):
            yield _distributed(found, read)
        if found:
            yield _rounds(found, read)


# ---- the comparison


def _compared(levels: Sequence[Level], read: Reader) -> Section:
    first = levels[0]
    lines = [
        read(
            "Geometric mean of the ratios of paired rounds, with an interval of 95 %. Required: TTFT p50 lower by at least "
            "{least} %, throughput higher by {low} % to {high} %, rounded half up to whole percent.",
            least=f"{first.least:g}", low=f"{first.low:g}", high=f"{first.high:g}",
        )
    ]  # fmt: skip
    lines += [
        read("{level}: these rounds decide nothing: {why}", level=one.name, why=several(one.unfit))
        for one in levels
        if one.unfit
    ]
    if any(one.printed for one in levels):
        lines.append(read("Published: report R2 on other hardware, one value an arm, neither rounds nor interval."))
    grids = [_ttft(levels, read), _throughput(levels, read)]
    return Section(read("Array against local disk"), lines, grids, list(_spans(levels, read)))


def _ttft(levels: Sequence[Level], read: Reader) -> Grid:
    rows = []
    for one in levels:
        printed = "-" if one.printed is None else f"{half_up(-one.printed.drop, 2):+} %"
        rows.append((one.name, one.outcomes[0], *_row(one.ttft, "s"), f"<=-{one.least:g}%", printed, *_counted(one)))
    return Grid(_heads("TTFT p50", read), rows)


def _throughput(levels: Sequence[Level], read: Reader) -> Grid:
    rows = []
    for one in levels:
        printed = "-" if one.printed is None else f"{half_up(one.printed.gain, 2):+} %"
        band = f"+{one.low:g}..+{one.high:g}%"
        rows.append((one.name, one.outcomes[1], *_row(one.throughput, "tok/s"), band, printed, *_counted(one)))
    return Grid(_heads(read("throughput"), read), rows)


def _heads(what: str, read: Reader) -> list[str]:
    return [
        what, read("outcome"), read("local"), read("array"), read("change"), read("interval of 95 %"), read("required"), read("published"),
        read("rounds"), read("void"), read("could not be told"),
    ]  # fmt: skip


def _row(found: Comparison | None, unit: str) -> tuple[str, ...]:
    if found is None:
        return ("-", "-", "-", "-")
    low, high = _ends(found)
    return (
        f"{found.local:.4g} {unit}", f"{found.array:.4g} {unit}", f"{(found.ratio - 1) * 100:+.2f} %", f"{low:+.2f}..{high:+.2f}%",
    )  # fmt: skip


def _ends(found: Comparison) -> tuple[float, float]:
    return (found.interval.low - 1) * 100, (found.interval.high - 1) * 100


def _counted(one: Level) -> tuple[str, str, str]:
    void = sum(ended.void is not None for ended in one.ended)
    failed = sum(ended.failed is not None for ended in one.ended)
    return str(len(one.rounds)), str(void), str(failed)


def _spans(levels: Sequence[Level], read: Reader) -> Iterator[Chart]:
    ttft = [_span(one, one.ttft, _printed(one.printed, drop=True)) for one in levels]
    gain = [_span(one, one.throughput, _printed(one.printed, drop=False)) for one in levels]
    first = levels[0]
    for title, found, good in (
        (read("TTFT p50 of the array arm against the local arm"), ttft, (None, -first.least)),
        (read("Throughput of the array arm against the local arm"), gain, (first.low, first.high)),
    ):
        told = [one for one in found if one is not None]
        names = (read("mean and interval of 95 %"), read("each round"), read("published"), read("agreed"))
        if told:
            yield arms.spans(title, told, good, names, read("change"))


def _span(level: Level, found: Comparison | None, printed: float | None) -> Span | None:
    if found is None:
        return None
    changes = [(ratio - 1) * 100 for ratio in found.ratios]
    return Span(level.name, (found.ratio - 1) * 100, *_ends(found), changes, printed)


def _printed(found: Judged | None, *, drop: bool) -> float | None:
    if found is None:
        return None
    return float(-found.drop if drop else found.gain)


# ---- distributions


def _figures(level: Level, role: str) -> list[Sequence[float]]:
    """TTFT of every request, round by round, of the valid cells of one arm."""
    cells = [pair.local if role == "local" else pair.array for pair in level.pairs]
    return [one.figures.ttfts for one in cells if one.figures is not None]


def _distributed(levels: Sequence[Level], read: Reader) -> Section:
    lines = [
        read(
            "Every request of every valid cell; faint lines are single rounds. Percentiles above p90 need more requests than a "
            "round has and are shown for information."
        )
    ]
    rows, charts = [], []
    for level in levels:
        curves = []
        for role, name in _roles(read):
            if not (found := _figures(level, role)):
                continue
            values = [value for one in found for value in one]
            curves.append(Curve(f"{name} ({level.site.arm(role).name})", role, values, found))
            told = (f"{one:.4g}" for one in (*np.percentile(values, _PERCENTS), max(values)))
            rows.append((level.name, name, str(len(values)), str(len(found)), *told))
        if curves:
            charts.append(_curves(level, curves, read))
    heads = [read("concurrency"), read("arm"), read("requests"), read("rounds"), *(f"p{one}, s" for one in _PERCENTS)]
    grid = Grid([*heads, read("longest, s")], rows)
    title = _of(read("Time to the first token, request by request"), levels)
    return Section(title, lines, [grid], charts, folded=not levels[0].primary)


def _of(title: str, levels: Sequence[Level]) -> str:
    """A section on another shape than the one that the gate is about says so, and is folded."""
    return title if levels[0].primary else f"{title}: {', '.join(dict.fromkeys(one.site.shape for one in levels))}"


def _roles(read: Reader) -> tuple[tuple[str, str], ...]:
    return ("local", read("local")), ("array", read("array"))


def _curves(level: Level, curves: Sequence[Curve], read: Reader) -> Chart:
    low, high = min(min(one.values) for one in curves), max(max(one.values) for one in curves)
    width = max(len(one.name) for one in curves)
    text = [f"{'':{width}}  {strips.scale(low, high, 's')}"]
    text += [f"{one.name:{width}}  {strips.spread(one.values, low, high)}" for one in curves]
    return arms.distributions(
        read("{level}: requests that have their first token", level=level.name), curves, read("seconds since sending"),
        read("requests"), text,
    )  # fmt: skip


# ---- every round


def _rounds(levels: Sequence[Level], read: Reader) -> Section:
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
        _of(read("Paired rounds"), levels), lines, grids, charts, folded=not levels[0].primary
    )  # fmt: skip


def _heat(levels: Sequence[Level], read: Reader) -> Iterator[Grid]:
    """How hot it was around the windows; a round in which heat slowed anything is void and stands above."""
    rows = []
    for level in levels:
        for role, name in _roles(read):
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
            for (_, name), cell in zip(_roles(read), (pair.local, pair.array), strict=True)
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
            for role, name in _roles(read)
        }
        yield arms.rounds(title, found, read("round"), unit)


def _value(pair: Pair, role: str, *, throughput: bool) -> float:
    found = (pair.local if role == "local" else pair.array).figures
    assert found is not None  # noqa: S101 - asked for whole pairs alone
    return found.throughput if throughput else found.ttft_p50
