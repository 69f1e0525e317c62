"""A cell (arm x concurrency x round) is valid or says why not; rounds pair two cells; what makes pairs unfit to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.phrase import Phrase, joined, say
from checks.serving.figures import Figures, figures
from checks.serving.records import Run
from checks.serving.validity import Planned, faults
from checks.statistics.paired import FEWEST_RESAMPLES
from checks.statistics.percentile import median
from checks.statistics.plan import Voided, void_faults
from checks.statistics.steadiness import trend, variation_percent

_NAMED = 4  # reasons that a verdict spells out; the rest is counted


@dataclass(frozen=True, slots=True)
class Cell:
    """Figures of a valid cell, or the reasons why it is invalid; never both."""

    figures: Figures | None
    faults: tuple[Phrase, ...]

    def __post_init__(self) -> None:
        if (self.figures is None) is not bool(self.faults):
            raise ValueError("a cell has figures or faults, never both and never neither")


def cell(run: Run | None, planned: Planned, proof: Sequence[Phrase] = ()) -> Cell:
    """Judge one run as a cell; ``proof`` are the faults found in its proof of the tier. No run is a fault of its own."""
    if run is None:
        return Cell(None, (say("it was not measured"),))
    reasons = (*faults(run, planned), *proof)
    return Cell(None, reasons) if reasons else Cell(figures(run, planned.concurrency), ())


def whole_machine(cells: Sequence[Cell]) -> Cell:
    """Instances that were loaded at the same time as one cell: throughputs added, their requests in one pool.

    Raises ValueError for none. One invalid instance makes the whole invalid.
    """
    if not cells:
        raise ValueError("no instances to add")
    if reasons := tuple(reason for one in cells for reason in one.faults):
        return Cell(None, reasons)
    told = [one.figures for one in cells if one.figures is not None]
    ttfts = tuple(ttft for one in told for ttft in one.ttfts)
    steady = [one.steady_throughput for one in told if one.steady_throughput is not None]
    return Cell(
        Figures(
            ttfts=ttfts,
            ttft_p50=median(ttfts),
            throughput=sum(one.throughput for one in told),
            window=max(one.window for one in told),
            tokens_out=sum(one.tokens_out for one in told),
            mean_latency=sum(one.mean_latency * len(one.ttfts) for one in told) / len(ttfts),
            occupied=sum(one.occupied for one in told),
            tail_percent=max(one.tail_percent for one in told),
            steady_throughput=sum(steady) if len(steady) == len(told) else None,
        ),
        (),
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """One round at one concurrency on both arms."""

    round: int
    local: Cell
    array: Cell


@dataclass(frozen=True, slots=True)
class Rules:
    """What rounds must be before they may decide. Percent; ``width_points`` is the widest interval in percentage points.

    ``variation_percent`` bounds the coefficient of variation of each arm over rounds, ``drift_percent`` what the
    Theil-Sen slope of the local arm adds up to over them. ``step_percent`` is for rounds of one arm by itself: what each may
    add to the one before: shown with ``sure_percent`` of certainty; 0, as older agreements have it: where they go one way.
    """

    seed: int
    rounds: int = 5
    resamples: int = FEWEST_RESAMPLES
    width_points: float = 4.0
    variation_percent: float = 5.0
    drift_percent: float = 5.0
    step_percent: float = 1.0
    sure_percent: float = 0.0
    one_void_in: int = 5


def unfit(pairs: Sequence[Pair], rules: Rules, voided: Sequence[Voided] = ()) -> tuple[Phrase, ...]:
    """Every reason why these rounds of one concurrency may not decide; empty when their ratio may be looked at.

    ``voided`` are rounds taken out of this concurrency; they are not among ``pairs``.
    """
    found = list(void_faults(voided, len(pairs) + len(voided), rules.one_void_in))
    if len({pair.round for pair in pairs}) != len(pairs):
        found.append(say("a round was counted twice"))
    if {one.round for one in voided} & {pair.round for pair in pairs}:
        found.append(say("a round that was taken out is counted"))
    if len(pairs) < rules.rounds:
        found.append(say("{count} rounds, wanted at least {wanted}", count=len(pairs), wanted=rules.rounds))
    for pair in pairs:
        for name, one in ((say("local arm"), pair.local), (say("array arm"), pair.array)):
            if one.faults:
                found.append(
                    say("round {round}, {arm}: {why}", round=pair.round, arm=name, why=several(one.faults))
                )  # fmt: skip
    return tuple(found) if found else tuple(_restless(pairs, rules))


def several(reasons: Sequence[Phrase]) -> Phrase:
    """The first few reasons as one phrase, the rest counted."""
    if len(reasons) <= _NAMED:
        return joined(reasons)
    return say("{shown}; and {count} more", shown=joined(reasons[:_NAMED]), count=len(reasons) - _NAMED)


def _restless(pairs: Sequence[Pair], rules: Rules) -> list[Phrase]:
    found = []
    for arm, cells in (
        (say("local arm"), [pair.local for pair in pairs]),
        (say("array arm"), [pair.array for pair in pairs]),
    ):
        told = [one.figures for one in cells if one.figures is not None]
        for what, values in (
            (say("TTFT p50"), [one.ttft_p50 for one in told]),
            (say("throughput"), [one.throughput for one in told]),
        ):
            if len(values) > 1 and (variation := variation_percent(values)) > rules.variation_percent:
                found.append(
                    say(
                        "{what} of the {arm} varies from round to round by {variation:.2f} %; the limit is {limit} %",
                        what=what, arm=arm, variation=variation, limit=rules.variation_percent,
                    )
                )  # fmt: skip
    local = [(float(pair.round), pair.local.figures.ttft_p50) for pair in pairs if pair.local.figures is not None]
    if len(local) >= 3:
        change = trend([when for when, _ in local], [value for _, value in local]).change_percent
        if abs(change) > rules.drift_percent:
            found.append(
                say(
                    "over the rounds TTFT p50 of the local arm drifted by {change:+.2f} %; the limit is {limit} %",
                    change=change, limit=rules.drift_percent,
                )
            )  # fmt: skip
    return found
