"""The serving baseline of one arm on one node alone: the same cell as in the paired experiment, in rounds of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.phrase import say
from checks.serving import around, rounds
from checks.serving.around import Around
from checks.serving.figures import Figures, figures
from checks.serving.procedure import Asked, Stages, cell, ended
from checks.serving.rounds import ArmRound
from checks.serving.site import Side, Site
from checks.statistics.staying import FEWEST, Course, settled
from checks.statistics.steadiness import level
from checks.trial import ONE_VOID_IN, Trial

#: Seconds that one prompt is planned to take on the whole. For progress only.
_EACH = 4.0


@dataclass(frozen=True, slots=True)
class Alone:
    """One round of one arm by itself, and what was looked at around its window."""

    number: int
    concurrency: int
    arm: ArmRound
    around: Around


@dataclass(frozen=True, slots=True)
class ReadAlone:
    """Reads one round. Raises UnreadableOutput, and Voided for a round that something outside the arm broke."""

    site: Site
    side: Side
    concurrency: int

    def __call__(self, facts: Mapping[str, Any]) -> Alone:
        """Read it."""
        looked = around.read(facts, self.side)
        site, side = self.site, self.side
        found = rounds.arm(facts, site, side, self.concurrency) if side.store else rounds.anew(facts, site, side)
        return Alone(rounds.number_of(found.client.prompt_set), self.concurrency, found, looked)


def alone(
    site: Site,
    side: Side,
    concurrency: int,
    count: int,
    drift: float,
    one_void_in: int = ONE_VOID_IN,
    *,
    sure: float = 0.0,
    at_most: int = 0,
) -> Trial[Alone]:
    """``count`` rounds of one arm at one concurrency, each with new prompts that no other trial asks.

    Up to ``at_most`` (else twice as many) are made until it is shown with ``sure`` percent of certainty that none gives ``drift``
    percent more or less than the one before, or that they do; 0: while each is slower (or faster) than the one before.
    Of all of them one in ``one_void_in`` may be void.
    """

    def enough(rounds: Sequence[Alone]) -> bool:
        told = [found for one in rounds if (found := _figures(one)) is not None]
        if len(told) < len(rounds):
            return True  # a round that is no number makes the arm no baseline, however many follow it
        both = ([one.ttft_p50 for one in told], [one.throughput for one in told])
        if not sure:
            return all(level(values, drift) for values in both)
        try:
            courses = {settled(values, drift, sure) for values in both}
        except ValueError:
            return len(told) >= FEWEST  # two have no slope; what has none then has none after more of them
        return Course.GOES in courses or courses == {Course.STAYS}

    def stages(number: int) -> Stages:
        prompts = f"{site.shape}/c{concurrency}/baseline/{side.role}/r{number}"
        asked = Asked(prompts, site.prompts(concurrency), concurrency, site.prompt_tokens, site.output_tokens)
        return (*cell(site, side, asked), *ended(site, side))

    return Trial(
        id=f"serving.alone:{site.shape}:{side.role}:c{concurrency}",
        title=say(
            "{shape}, concurrency {level}: the {role} arm by itself",
            shape=site.shape, level=concurrency, role=side.role,
        ),
        stages=stages(1),
        varied=stages,
        read=ReadAlone(site, side, concurrency),
        rounds=count,
        at_most=at_most or 2 * count,
        enough=enough,
        again=True,
        one_void_in=one_void_in,
        seconds=site.prompts(concurrency) * _EACH,
        group=f"G2.{site.shape}",
        seed=site.seed,
    )  # fmt: skip


def _figures(one: Alone) -> Figures | None:
    try:
        return figures(one.arm.run, one.concurrency)
    except ValueError:
        return None
