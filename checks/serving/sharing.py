"""Several instances on one store: one reads what another stored, and many reading at once share the array fairly."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from checks.phrase import Phrase, say
from checks.serving.kv import Layout
from checks.statistics.percentile import median
from checks.units import show_bytes, show_rate
from checks.verdict import Quantity, Verdict, number


def reads_the_others(
    stored: int | None,
    own_before: int | None,
    hits: int | None,
    read: int | None,
    kv: Layout,
    least: float,
    more: float,
) -> Verdict:
    """An instance reads KV that another stored: tokens hit, and as many bytes read from the array.

    ``stored``: tokens the other stored of these prompts; ``own_before``: tokens this one had stored itself before (must be
    none); ``hits``: tokens it then took from the store; ``read``: bytes read on its block device. ``least`` and ``more`` in
    percent: at least so many of the tokens, and bytes within -1 % and +``more`` % of what the hits come to.
    """
    required = say("at least {least} percent of the other's tokens, and their bytes", least=f"{least:g}")
    if stored is None or own_before is None or hits is None or read is None:
        return Verdict.undecided(say("stored, own and hit tokens and bytes read must all be told"), required)
    if stored <= 0:
        return Verdict.undecided(say("the first instance stored nothing: there was nothing to share"), required)
    measured = say(
        "{hits} of {stored} tokens, {read} read", hits=f"{hits:,}", stored=f"{stored:,}", read=show_bytes(read)
    )
    if own_before > 0:
        why = say(
            "the reading instance had stored {count} tokens itself: it may have read its own", count=f"{own_before:,}"
        )
        return Verdict.undecided(why, required, measured)
    if hits > stored:
        return Verdict.undecided(say("more tokens were hit than stored"), required, measured)
    quantities = (Quantity("hit tokens", hits, ""), Quantity("bytes read", read, "B"))
    if hits < stored * least / 100:
        return Verdict.of(False, measured, required, quantities=quantities)
    expected = hits * kv.token_bytes
    if not expected * 0.99 <= read <= expected * (1 + more / 100):
        why = say("hits come to {expected}: the bytes did not come from the array", expected=show_bytes(expected))
        return Verdict.undecided(why, required, measured)
    return Verdict.of(True, measured, required, quantities=quantities)


def fair_share(rates: Mapping[str, float | None], nodes: Collection[str], least: float) -> Verdict:
    """All ``nodes`` reading at once: none gets less than ``least`` percent of an even share. Rates in bytes a second."""
    required = say("every node at least {least} percent of an even share", least=f"{least:g}")
    told, why = _of_all(rates, nodes)
    if why is not None:
        return Verdict.undecided(why, required)
    even = sum(told.values()) / len(told)
    slowest = min(told, key=lambda node: told[node])
    share = told[slowest] / even * 100
    measured = say(
        "{node} gets {share:.1f} percent of an even share ({rate} of {total})",
        node=slowest, share=share, rate=show_rate(told[slowest] * 8), total=show_rate(sum(told.values()) * 8),
    )  # fmt: skip
    return Verdict.of(round(share, 9) >= least, measured, required, "%", quantities=(Quantity("share", share, "%"),))


def alike_ttft(ttfts: Mapping[str, float | None], nodes: Collection[str], most: float) -> Verdict:
    """All ``nodes`` loaded at once: no node's TTFT p50 exceeds ``most`` times the median of the nodes'. Seconds."""
    required = say("no node above {most} times the median node", most=f"{most:g}")
    told, why = _of_all(ttfts, nodes)
    if why is not None:
        return Verdict.undecided(why, required)
    middle = median(list(told.values()))
    slowest = max(told, key=lambda node: told[node])
    times = told[slowest] / middle
    measured = say(
        "{node} {times:.2f} times the median ({ttft:.3g} s of {middle:.3g} s)",
        node=slowest, times=times, ttft=told[slowest], middle=middle,
    )  # fmt: skip
    return Verdict.of(
        round(times, 9) <= most, measured, required, quantities=(Quantity("times the median", times, ""),)
    )


def no_later(ttfts: Mapping[str, float | None], nodes: Collection[str], local: float | None, most: float) -> Verdict:
    """All ``nodes`` loaded at once: no node's TTFT p50 exceeds ``most`` percent of ``local``, what a node's own disk gives. Seconds."""
    required = say("on every node at most {most} percent of what a node's own disk gives", most=f"{most:g}")
    told, why = _of_all(ttfts, nodes)
    if why is not None:
        return Verdict.undecided(why, required)
    disk = number(local)
    if disk is None or disk <= 0:
        return Verdict.undecided(say("G2 has no TTFT p50 of the local arm at this concurrency: run G2 again"), required)
    slowest = max(told, key=lambda node: told[node])
    percent = told[slowest] / disk * 100
    measured = say(
        "{node} {percent:.1f} percent ({ttft:.3g} s; its own disk {disk:.3g} s)",
        node=slowest, percent=percent, ttft=told[slowest], disk=disk,
    )  # fmt: skip
    return Verdict.of(
        round(percent, 9) <= most, measured, required, "%", quantities=(Quantity("of the local arm", percent, "%"),)
    )


def _of_all(values: Mapping[str, float | None], nodes: Collection[str]) -> tuple[dict[str, float], Phrase | None]:
    """The numbers of exactly these nodes, or why they are not there."""
    if len(set(nodes)) < 2:
        return {}, say("fewer than two nodes share nothing")
    found = {node: number(values.get(node)) for node in sorted(set(nodes))}
    if absent := [node for node, value in found.items() if value is None or value <= 0]:
        return {}, say("{nodes} was not measured", nodes=", ".join(absent))
    return {node: value for node, value in found.items() if value is not None}, None
