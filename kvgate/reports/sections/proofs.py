"""G3: what stands behind the comparison: that the judgement can fail, the same answers, computing anew, sharing, fan-in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from checks.serving import sensitivity
from checks.serving.answering import Answers
from checks.serving.cells import Cell
from checks.serving.fan_in import Together
from checks.serving.figures import figures
from checks.serving.rounds import ArmRound
from checks.serving.share import Shared
from checks.statistics.percentile import median
from checks.trial import Trial
from checks.units import show_bytes, show_rate
from kvgate.gate.tried import Tried
from kvgate.reports.messages import Reader
from kvgate.reports.sections.levels import Level
from kvgate.reports.sections.section import Grid, Section


def sections(levels: Sequence[Level], trials: Sequence[Trial[Any]], tried: Tried, read: Reader) -> Iterator[Section]:
    """Yield each that was measured."""
    yield from _sensitive(levels, read)
    facts = [(trial, one.fact) for trial in trials for one in tried.rounds(trial) if one.fact is not None]
    answers = [(trial, fact) for trial, fact in facts if isinstance(fact, Answers)]
    if answers:
        yield _answers(answers, read)
    anew = [(trial, fact) for trial, fact in facts if isinstance(fact, ArmRound)]
    if anew:
        yield _anew(levels, anew, read)
    shared = [(trial, fact) for trial, fact in facts if isinstance(fact, Shared)]
    if shared:
        yield _shared(shared, read)
    crowds = [(trial, fact) for trial, fact in facts if isinstance(fact, Together)]
    if crowds:
        yield _together(crowds, read)


def _sensitive(levels: Sequence[Level], read: Reader) -> Iterator[Section]:
    rows = []
    for one in levels:
        for made in sensitivity.shown(one.site, one.concurrency, one.limits, one.small, one.large, one.least):
            rows.append(
                (
                    one.name, f"-{made.percent:g} %", made.wanted.value, made.verdict.outcome.value,
                    read.phrase(made.verdict.measured) or read.phrase(made.verdict.note),
                )
            )  # fmt: skip
    if not rows:
        return
    lines = [
        read(
            "Before the first round, rounds with a known true difference went through the same judgement with the same limits. It "
            "must stop the small one and pass the large one, or nothing is measured."
        )
    ]  # fmt: skip
    heads = [read("concurrency"), read("made-up change"), read("must be"), read("outcome"), read("measured")]
    yield Section(read("Proof that the judgement can fail"), lines, [Grid(heads, rows)])


def _answers(found: Sequence[tuple[Trial[Any], Answers]], read: Reader) -> Section:
    rows = []
    for trial, fact in found:
        all_ = fact.canaries
        told = [one for one in all_ if None not in (one.computed, one.computed_again, one.stored, one.restored)]
        rows.append(
            (
                read.phrase(trial.title), str(len(all_)), str(len(all_) - len(told)),
                str(sum(one.computed != one.computed_again for one in told)),
                str(sum(one.stored not in (one.computed, one.computed_again) for one in told)),
                str(sum(one.restored not in (one.computed, one.computed_again) for one in told)),
                str(sum(bool(one.restored_hits) for one in all_)),
            )
        )  # fmt: skip
    heads = [
        read("canaries"), read("asked"), read("not answered each time"), read("differ when computed twice"),
        read("differ while storing"), read("differ when restored"), read("shown to come from the store"),
    ]  # fmt: skip
    return Section(read("The same answers from restored KV"), grids=[Grid(heads, rows)])


def _anew(levels: Sequence[Level], found: Sequence[tuple[Trial[Any], ArmRound]], read: Reader) -> Section:
    rows: list[Sequence[str]] = []
    for level in levels:
        for trial, fact in found:
            if trial.id != f"serving.recompute:{level.site.shape}:c{level.concurrency}":
                continue
            try:
                told = figures(fact.run, level.concurrency)
            except ValueError as error:
                rows.append((level.name, read("could not be told"), str(error), "-", "-", "-", "-"))
                continue
            arms = [[one.figures for one in cells if one.figures is not None] for cells in _cells(level)]
            rows.append(
                (
                    level.name, f"{told.ttft_p50:.4g} s", *(_middle([one.ttft_p50 for one in arm], "s") for arm in arms),
                    f"{told.throughput:.4g} tok/s", *(_middle([one.throughput for one in arm], "tok/s") for arm in arms),
                )
            )  # fmt: skip
    heads = [
        read("concurrency"), read("TTFT p50 computed anew"), read("local"), read("array"), read("throughput computed anew"),
        read("local"), read("array"),
    ]  # fmt: skip
    return Section(read("Against computing everything anew"), grids=[Grid(heads, rows)])


def _cells(level: Level) -> tuple[list[Cell], list[Cell]]:
    return [pair.local for pair in level.pairs], [pair.array for pair in level.pairs]


def _middle(values: Sequence[float], unit: str) -> str:
    return f"{median(values):.4g} {unit}" if values else "-"


def _shared(found: Sequence[tuple[Trial[Any], Shared]], read: Reader) -> Section:
    rows = [
        (
            read.phrase(trial.title), _count(fact.stored, read), _count(fact.traffic.store, read),
            read("not told") if fact.traffic.block is None else show_bytes(fact.traffic.block),
        )
        for trial, fact in found
    ]  # fmt: skip
    heads = [
        read("trial"),
        read("tokens stored by one"),
        read("tokens read by the other"),
        read("bytes read on the block device"),
    ]
    return Section(read("One instance reads what another stored"), grids=[Grid(heads, rows)])


def _together(found: Sequence[tuple[Trial[Any], Together]], read: Reader) -> Section:
    rows: list[Sequence[str]] = []
    for trial, fact in found:
        for one in fact.nodes:
            name, seconds = read.phrase(trial.title), one.client.seconds
            block = None if one.traffic is None else one.traffic.block
            shown = read("not told") if block is None else show_bytes(block)
            rate = read("not told") if block is None or seconds <= 0 else show_rate(block * 8 / seconds)
            try:
                ttft = f"{figures(one.run, fact.concurrency).ttft_p50:.4g} s"
            except ValueError as error:
                ttft = str(error)
            rows.append((name, one.side.host, ttft, shown, rate))
    heads = [
        read("trial"), read("node"), read("TTFT p50"), read("bytes read on the block device"), read("over the node's whole run"),
    ]  # fmt: skip
    return Section(read("All nodes read the array at once"), grids=[Grid(heads, rows)])


def _count(value: int | None, read: Reader) -> str:
    return read("not told") if value is None else f"{value:,}"
