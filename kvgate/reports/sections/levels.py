"""The paired rounds of G3 as a report takes them: one level a concurrency of a shape, with what it is held to and came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from checks.phrase import Phrase
from checks.serving import comparison, judging
from checks.serving.cells import Pair, unfit
from checks.serving.comparison import Comparison
from checks.serving.limits import Limits, limits
from checks.serving.published import Judged
from checks.serving.rounds import ReadBoth, Round
from checks.serving.site import Site
from checks.trial import Trial
from kvgate import reference
from kvgate.agreement import Agreement
from kvgate.gate.baseline import Baseline
from kvgate.gate.ceilings import ceilings
from kvgate.gate.tried import Ended, Tried
from kvgate.reports.messages import Reader

#: The clauses whose numbers a level is held to, by whether its shape is the one that the gate is about.
_DROP = {True: "G3.3.1", False: "G3.3.2"}
_GAIN = {True: "G3.4.1", False: "G3.4.2"}


@dataclass(frozen=True)
class Level:
    """One concurrency. ``least`` is the drop wanted and ``low`` to ``high`` the band of the gain, in percent; ``small`` and
    ``large`` are the true drops of made-up rounds that show whether the judgement sees.

    ``ended`` are all rounds in order, void and failed ones too; ``printed`` is what was published at this concurrency, for the
    primary shape alone: no absolute values were published for others. ``outcomes``: of the drop and of the gain.
    """

    site: Site
    concurrency: int
    primary: bool
    limits: Limits
    least: float
    small: float
    large: float
    low: float
    high: float
    ended: tuple[Ended, ...]
    printed: Judged | None
    outcomes: tuple[str, str] = ("-", "-")

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.site.shape} c={self.concurrency}"

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """Rounds that count."""
        return tuple(one.fact for one in self.ended if isinstance(one.fact, Round))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Both cells of each round that counts, valid or with every reason why not."""
        return judging.pairs(self.rounds, self.site, self.limits)

    def requests(self, role: str) -> list[Sequence[float]]:
        """TTFT of every request, round by round, of the valid cells of the local or the array arm."""
        cells = [pair.local if role == "local" else pair.array for pair in self.pairs]
        return [one.figures.ttfts for one in cells if one.figures is not None]

    @cached_property
    def unfit(self) -> tuple[Phrase, ...]:
        """Why these rounds decide nothing; empty where they do."""
        return unfit(self.pairs, self.limits.rules)

    @cached_property
    def ttft(self) -> Comparison | None:
        """Array over local; None where the rounds are not fit: a ratio of invalid cells is never shown."""
        return None if self.unfit else comparison.ttft(self.pairs, self.limits.rules)

    @cached_property
    def throughput(self) -> Comparison | None:
        """As ``ttft``."""
        return None if self.unfit else comparison.throughput(self.pairs, self.limits.rules)


def levels(
    trials: Sequence[Trial[Any]],
    tried: Tried,
    agreement: Agreement,
    primary: str,
    outcomes: Mapping[tuple[str, str], str],
) -> Iterator[Level]:
    """Yield the level of each paired trial, the primary shape first. One whose agreement has other clauses has none.

    ``outcomes`` are those of the run by clause and subject.
    """
    baseline = Baseline(tried.answers.evidence)
    figures = {one.printed.concurrency: one for one in reference.published(reference.read()).rows}
    found = [(trial.read, trial) for trial in trials if isinstance(trial.read, ReadBoth)]
    for read, trial in sorted(
        found, key=lambda one: (one[0].site.shape != primary, one[0].site.shape, one[0].concurrency)
    ):
        site, first = read.site, read.site.shape == primary
        drop, gain = _terms(agreement, _DROP[first]), _terms(agreement, _GAIN[first])
        try:
            held = limits(drop, site, ceilings(site, baseline, drop["beyond"]))
            numbers = drop["least"], drop["small"], drop["large"], gain["low"], gain["high"]
        except KeyError:
            continue
        printed = figures.get(read.concurrency) if first else None
        subject = f"{site.shape}/c{read.concurrency}"
        came = tuple(outcomes.get((clause[first], subject), "-") for clause in (_DROP, _GAIN))
        yield Level(
            site, read.concurrency, first, held, *numbers, tuple(tried.rounds(trial)), printed, (came[0], came[1])
        )  # fmt: skip


def _terms(agreement: Agreement, clause: str) -> Mapping[str, Any]:
    found = agreement.acceptance.clauses.get(clause)
    return {} if found is None else {name: limit.value for name, limit in found.limits.items()}


def roles(read: Reader) -> tuple[tuple[str, str], ...]:
    """Both arms with what people call them."""
    return ("local", read("local")), ("array", read("array"))


def titled(title: str, levels: Sequence[Level]) -> str:
    """A section on another shape than the one that the gate is about says so, and is folded."""
    return title if levels[0].primary else f"{title}: {', '.join(dict.fromkeys(one.site.shape for one in levels))}"
