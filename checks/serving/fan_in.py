"""All nodes read the array at once: the steps of such a round, what each node gave, and what it got while all of them were reading.

Every node asks its own engine, by kvgate's own client on that node: a client that asked them in turn would wait for the slowest and
make all of them look alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput
from checks.serving import around
from checks.serving.cells import several
from checks.serving.comparable import beside, differences
from checks.serving.judging import as_arm, cell, voided
from checks.serving.limits import Limits
from checks.serving.procedure import Asked, Stages, ended, evicted, measured, placed, populated, quiet, told, up, warmed
from checks.serving.records import Run
from checks.serving.rounds import ArmRound, arm
from checks.serving.sharing import alike_ttft, fair_share, no_later
from checks.serving.site import Side, Site
from checks.serving.tools import OWN_CLIENT
from checks.statistics.percentile import median
from checks.trial import Measured
from checks.verdict import Outcome, Quantity, Verdict, worst


@dataclass(frozen=True, slots=True)
class Together:
    """One round at one concurrency a node. Each of ``nodes`` is read as an arm of its own; its side's role is the node's name."""

    concurrency: int
    nodes: tuple[ArmRound, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """What a fan-in is held to beside its cells. Percent; ``together`` is of the shortest run: so long all must have read at once."""

    cells: Limits
    together: float


def reading(site: Site) -> tuple[Side, ...]:
    """The arm on the array and every reader, each under the name of its node."""
    sides = (site.array, *(one for one in site.sides if one.role == "reader"))
    return tuple(replace(one, role=one.host) for one in sides)


def stages(site: Site, concurrency: int, number: int) -> Stages:
    """All stages of round ``number``: what one node does, all nodes do at the same time, each with prompts of its own."""
    sides = reading(site)
    before, window, after = zip(*(_of_node(site, side, concurrency, number) for side in sides), strict=True)
    return (*quiet(site, "fan-in"), *_abreast(before), *_abreast(window), *_abreast(after), *ended(site, *sides))


def _of_node(site: Site, side: Side, concurrency: int, number: int) -> tuple[Stages, Stages, Stages]:
    """What comes before the window of one node, the window, and what comes after."""
    name, count = side.host, site.prompts(concurrency)
    prompts = f"{site.shape}/fan-in/c{concurrency}/r{number}/{name}"
    asked = Asked(prompts, count, concurrency, site.prompt_tokens, site.output_tokens)
    here = replace(site, load_host=name, sides=(side,), busy=(), driver=OWN_CLIENT)
    array = replace(side, role="array")  # what holds for the array's own memory holds for every node's working set
    before = placed(here, array, count, name) + up(here, side, name) + populated(here, side, asked, name)
    before += evicted(here, side, name) + told(here, side, name) + warmed(here, side, asked, name)
    before += around.looks(side, "before")
    return before, measured(here, side, asked, name), around.looks(side, "after")


def _abreast(ways: Sequence[Stages]) -> Stages:
    """The first stages of all nodes as one, then the second ones, and so on."""
    return tuple(
        tuple(step for stage in stages for step in stage)
        for stages in zip_longest(*ways, fillvalue=())
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadAll:
    """Reads a whole round. Raises UnreadableOutput, and Voided for a round that something outside the array broke."""

    site: Site
    concurrency: int

    def __call__(self, facts: Mapping[str, Any]) -> Together:
        """Read it."""
        sides = reading(self.site)
        looked = [around.cool(facts, side) for side in sides]
        nodes = tuple(
            replace(arm(facts, self.site, side, self.concurrency), looked=one)
            for side, one in zip(sides, looked, strict=True)
        )
        if len({one.client.prompts for one in nodes}) != len(nodes):
            raise UnreadableOutput("two nodes were asked the same prompts: the array's memory may have answered")
        return Together(self.concurrency, nodes)


@dataclass(frozen=True, slots=True)
class Crowd:
    """What one round came to while all nodes read: bytes a second and TTFT p50 of each node, by its name."""

    rates: Mapping[str, float | None]
    ttfts: Mapping[str, float | None]


def crowd(found: Together, site: Site, limit: Limit) -> Crowd | Phrase:
    """What every node got while all of them were reading, or why that cannot be told."""
    for one in found.nodes:
        if faults := cell(one, site, found.concurrency, limit.cells).faults:
            return say("{node}: {why}", node=one.side.host, why=several(faults))
    if (unlike := _unlike(found, site)) is not None:
        return unlike
    spans = [_span(one.run) for one in found.nodes]
    low, high = max(start for start, _ in spans), min(end for _, end in spans)
    shortest = min(end - start for start, end in spans)
    if high - low < shortest * limit.together / 100:
        return say(
            "the nodes read at once for {seconds:.1f} s only, wanted {percent} percent of the shortest run of {shortest:.1f} s: they were "
            "started too far apart, or their clocks differ",
            seconds=max(0.0, high - low), percent=f"{limit.together:g}", shortest=shortest,
        )  # fmt: skip
    return Crowd(
        {one.side.host: _rate(one, low, high) for one in found.nodes},
        {one.side.host: _ttft(one.run, low, high) for one in found.nodes},
    )


def _unlike(found: Together, site: Site) -> Phrase | None:
    """The first setting in which a node's engines are not those of the first node: another engine gets another share."""
    first = found.nodes[0]
    for one in found.nodes[1:]:
        for mine, theirs in zip(first.settings, one.settings, strict=True):
            pair = as_arm(site, first, mine), as_arm(site, one, theirs)
            for unlike in differences(*pair, site.may_differ)[:1]:
                local, array = beside(unlike)
                return say(
                    "the engines are not alike, {setting}: {first} {local}, {node} {array}",
                    setting=unlike.setting, first=first.side.host, local=local, node=one.side.host, array=array,
                )  # fmt: skip
    return None


def _offset(run: Run) -> float:
    """Seconds of the wall clock at which the times of a run begin. Its cell was valid: both ends are told."""
    return run.ends[0].wall if run.ends is not None else 0.0


def _span(run: Run) -> tuple[float, float]:
    """Wall clock of the first request sent and of the last token."""
    sent = [one.sent for one in run.requests if one.sent is not None]
    last = [one.last for one in run.requests if one.last is not None]
    return _offset(run) + min(sent), _offset(run) + max(last)


def _rate(found: ArmRound, low: float, high: float) -> float | None:
    """Bytes a second that came back between two moments: what a request restored counts for the share of its wait that lies there."""
    if found.due is None:
        return None
    offset = _offset(found.run)
    waits = [
        (one.sent + offset, one.first + offset)
        for one in found.run.requests
        if one.sent is not None and one.first is not None
    ]
    each = found.due.size / len(found.run.requests)
    inside = sum(max(0.0, min(end, high) - max(start, low)) / (end - start) for start, end in waits if end > start)
    return inside * each / (high - low)


def _ttft(run: Run, low: float, high: float) -> float | None:
    """Median TTFT of the requests that waited while all nodes read, for some of their wait at least."""
    offset = _offset(run)
    found = [
        one.ttft
        for one in run.requests
        if one.sent is not None
        and one.first is not None
        and one.ttft is not None
        and one.sent + offset < high
        and one.first + offset > low
    ]
    return median(found) if found else None


def fair(measured: Measured[Together], site: Site, limit: Limit, least: float) -> Verdict:
    """In every round no node gets less than ``least`` percent of an even share of what all read together."""
    required = say("every node at least {least} percent of an even share", least=f"{least:g}")
    told = _told(measured, site, limit)
    if isinstance(told, Phrase):
        return Verdict.undecided(told, required)
    verdicts = [fair_share(one.rates, list(one.rates), least) for one in told]
    lowest = (
        min(verdicts, key=_share) if all(one.outcome is not Outcome.UNDECIDED for one in verdicts) else worst(verdicts)
    )
    rates = told[verdicts.index(lowest)].rates
    each = tuple(Quantity(f"rate of {node}", rate, "B/s") for node, rate in rates.items() if rate is not None)
    return replace(lowest, quantities=(*lowest.quantities, *each))


def _share(verdict: Verdict) -> float:
    return verdict.quantities[0].value


def soon(
    measured: Measured[Together], local: float | None, site: Site, limit: Limit, most: float, alike: float
) -> Verdict:
    """In every round the first token comes on every node no later than ``most`` percent of ``local``, the TTFT p50 that the local
    arm gave by itself (seconds; None: not told), and on none later than ``alike`` times the median node."""
    required = no_later({}, (), local, most).required
    told = _told(measured, site, limit)
    if isinstance(told, Phrase):
        return Verdict.undecided(told, required)
    found = [
        (verdict, one.ttfts)
        for one in told
        for verdict in (
            no_later(one.ttfts, list(one.ttfts), local, most),
            alike_ttft(one.ttfts, list(one.ttfts), alike),
        )
    ]
    lowest = worst([verdict for verdict, _ in found])
    ttfts = next(ttfts for verdict, ttfts in found if verdict is lowest)  # of the round that decides
    each = tuple(Quantity(f"TTFT p50 of {node}", ttft, "s") for node, ttft in ttfts.items() if ttft is not None)
    return replace(lowest, quantities=(*lowest.quantities, *each))


def _told(measured: Measured[Together], site: Site, limit: Limit) -> list[Crowd] | Phrase:
    """Every round's, or why they may not decide."""
    if reasons := voided(measured, limit.cells):
        return several(reasons)
    wanted = limit.cells.rules.rounds
    if len(measured.facts) < wanted:
        return say("{count} rounds, wanted at least {wanted}", count=len(measured.facts), wanted=wanted)
    told = []
    for number, one in enumerate(measured.facts, 1):
        found = crowd(one, site, limit)
        if isinstance(found, Phrase):
            return say("round {round}, {why}", round=number, why=found)
        told.append(found)
    return told
