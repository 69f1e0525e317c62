"""Published figures through the rule of G3: one value an arm and concurrency, so no interval; the labels decide what they are.

The same :func:`checks.serving.criteria.drop` and :func:`checks.serving.criteria.gain` that decide on measured rounds decide here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from checks.phrase import say
from checks.serving import criteria
from checks.statistics.rounding import drop_percent, gain_percent, half_up
from checks.verdict import Verdict, worst

#: The baseline that the gate compares with, as reference.yaml calls it.
LOCAL = "local_nvme_single"


@dataclass(frozen=True, slots=True)
class Printed:
    """Figures of both arms at one concurrency, in s and tok/s, digit for digit as printed.

    ``baseline`` says what the local column really holds; None takes the column's heading at its word. ``ttft_recompute`` is
    what computing everything anew took at this concurrency, where that is printed.
    """

    concurrency: int
    ttft_local: Decimal
    ttft_array: Decimal
    throughput_local: Decimal
    throughput_array: Decimal
    baseline: str | None
    ttft_recompute: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """The gate's numbers in percent. ``decimals`` rounds the gain before it is compared, None compares it as it is."""

    least_drop: float
    low: float
    high: float
    decimals: int | None = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """One concurrency: exact percentages, what the printed digits leave open, and the verdicts.

    ``ceiling`` is the sanity check against recomputation, None where no figure for it is printed.
    """

    printed: Printed
    drop: Decimal
    gain: Decimal
    drop_between: tuple[Decimal, Decimal]
    gain_between: tuple[Decimal, Decimal]
    drop_verdict: Verdict
    gain_verdict: Verdict
    ceiling: Verdict | None

    @property
    def verdict(self) -> Verdict:
        """The worst of them."""
        found = (self.gain_verdict, self.drop_verdict, self.ceiling)
        return worst(verdict for verdict in found if verdict is not None)


def judge(printed: Printed, rule: Rule) -> Judged:
    """Judge one concurrency. A local column that is said to hold something else makes both verdicts UNDECIDED."""
    drop = drop_percent(printed.ttft_local, printed.ttft_array)
    gain = gain_percent(printed.throughput_local, printed.throughput_array)
    drop_verdict = criteria.drop(drop, rule.least_drop)
    gain_verdict = criteria.gain(gain, rule.low, rule.high, rule.decimals)
    if printed.baseline not in (LOCAL, None):
        why = say("the local column holds another baseline ({kind}): invalid", kind=printed.baseline)
        drop_verdict = Verdict.undecided(why, drop_verdict.required, drop_verdict.measured)
        gain_verdict = Verdict.undecided(why, gain_verdict.required, gain_verdict.measured)
    falls = _between(printed.ttft_local, printed.ttft_array)
    rises = _between(printed.throughput_local, printed.throughput_array)
    return Judged(
        printed=printed,
        drop=drop,
        gain=gain,
        drop_between=(-falls[1], -falls[0]),
        gain_between=rises,
        drop_verdict=drop_verdict,
        gain_verdict=gain_verdict,
        ceiling=None
        if printed.ttft_recompute is None
        else criteria.beats_recompute(
            float(printed.ttft_recompute), float(printed.ttft_local), float(printed.ttft_array), lower=True
        ),
    )


def _between(before: Decimal, after: Decimal) -> tuple[Decimal, Decimal]:
    """Change in percent that the values behind two printed ones may have had: half a unit of the last digit each way."""

    def half(value: Decimal) -> Decimal:
        exponent = value.as_tuple().exponent
        return Decimal("0.5").scaleb(exponent if isinstance(exponent, int) else 0)

    ends = [
        gain_percent(before + half(before), after - half(after)),
        gain_percent(before - half(before), after + half(after)),
    ]
    return ends[0], ends[1]


def decide(judged: Sequence[Judged], configured: Collection[int]) -> Verdict:
    """The gate on published figures: every configured concurrency, as on measured ones."""
    return criteria.every_concurrency({one.printed.concurrency: one.verdict for one in judged}, configured)


@dataclass(frozen=True, slots=True)
class Claim:
    """A printed percentage or ratio and the two printed values that it must come from. ``kind``: drop, gain or ratio."""

    kind: str
    printed: Decimal
    before: Decimal
    after: Decimal

    @property
    def exact(self) -> Decimal:
        """The value recomputed. Raises ValueError for another kind."""
        if self.kind == "drop":
            return drop_percent(self.before, self.after)
        if self.kind == "gain":
            return gain_percent(self.before, self.after)
        if self.kind == "ratio":
            return gain_percent(self.before, self.after) / 100 + 1
        raise ValueError(f"found kind {self.kind!r}, wanted drop, gain or ratio")

    @property
    def agrees(self) -> bool:
        """Whether the value, rounded half up to the printed digits, is the printed one."""
        exponent = self.printed.as_tuple().exponent
        return half_up(self.exact, -exponent if isinstance(exponent, int) else 0) == self.printed
