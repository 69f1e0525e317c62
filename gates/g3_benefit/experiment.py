"""The paired rounds that G3's clauses share, and what they are held to: by their own terms, and by what G2 measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from checks.block.memory import if_told
from checks.serving import judging, sensitivity, trials
from checks.serving.limits import Limits, limits
from checks.serving.rounds import Round
from checks.serving.site import Site
from checks.trial import Trial
from checks.verdict import Verdict
from kvgate.gate.ceilings import ceilings
from kvgate.inventory.experiment import site


def cells(concurrency, terms, baseline, proof=None) -> tuple[Site, Limits, Trial[Round]]:
    """The paired rounds at one concurrency, a thing of the inventory, and what they are held to by a clause's terms."""
    where = site(concurrency.rack, concurrency.shape)
    held = limits(terms, where, ceilings(where, baseline, terms["beyond"]))
    enough = partial(judging.enough, site=where, limits=held)
    return where, held, trials.paired(where, concurrency.level, enough, proof, held.rules.one_void_in)


def from_the_array(thing, verdict) -> Verdict:
    """A verdict on what an array gave: its rounds exceed the array's memory (else they are void), where somebody tells of it."""
    shape = thing.ordered.shape
    return if_told(verdict, site(thing.rack, shape).memory)


def seen(concurrency, terms) -> Callable[[], Verdict]:
    """What shows, before the first round, that a drop that is too small would be stopped and a large one would pass."""
    where = site(concurrency.rack, concurrency.shape)
    return cache(
        partial(
            sensitivity.sees,
            where,
            concurrency.level,
            limits(terms, where),
            terms["small"],
            terms["large"],
            terms["least"],
        )
    )
