"""One instance reads what another stored: the steps around it, and what the counters of both say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.parsers.kvgate_client import ClientRun
from checks.phrase import Phrase, joined, say
from checks.probe import UnreadableOutput
from checks.serving import probes
from checks.serving.kv import Layout, NoOneNumber, stored_tokens
from checks.serving.procedure import Stages, bytes_of
from checks.serving.reconciliation import Traffic
from checks.serving.rounds import window_of
from checks.serving.sharing import reads_the_others
from checks.serving.site import Side, Site
from checks.serving.snapshot import Snapshot, Window, interrupted, silent, traffic
from checks.serving.snapshot import snapshot as snapshot_of
from checks.trial import Step
from checks.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Shared:
    """What the first instance stored, what the second had asked for before (tokens), and what it took then."""

    stored: int | None
    own_before: int | None
    traffic: Traffic
    layout: Layout
    failed: int
    silent: tuple[Phrase, ...]


def before(side: Side, name: str) -> Stages:
    """All pages before anything is asked: the second instance must not have computed a token of its own."""
    return ((Step(name, side.host, snapshot_of(side.servers)),),)


def between(side: Side) -> Stages:
    """What was written lies in the page cache: read back from there it would prove nothing."""
    return ((Step("shared: drop caches", side.host, probes.dropped()),),)


def read(facts: Mapping[str, Any], site: Site) -> Shared:
    """Read the trial. Raises UnreadableOutput and Voided."""
    side = site.array
    other = Side(side.name, side.role, side.host, side.servers[1:2], side.mount, side.filesystem, side.store)
    window = window_of(facts, site, other, "shared")
    interrupted(window)
    try:
        layout = bytes_of(site, facts["shared: room"].config)
    except NoOneNumber as error:
        raise UnreadableOutput(str(error)) from None
    run: ClientRun = facts["shared: measure"]
    asked: Snapshot = facts["other before"]
    earlier = traffic(Window(asked, window.before, window.device, window.other), other, site, layout, None)
    filled: ClientRun = facts["shared: populate"]
    whole = filled.count * stored_tokens(site.prompt_tokens, site.chunk)
    size = facts["shared: kept"].size
    return Shared(
        stored=whole if size >= whole * layout.token_bytes else size // layout.token_bytes,
        own_before=earlier.prompt,
        traffic=traffic(window, other, site, layout, run.seconds),
        layout=layout,
        failed=sum(one.status != "completed" for one in run.requests),
        silent=silent(window),
    )


def reads(found: Shared, least: float, more: float) -> Verdict:
    """The second instance took the first one's tokens, and as many bytes from the array's device."""
    if found.silent or found.failed:
        reasons = list(found.silent)
        if found.failed:
            reasons.append(say("{count} requests were not answered", count=found.failed))
        return Verdict.undecided(
            joined(reasons), say("at least {least} percent of the other's tokens", least=f"{least:g}")
        )
    return reads_the_others(
        found.stored, found.own_before, found.traffic.store, found.traffic.block, found.layout, least, more
    )
