"""The serving baselines of G2: what each arm gave by itself, with its variance, and every round with what was seen around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checks.serving import judging
from checks.serving.around import Around, hottest
from checks.serving.baseline import ReadAlone
from checks.serving.cells import Cell, several
from checks.serving.figures import Figures
from checks.serving.limits import alone as limits
from checks.statistics.percentile import median
from checks.statistics.steadiness import variation_percent
from checks.trial import Trial
from kvgate.gate.session import GateSession
from kvgate.gate.tried import Ended, Tried
from kvgate.reports.charts import Chart, bars
from kvgate.reports.messages import Reader
from kvgate.reports.sections.section import Grid, Section, around

#: The clause whose numbers a round is held to, by whether its arm keeps KV.
_CLAUSE = {True: "G2.6.1", False: "G2.6.2"}


@dataclass(frozen=True)
class _Arm:
    """All rounds of one arm at one concurrency; a round that does not count has no cell."""

    read: ReadAlone
    rounds: tuple[tuple[Ended, Cell | None], ...]

    @property
    def name(self) -> str:
        return f"{self.read.site.shape} c={self.read.concurrency}"

    @property
    def told(self) -> list[Figures]:
        return [cell.figures for _, cell in self.rounds if cell is not None and cell.figures is not None]


def sections(session: GateSession, tried: Tried, read: Reader) -> Iterator[Section]:
    """Yield medians and variances, then every round; nothing for a gate that measured no arm by itself."""
    found = [arm for trial in tried.asked.values() if (arm := _arm(session, tried, trial)) is not None]
    if not found:
        return
    lines = [
        read(
            "One node alone, KV restored cold or computed anew; medians over the rounds. A round without proof, or whose load was "
            "not as planned, has no numbers."
        )
    ]  # fmt: skip
    yield Section(read("What the engine gives alone"), lines, [_medians(found, read)], list(_charts(found, read)))
    heads = [
        read("load"), read("arm"), read("round"), "TTFT p50, s", "tok/s", read("disk, C"), read("hottest accelerator, C"),
        read("remark"),
    ]  # fmt: skip
    rows = [_round(arm, ended, cell, read) for arm in found for ended, cell in arm.rounds]
    yield Section(read("Every round of an arm alone"), grids=[Grid(heads, rows)], folded=True)


def _arm(session: GateSession, tried: Tried, trial: Trial[Any]) -> _Arm | None:
    reading = trial.read
    if not isinstance(reading, ReadAlone):
        return None
    stores = bool(reading.side.store)
    clause = session.agreement.acceptance.clauses.get(_CLAUSE[stores])
    if clause is None:
        return None
    terms: dict[str, Any] = {name: limit.value for name, limit in clause.limits.items()}
    try:
        held = limits(terms, reading.site, stores)
    except KeyError:  # an agreement with other numbers
        return None
    rounds = tuple(
        (one, None if one.fact is None else judging.cell(one.fact.arm, reading.site, reading.concurrency, held))
        for one in tried.rounds(trial)
    )
    return _Arm(reading, rounds)


def _medians(found: Sequence[_Arm], read: Reader) -> Grid:
    heads = [
        read("load"), read("arm"), "TTFT p50, s", read("varies"), "tok/s", read("varies"), read("spread of requests"),
        read("rounds"),
    ]  # fmt: skip
    return Grid(heads, [_median(arm) for arm in found])


def _median(arm: _Arm) -> Sequence[str]:
    told = arm.told
    if not told:
        return (arm.name, arm.read.side.role, *["-"] * 5, "0")
    ttfts, rates = [one.ttft_p50 for one in told], [one.throughput for one in told]
    spread = median([variation_percent(one.ttfts) for one in told])
    return (
        arm.name, arm.read.side.role, f"{median(ttfts):.4g}", _varies(ttfts), f"{median(rates):.4g}", _varies(rates),
        f"{spread:.1f} %", str(len(told)),
    )  # fmt: skip


def _varies(values: Sequence[float]) -> str:
    return f"{variation_percent(values):.2f} %" if len(values) > 1 else "-"


def _charts(found: Sequence[_Arm], read: Reader) -> Iterator[Chart]:
    ttfts: dict[str, dict[str, list[float]]] = {}
    rates: dict[str, dict[str, list[float]]] = {}
    for arm in found:
        if told := arm.told:
            ttfts.setdefault(arm.read.side.role, {})[arm.name] = [one.ttft_p50 for one in told]
            rates.setdefault(arm.read.side.role, {})[arm.name] = [one.throughput for one in told]
    if ttfts:
        yield bars("TTFT p50", ttfts, "s", read("load"), read("arm"), logarithmic=True)
        yield bars(read("Throughput"), rates, "tok/s", read("load"), read("arm"), logarithmic=True)


def _round(arm: _Arm, ended: Ended, cell: Cell | None, read: Reader) -> Sequence[str]:
    place = (arm.name, arm.read.side.role, str(ended.number))
    if cell is None:
        why = ended.void if ended.void is not None else ended.failed.phrase if ended.failed is not None else None
        mark = read("void") if ended.void is not None else read("could not be told")
        return (*place, *["-"] * 4, f"{mark}: {read.phrase(why)}")
    heat = _heat(ended.fact.around)
    if cell.figures is None:
        return (*place, "-", "-", *heat, read.phrase(several(cell.faults)))
    return (*place, f"{cell.figures.ttft_p50:.4g}", f"{cell.figures.throughput:.4g}", *heat, around(ended, read))


def _heat(around: Around) -> tuple[str, str]:
    disk = [None if one is None else one.celsius for one in around.disk]
    cards = [max(told) if cards is not None and (told := hottest(cards)) else None for cards in around.cards]
    return _pair(disk), _pair(cards)


def _pair(values: Sequence[float | None]) -> str:
    return " / ".join("-" if one is None else f"{one:.0f}" for one in values)
