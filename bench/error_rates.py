"""How often the rule of G3 errs, by simulation with the judge itself: for several rounds, requests and noise levels.

``python -m bench.error_rates`` prints the tables, ``--write`` puts them into runbooks/decisions/0008-statistics.md, ``--trials N``
makes it quicker and coarser. Everything follows from the seed.

The world of the simulation: TTFT is log-normal with a coefficient of variation ``spread`` among the requests of a run; each run
of an arm is slower or faster as a whole by ``shake`` (standard deviation); what shakes both arms of a round alike cancels
out and is left away. Throughput is one number a run and has ``shake`` only.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from checks.serving import comparison
from checks.serving.cells import Cell, Pair, Rules, unfit
from checks.serving.comparison import Comparison
from checks.serving.criteria import drop_of, gain_of
from checks.serving.figures import Figures
from checks.statistics.paired import Interval
from checks.verdict import Outcome, Verdict

PAGE = Path(__file__).parent.parent / "runbooks" / "decisions" / "0008-statistics.md"
SEED = 20261129

DROPS = (20.0, 23.0, 24.0, 24.5, 25.0, 25.96, 27.0, 30.0)
GAINS = (26.0, 27.5, 28.0, 28.5, 28.93, 30.0, 35.0, 40.0, 40.5, 41.0, 43.0)


@dataclass(frozen=True)
class Noise:
    """One row: how a run is made and how noisy it is."""

    rounds: int
    requests: int
    spread: float
    shake: float


@dataclass(frozen=True)
class Rates:
    """What a row came to: per true value the share of PASS, STOP and UNDECIDED; interval width and how often it held the truth."""

    noise: Noise
    shares: dict[float, dict[Outcome, float]]
    width: float
    held: float


def _run(rng: np.random.Generator, noise: Noise) -> Cell:
    sigma = math.sqrt(math.log(1 + noise.spread**2))
    whole = float(np.exp(rng.normal(0, noise.shake)))
    ttfts = tuple((10.0 * whole * np.exp(rng.normal(0, sigma, noise.requests))).tolist())
    rate = 50.0 * float(np.exp(rng.normal(0, noise.shake)))
    return Cell(Figures(ttfts, float(np.median(ttfts)), rate, 100.0, 5000, 10.0, 8.0, 5.0, None), ())


def _scaled(found: Comparison, truth: float) -> Comparison:
    """The same rounds, had the arms differed by ``truth`` instead of not at all: every ratio scales with it."""
    ends = replace(found.interval, low=found.interval.low * truth, high=found.interval.high * truth)
    return replace(found, ratio=found.ratio * truth, interval=ends, array=found.array * truth)


def rates(
    noise: Noise,
    truths: Sequence[float],
    ratio: Callable[[float], float],
    compare: Callable[[Sequence[Pair], Rules], Comparison],
    judge: Callable[[Comparison, Rules], Verdict],
    trials: int,
) -> Rates:
    """Judge ``trials`` experiments of one noise at each true value."""
    rng = np.random.default_rng(
        [SEED, noise.rounds, noise.requests, round(noise.spread * 1000), round(noise.shake * 1e5)]
    )
    counted: dict[float, Counter[Outcome]] = {truth: Counter() for truth in truths}
    widths, held = [], 0
    for trial in range(trials):
        rules = Rules(seed=trial, rounds=noise.rounds)
        pairs = [Pair(number, _run(rng, noise), _run(rng, noise)) for number in range(noise.rounds)]
        found = compare(pairs, rules)
        widths.append(_scaled(found, ratio(truths[0])).width_points)
        held += _holds(found.interval)
        spoilt = bool(unfit(pairs, rules))
        for truth in truths:
            outcome = Outcome.UNDECIDED if spoilt else judge(_scaled(found, ratio(truth)), rules).outcome
            counted[truth][outcome] += 1
    shares = {truth: {one: counted[truth][one] / trials for one in Outcome} for truth in truths}
    return Rates(noise, shares, float(np.mean(widths)), held / trials)


def _holds(interval: Interval) -> bool:
    return interval.low <= 1.0 <= interval.high


def drop_rates(noise: Noise, trials: int, truths: Sequence[float] = DROPS) -> Rates:
    """Rates of the TTFT clause, at least 25 %; truths are true drops in percent."""
    return rates(noise, truths, lambda t: 1 - t / 100, comparison.ttft, lambda c, r: drop_of(c, r, 25), trials)


def gain_rates(noise: Noise, trials: int, truths: Sequence[float] = GAINS) -> Rates:
    """Rates of the throughput clause, 29 % to 40 % rounded; truths are true gains in percent."""
    return rates(
        noise, truths, lambda t: 1 + t / 100, comparison.throughput, lambda c, r: gain_of(c, r, 29, 40), trials
    )


TTFT_ROWS = (
    Noise(5, 80, 0.10, 0.005), Noise(5, 160, 0.10, 0.005), Noise(5, 320, 0.10, 0.005), Noise(5, 160, 0.10, 0.01),
    Noise(5, 160, 0.10, 0.02), Noise(10, 160, 0.10, 0.02), Noise(5, 160, 0.25, 0.005), Noise(5, 320, 0.25, 0.005),
    Noise(10, 320, 0.25, 0.01), Noise(20, 320, 0.25, 0.01),
)  # fmt: skip
RATE_ROWS = (
    Noise(5, 2, 0.0, 0.003), Noise(5, 2, 0.0, 0.005), Noise(5, 2, 0.0, 0.01), Noise(8, 2, 0.0, 0.01), Noise(12, 2, 0.0, 0.01),
    Noise(12, 2, 0.0, 0.02), Noise(20, 2, 0.0, 0.02),
)  # fmt: skip


def table(found: Sequence[Rates], *, requests: bool) -> str:
    """Markdown: one row a noise, per true value the percent PASS / STOP / UNDECIDED."""
    truths = list(found[0].shares)
    names = ["rounds", *(["requests", "spread %"] if requests else []), "shake %", "width", "held %"]
    head = [*names, *(f"{truth:g} %" for truth in truths)]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for one in found:
        noise = one.noise
        row = [f"{noise.rounds}"]
        if requests:
            row += [f"{noise.requests}", f"{noise.spread * 100:g}"]
        row += [f"{noise.shake * 100:g}", f"{one.width:.1f}", f"{one.held * 100:.0f}"]
        row += [
            " / ".join(
                f"{one.shares[truth][outcome] * 100:.0f}" for outcome in (Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED)
            )
            for truth in truths
        ]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def simple_bootstrap_coverage(rounds: int, trials: int) -> float:
    """How often an interval from values drawn anew holds the truth, when there is one value a round: why it is not used."""
    rng = np.random.default_rng([SEED, rounds])
    held = 0
    for _ in range(trials):
        logs = rng.normal(0, 0.01, rounds)
        means = rng.choice(logs, (2000, rounds)).mean(axis=1)
        low, high = np.percentile(means, [2.5, 97.5])
        held += bool(low <= 0 <= high)
    return held / trials


def tables(trials: int) -> dict[str, str]:
    """Every table of the page by its name."""
    bare = ", ".join(f"{simple_bootstrap_coverage(n, trials) * 100:.0f} % at {n}" for n in (5, 8, 12, 20))
    return {
        "ttft": table([drop_rates(noise, trials) for noise in TTFT_ROWS], requests=True),
        "throughput": table([gain_rates(noise, trials) for noise in RATE_ROWS], requests=False),
        "bootstrap of one value a round": f"An interval of 95 % held the truth in {bare} rounds.",
        "trials": f"{trials} simulated experiments a row, seed {SEED}.",
    }


def write(found: dict[str, str], page: Path = PAGE) -> None:
    """Put the tables between their marks."""
    text = page.read_text("utf-8")
    for name, body in found.items():
        mark = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        hit = mark.search(text)
        if hit is None:
            raise SystemExit(f"{page} has no mark for the table {name!r}")
        text = f"{text[: hit.start()]}{hit[1]}{body}\n{hit[2]}{text[hit.end() :]}"
    page.write_text(text, "utf-8")


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.error_rates", description="error rates of the rule of G3")
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    wanted = parser.parse_args()
    found = tables(wanted.trials)
    if wanted.write:
        write(found)
    print("\n\n".join(f"{name}\n{body}" for name, body in found.items()))


if __name__ == "__main__":
    main()
