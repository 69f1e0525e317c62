"""One round of the paired experiment read to facts: what each arm did, with everything that proves it, before any judgement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from checks.parsers.findmnt import Mounted
from checks.parsers.kvgate_client import ClientRun
from checks.phrase import Phrase
from checks.probe import UnreadableOutput
from checks.serving import around
from checks.serving.around import Around
from checks.serving.driven import Driven, run_of
from checks.serving.kv import Layout, NoOneNumber
from checks.serving.probes import Count
from checks.serving.procedure import bytes_of
from checks.serving.readback import Settings, compared, ordered
from checks.serving.reconciliation import Expected, Traffic
from checks.serving.records import Run
from checks.serving.site import Kept, Side, Site, kept
from checks.serving.snapshot import Window, interrupted, silent, traffic


@dataclass(frozen=True, slots=True)
class ArmRound:
    """One arm in one round. ``settings`` of every engine by name; ``disordered`` is what was read back against the order.

    ``stored`` is what lay in the store after populating, ``due`` what had to; both None for an arm that keeps no KV, as is
    ``expected``. ``prompt_tokens`` is the length of a prompt; ``looked`` how hot it was around the window.
    """

    side: Side
    client: ClientRun | Driven
    run: Run
    settings: tuple[Mapping[str, str | None], ...]
    disordered: tuple[Phrase, ...]
    silent: tuple[Phrase, ...]
    traffic: Traffic | None = None
    expected: Expected | None = None
    stored: Count | None = None
    due: Kept | None = None
    prompt_tokens: int = 0
    looked: Around | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """Both arms of one round at one concurrency."""

    number: int
    concurrency: int
    local: ArmRound
    array: ArmRound


def number_of(prompts: str) -> int:
    """Number of the round that a prompt set was made for. Raises UnreadableOutput for another's."""
    tail = prompts.rpartition("/r")[2]
    if not tail.isdigit():
        raise UnreadableOutput(f"prompts {prompts!r} belong to no round")
    return int(tail)


@dataclass(frozen=True, slots=True)
class ReadBoth:
    """Reads a whole round. Raises UnreadableOutput, and Voided for a round that something outside both arms broke."""

    site: Site
    concurrency: int

    def __call__(self, facts: Mapping[str, Any]) -> Round:
        """Read it: first whether the round counts at all, then what it gave."""
        sides = (self.site.local, self.site.array)
        looked = [around.cool(facts, side) for side in sides]
        local, array = (
            replace(arm(facts, self.site, side, self.concurrency), looked=one)
            for side, one in zip(sides, looked, strict=True)
        )
        if local.client.prompts != array.client.prompts:
            raise UnreadableOutput("the arms were asked different prompts")
        return Round(number_of(local.client.prompt_set), self.concurrency, local, array)


@dataclass(frozen=True, slots=True)
class ReadAnew:
    """Reads a round of the arm that keeps nothing. Raises as :class:`ReadBoth`."""

    site: Site
    side: Side

    def __call__(self, facts: Mapping[str, Any]) -> ArmRound:
        """Read it."""
        looked = around.cool(facts, self.side)
        return replace(anew(facts, self.site, self.side), looked=looked)


def anew(facts: Mapping[str, Any], site: Site, side: Side) -> ArmRound:
    """Read the arm that keeps nothing: its tokens are counted, no bytes are expected."""
    window = Window(facts[f"{side.role}: before"], facts[f"{side.role}: after"], None, None)
    interrupted(window)
    found = _arm(facts, site, side, silent(window))
    counted = traffic(window, side, site, None, found.client.seconds)
    return replace(found, traffic=counted, prompt_tokens=site.prompt_tokens)


def arm(facts: Mapping[str, Any], site: Site, side: Side, concurrency: int) -> ArmRound:
    """Read one arm that keeps KV."""
    name = side.role
    window = window_of(facts, site, side, name)
    interrupted(window)
    client: ClientRun | Driven = facts[f"{name}: measure"]
    try:
        layout = bytes_of(site, facts[f"{name}: room"].config)
    except NoOneNumber as error:
        raise UnreadableOutput(str(error)) from None
    prompts = site.prompts(concurrency)
    found = _arm(facts, site, side, silent(window))
    return ArmRound(
        side=side,
        client=client,
        run=found.run,
        settings=found.settings,
        disordered=found.disordered,
        silent=found.silent,
        traffic=traffic(window, side, site, layout, client.seconds),
        expected=expectation(site, side, layout, prompts, site.prompt_tokens),
        stored=facts[f"{name}: kept"],
        due=kept(site, layout, prompts),
    )


def _arm(facts: Mapping[str, Any], site: Site, side: Side, quiet_pages: tuple[Phrase, ...]) -> ArmRound:
    client: ClientRun | Driven = facts[f"{side.role}: measure"]
    told: list[Settings] = [facts[f"{side.role}: settings {number}"] for number, _ in enumerate(side.servers, 1)]
    settings = tuple(compared(one, site) for one in told)
    wrong = tuple(dict.fromkeys(reason for one in settings for reason in ordered(one, site))) if side.store else ()
    return ArmRound(side, client, run_of(client), settings, wrong, quiet_pages)


def expectation(site: Site, side: Side, layout: Layout, prompts: int, tokens: int) -> Expected:
    """What so many prompts must have made the arm read."""
    return Expected(
        prompts=prompts,
        tokens=tokens,
        chunk=site.chunk,
        kv=layout,
        over_rdma=side.over_rdma,
        ceilings=dict(side.ceilings),
        chunk_header=site.header,
    )


def window_of(facts: Mapping[str, Any], site: Site, side: Side, name: str) -> Window:
    """Both snapshots with the devices of this arm and of the other one on the same host."""
    mounts: tuple[Mounted, ...] = facts[f"{name}: mounts"]
    device = _device(mounts, side.mount)
    if device is None:
        raise UnreadableOutput(f"nothing is mounted at {side.mount}")
    others = [_device(mounts, one.mount) for one in site.sides if one.mount and one.mount != side.mount]
    other = next((one for one in others if one is not None and one != device), None)
    return Window(facts[f"{name}: before"], facts[f"{name}: after"], device, other)


def _device(mounts: tuple[Mounted, ...], path: str) -> str | None:
    here = [one.source for one in mounts if one.target == path]
    return here[0].removeprefix("/dev/") if len(here) == 1 else None
