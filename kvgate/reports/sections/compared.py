"""G3: change of TTFT and throughput with its interval against what is agreed, and what was published beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.serving.cells import several
from checks.serving.comparison import Comparison
from checks.serving.published import Judged
from checks.statistics.rounding import half_up
from kvgate.reports import arms
from kvgate.reports.arms import Span
from kvgate.reports.charts import Chart
from kvgate.reports.messages import Reader
from kvgate.reports.sections.levels import Level
from kvgate.reports.sections.section import Grid, Section


def section(levels: Sequence[Level], read: Reader) -> Section:
    """Both figures of every level, in tables and against their limits."""
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
