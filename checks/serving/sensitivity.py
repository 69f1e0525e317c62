"""Proof that the judgement can fail: made-up rounds with a known difference go the same way as measured ones.

Requests are drawn from a log-normal distribution with the spread that serving shows (runbooks/decisions/0008-statistics.md); the
seed is the workload's, so anybody can draw them again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checks.phrase import say
from checks.serving.cells import Cell, Pair, cell
from checks.serving.criteria import ttft_drop
from checks.serving.limits import Limits
from checks.serving.records import Clock, Request, Run, Status
from checks.serving.site import Site
from checks.verdict import Outcome, Verdict

#: Spread of TTFT within a round and of whole rounds, and what a request takes after its first token, in seconds.
_SPREAD, _ROUNDS, _TTFT, _DECODE = 0.05, 0.003, 10.0, 12.0


@dataclass(frozen=True, slots=True)
class Shown:
    """Made-up rounds with a true drop of ``percent``: what they must come to and what they came to."""

    percent: float
    wanted: Outcome
    verdict: Verdict


def shown(
    site: Site, concurrency: int, limits: Limits, small: float, large: float, least: float
) -> tuple[Shown, Shown]:
    """Judge made-up rounds with a small and with a large true drop by the rules of this run."""
    return (
        Shown(small, Outcome.STOP, _judged(site, concurrency, limits, small, least)),
        Shown(large, Outcome.PASS, _judged(site, concurrency, limits, large, least)),
    )


def sees(site: Site, concurrency: int, limits: Limits, small: float, large: float, least: float) -> Verdict:
    """A true drop of ``small`` percent is stopped and one of ``large`` percent passes, by the very rules of this run."""
    required = say(
        "a drop of {small} percent is stopped, one of {large} percent passes", small=f"{small:g}", large=f"{large:g}"
    )  # fmt: skip
    found = shown(site, concurrency, limits, small, large, least)
    first, second = (one.verdict for one in found)
    measured = say(
        "{small} %: {first} ({one}); {large} %: {second} ({two})",
        small=f"{small:g}", first=first.outcome.value, one=first.measured,
        large=f"{large:g}", second=second.outcome.value, two=second.measured,
    )  # fmt: skip
    if all(one.verdict.outcome is one.wanted for one in found):
        return Verdict.of(True, measured, required)
    note = next((one.verdict.note for one in found if one.verdict.note is not None), None)
    why = say("the judgement cannot tell them apart with these limits: {why}", why=note or say("look at both"))
    return Verdict.undecided(why, required, measured)


def backed(verdict: Verdict, shown: Verdict) -> Verdict:
    """The verdict on measured rounds, if the same judgement was shown to see; else it could not be told."""
    if shown.outcome is not Outcome.PASS:
        return Verdict.undecided(
            shown.note or say("the judgement was not shown to see"), verdict.required, verdict.measured
        )
    if verdict.outcome is Outcome.UNDECIDED:
        return verdict
    proof = say("the same judgement on made-up rounds: {shown}", shown=shown.measured)
    return verdict.with_note(proof if verdict.note is None else say("{first}; {rest}", first=verdict.note, rest=proof))


def _judged(site: Site, concurrency: int, limits: Limits, percent: float, least: float) -> Verdict:
    rng = np.random.default_rng([site.seed, concurrency, round(percent * 1000)])
    made = tuple(
        Pair(
            number,
            _cell(site, concurrency, limits, rng, 1.0),
            _cell(site, concurrency, limits, rng, 1 - percent / 100),
        )
        for number in range(1, site.rounds + 1)
    )
    return ttft_drop(made, limits.rules, least)


def _cell(site: Site, concurrency: int, limits: Limits, rng: np.random.Generator, factor: float) -> Cell:
    """One arm of one round: every slot of the client asks one prompt after another."""
    count = site.prompts(concurrency)
    whole = _TTFT * factor * rng.lognormal(0.0, _ROUNDS)
    ttfts = whole * rng.lognormal(0.0, _SPREAD, count)
    free = np.zeros(concurrency)
    requests = []
    for index in range(count):
        slot = int(free.argmin())
        sent = float(free[slot]) + 0.0001
        first = sent + float(ttfts[index])
        last = first + _DECODE * factor
        free[slot] = last
        requests.append(
            Request(
                index,
                Status.COMPLETED,
                sent,
                first,
                last,
                first - sent,
                last - sent,
                site.prompt_tokens,
                site.output_tokens,
            )
        )
    run = Run("made up", Clock.MONOTONIC, Clock.MONOTONIC, concurrency, count, tuple(requests), None)
    return cell(run, limits.planned(site, concurrency))
