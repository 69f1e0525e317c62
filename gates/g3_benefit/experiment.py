"""The paired rounds that G3's clauses share, and what they are held to: by their own terms, and by what G2 measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from checks.phrase import say
from checks.serving import judging, sensitivity, standing, trials
from checks.serving.limits import Limits, limits
from checks.serving.rounds import Round
from checks.serving.site import Site
from checks.trial import Trial
from checks.verdict import Verdict
from kvgate.inventory.experiment import site

#: Clauses of G2 that read from a mount: sequentially, and KV chunks at several depths.
_READS = ("G2.1.2", "G2.1.4", "G2.1.5", "G2.1.6")


def cells(concurrency, terms, baseline, proof=None) -> tuple[Site, Limits, Trial[Round]]:
    """The paired rounds at one concurrency, a thing of the inventory, and what they are held to by a clause's terms."""
    where = site(concurrency.rack, concurrency.shape)
    held = limits(terms, where, _measured(concurrency.rack, where, baseline, 1 + terms["beyond"] / 100))
    return where, held, trials.paired(where, concurrency.level, partial(judging.enough, site=where, limits=held), proof)


def _measured(rack, where, baseline, beyond):
    """Rates that G2 measured below each arm and between its host and the array: nothing can have been read faster."""
    found = []
    for side in (where.local, where.array):
        reads = standing.fastest((baseline(one, f"{side.host}:{side.mount}") for one in _READS), "bytes per second")
        name = say("the fastest read that G2 measured on {mount}", mount=side.mount)
        found.append((side.role, name, None if reads is None else reads * beyond))
    ports = [nic.name for nic in rack.hosts[where.array.host].nics if nic.role == "storage"]
    told = [standing.fastest([baseline("G2.2.2", f"{where.array.host}:{port}")], "bits per second") for port in ports]
    bits = [one for one in told if one is not None]
    if bits and len(bits) == len(told):  # an array that lets nobody measure has its ports' rate all the same
        found.append((where.array.role, say("the link as G2 measured it"), sum(bits) / 8 * beyond))
    return tuple(found)


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
