"""Canaries read to answers: what each prompt was answered four times, and whether the last answer came from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.parsers.kvgate_client import ClientRun
from checks.probe import UnreadableOutput
from checks.serving import probes
from checks.serving.answers import Canary
from checks.serving.kv import NoOneNumber, stored_tokens
from checks.serving.procedure import Stages, bytes_of
from checks.serving.reconciliation import Traffic
from checks.serving.rounds import window_of
from checks.serving.site import Side, Site
from checks.serving.snapshot import interrupted, traffic
from checks.trial import Step

TURNS = ("computed", "computed again", "stored", "restored")


@dataclass(frozen=True, slots=True)
class Answers:
    """All canaries of one arm."""

    canaries: tuple[Canary, ...]


def drained(side: Side) -> Stages:
    """Wait until the canaries lie in the store."""
    return ((Step("stored: kept", side.host, probes.count(side.store, 300.0)),),)


def read(facts: Mapping[str, Any], site: Site, side: Side, tokens: int) -> Answers:
    """Read all turns. Raises UnreadableOutput for turns that asked different prompts, and Voided."""
    runs: dict[str, ClientRun] = {turn: facts[f"{turn}: canaries"] for turn in TURNS}
    if len({run.prompts for run in runs.values()}) != 1:
        raise UnreadableOutput("the turns asked different prompts")
    mounted = {**facts, "restored: mounts": facts["stored: mounts"]}
    window = window_of(mounted, site, side, "restored")
    interrupted(window)
    try:
        layout = bytes_of(site, facts["stored: room"].config)
    except NoOneNumber as error:
        raise UnreadableOutput(str(error)) from None
    seen = traffic(window, side, site, layout, runs["restored"].seconds)
    answers = {
        turn: [one.output if one.status == "completed" else None for one in run.requests] for turn, run in runs.items()
    }
    hits = _hits(runs["restored"], seen, stored_tokens(tokens, site.chunk))
    made = zip(*(answers[turn] for turn in TURNS), hits, strict=True)
    return Answers(tuple(Canary(f"canary {number}", *one) for number, one in enumerate(made, 1)))


def _hits(run: ClientRun, seen: Traffic, each: int) -> list[int | None]:
    """Tokens that each answer took from the store.

    What the server tells of a request counts; where it tells nothing, all canaries together must have hit so many tokens that
    none can have missed. Either way the engine's own prefix cache must have given nothing.
    """
    if seen.device != 0 or seen.store is None:
        return [None] * run.count
    if all(one.cached is not None for one in run.requests):
        return [one.cached for one in run.requests]
    none_missed = seen.store > each * (run.count - 1)
    return [seen.store // run.count if none_missed else None] * run.count
