"""What is looked at before and after a measured window: how hot disk and accelerators are, and who slowed down.

For a baseline it explains rounds that differ; a paired round in which anything slowed itself down for heat is taken out, before
anybody has looked at what it measured. What cannot be read is None and breaks no round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from checks.accelerator.facts import Cards
from checks.accelerator.probes import PLATFORMS
from checks.nvme import probes as nvme
from checks.nvme.health import Health
from checks.phrase import Phrase, say
from checks.probe import Probe, UnreadableOutput
from checks.serving.site import Side
from checks.trial import Step, Voided

Fact = TypeVar("Fact")
Stages = tuple[tuple[Step, ...], ...]

#: Degrees between the coolest and the hottest look that are worth a word.
_WARMER = 5

#: Bit of the critical warning by which a disk says that it is outside its temperatures.
_TOO_HOT = 0b10


@dataclass(frozen=True, slots=True)
class Lenient(Generic[Fact]):
    """A parser whose refusal is None."""

    parse: Callable[[str], Fact]

    def __call__(self, text: str) -> Fact | None:
        """Read the text."""
        try:
            return self.parse(text)
        except UnreadableOutput:
            return None


@dataclass(frozen=True, slots=True)
class Around:
    """Disk and accelerators before and after one window; None: not there, or not told."""

    disk: tuple[Health | None, Health | None]
    cards: tuple[Cards | None, Cards | None]


def looks(side: Side, moment: str) -> Stages:
    """The questions of one moment, ``before`` or ``after``."""
    steps = []
    if side.serial:
        steps.append(Step(f"{side.role}: disk {moment}", side.host, _lenient(nvme.smart_log(side.serial))))
    if side.platform in PLATFORMS and (asked := PLATFORMS[side.platform].temperature.probes):
        steps.append(Step(f"{side.role}: cards {moment}", side.host, _lenient(asked[0])))
    return (tuple(steps),) if steps else ()


def _lenient(probe: Probe[Fact]) -> Probe[Fact | None]:
    any_fact: Probe[Any] = probe
    return replace(any_fact, parse=Lenient(probe.parse), accepted=frozenset(range(256)))


def read(facts: Mapping[str, Any], side: Side) -> Around:
    """Read both moments. Raises Voided for a disk that says itself that it was too hot."""
    disk = facts.get(f"{side.role}: disk before"), facts.get(f"{side.role}: disk after")
    for health in disk:
        if health is not None and health.critical_warning & _TOO_HOT:
            raise Voided(say("the disk reported that it was too hot ({celsius} C)", celsius=health.celsius or 0))
    return Around(disk, (facts.get(f"{side.role}: cards before"), facts.get(f"{side.role}: cards after")))


def cool(facts: Mapping[str, Any], side: Side) -> Around:
    """Read both moments of a window that counts only if heat slowed nothing in it. Raises Voided."""
    looked = read(facts, side)
    if slower := _disk_slowed(looked):
        raise Voided(
            say(
                "the local disk slowed down for heat while the {role} arm was measured ({what})",
                role=side.role,
                what=slower,
            )
        )
    if _slowed(looked):
        raise Voided(say("heat slowed accelerators down while the {role} arm was measured", role=side.role))
    return looked


def _disk_slowed(one: Around) -> str:
    """Counters of heat that rose between the two looks, with by how much."""
    before, after = one.disk
    if before is None or after is None:
        return ""
    first = dict(before.heat)
    return ", ".join(f"{name} +{value - first[name]}" for name, value in after.heat if value > first.get(name, value))


def degrees(looked: Around) -> tuple[tuple[int | None, int | None], tuple[float | None, float | None]]:
    """Degrees before and after: of the disk, and of the hottest accelerator."""
    disk = [None if one is None else one.celsius for one in looked.disk]
    heat = [None if one is None else max(hottest(one), default=None) for one in looked.cards]
    return (disk[0], disk[1]), (heat[0], heat[1])


def causes(looked: Sequence[Around]) -> list[Phrase]:
    """What was seen beside the rounds that may explain why they differ."""
    found = []
    disks = [
        health.celsius for one in looked for health in one.disk if health is not None and health.celsius is not None
    ]
    if disks and max(disks) - min(disks) >= _WARMER:
        found.append(say("the disk went from {low} to {high} C", low=min(disks), high=max(disks)))
    if lost := [one for one in looked if _more_errors(one)]:
        found.append(say("the disk counted new media errors in {count} rounds", count=len(lost)))
    heat = [max(told) for one in looked for cards in one.cards if cards is not None and (told := hottest(cards))]
    if heat and max(heat) - min(heat) >= _WARMER:
        found.append(say("the hottest accelerator went from {low:.0f} to {high:.0f} C", low=min(heat), high=max(heat)))
    if slowed := [one for one in looked if _slowed(one)]:
        found.append(say("accelerators were slowed by heat in {count} rounds", count=len(slowed)))
    return found


def _more_errors(one: Around) -> bool:
    before, after = one.disk
    return before is not None and after is not None and after.media_errors > before.media_errors


def hottest(cards: Cards) -> list[float]:
    """What every sensor of every card told, in Celsius."""
    return [value for card in cards.cards for _, value in card.temperatures if value is not None]


def _slowed(one: Around) -> bool:
    before, after = one.cards
    if after is not None and any(card.slowed not in (None, "no") for card in after.cards):
        return True
    first = (
        {} if before is None else {(card.name, name): value for card in before.cards for name, value in card.thermal}
    )
    rows = [] if after is None else [(card.name, name, value) for card in after.cards for name, value in card.thermal]
    known = [(first.get((card, name)), value) for card, name, value in rows]
    return any(old is not None and value is not None and value > old for old, value in known)
