"""What stood around some rounds, in words: what went wrong, and what may have slowed one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from checks.around.facts import Around, Hosts
from checks.phrase import Phrase, joined, listed, say

#: Share by which the mean clock of a round may stay below the fastest round's before it is worth a word.
_SLOWER = 0.05

#: Degrees between the coolest and the hottest look that are worth a word.
_WARMER = 5

#: Percentage points by which rounds may differ in how busy the processors were before it is worth a word.
_BUSIER = 15


def seen(rounds: Sequence[Hosts]) -> list[Phrase]:
    """Say what went wrong around some rounds, whatever they measured: throttling, links that went away or lost something."""
    return [
        say("{host}: {what}", host=host, what=what) for host in _hosts(rounds) for what in _wrong(_of(rounds, host))
    ]


def causes(rounds: Sequence[Hosts]) -> list[Phrase]:
    """Say what was seen around some rounds that may have slowed one of them."""
    return [
        say("{host}: {what}", host=host, what=what)
        for host in _hosts(rounds)
        for what in chain(_differ(_of(rounds, host)), _wrong(_of(rounds, host)))
    ]


def cause(rounds: Sequence[Hosts], more: Sequence[Phrase] = ()) -> Phrase:
    """Say why rounds may differ: ``more`` that was seen, and what stood around them; else that nothing was seen, and of what."""
    if found := [*more, *causes(rounds)]:
        return joined(found)
    around = [one for hosts in rounds for one in hosts.values()]
    looked: dict[Phrase, list[object]] = {
        say("clocks"): [one.megahertz for one in around], say("throttling"): [one.throttled for one in around],
        say("links"): [one.after.links for one in around], say("other work"): [one.busy for one in around],
        say("heat of disks"): [one.after.celsius for one in around],
    }  # fmt: skip
    shown = [what for what, told in looked.items() if told and all(one is not None for one in told)]
    hidden = [what for what in looked if what not in shown]
    parts = [say("nothing was seen that explains it")]
    if shown:
        parts.append(say("looked at: {what}", what=listed(shown)))
    if hidden:
        parts.append(say("not shown here: {what}", what=listed(hidden)))
    return joined([*parts, say("look at the disks' own throttling, the array and the switch")])


def _hosts(rounds: Sequence[Hosts]) -> list[str]:
    return sorted({host for hosts in rounds for host in hosts})


def _of(rounds: Sequence[Hosts], host: str) -> list[Around]:
    return [hosts[host] for hosts in rounds if host in hosts]


def _differ(rounds: Sequence[Around]) -> Iterator[Phrase]:
    clocks = [one.megahertz for one in rounds if one.megahertz is not None]
    if clocks and min(clocks) < (1 - _SLOWER) * max(clocks):
        yield say("the processors' clock went from {high:.0f} to {low:.0f} MHz", high=max(clocks), low=min(clocks))
    busy = [one.busy for one in rounds if one.busy is not None]
    if busy and max(busy) - min(busy) >= _BUSIER:
        yield say("rounds kept the processors busy for {low:.0f} to {high:.0f} %", low=min(busy), high=max(busy))
    looks = [look.celsius or {} for one in rounds for look in (one.before, one.after)]
    for disk in sorted({name for look in looks for name in look}):
        heat = [look[disk] for look in looks if disk in look]
        if max(heat) - min(heat) >= _WARMER:
            yield say("{disk} went from {low:.0f} to {high:.0f} C", disk=disk, low=min(heat), high=max(heat))


def _wrong(rounds: Sequence[Around]) -> Iterator[Phrase]:
    throttled = {level: sum((one.throttled or {}).get(level, 0) for one in rounds) for level in ("package", "core")}
    if times := throttled["package"]:
        yield say("its processor was throttled for heat {times} times", times=times)
    if times := throttled["core"]:
        yield say("single cores were throttled for heat {times} times", times=times)
    grown: dict[tuple[str, str], int] = {}
    for one in rounds:
        for key, count in one.grown.items():
            grown[key] = grown.get(key, 0) + count
    for (name, counter), count in sorted(grown.items()):
        if counter == "carrier_changes":
            yield say("the link of {name} went away or came back {count} times", name=name, count=count)
        else:
            yield say("{name} counted {count} {counter}", name=name, count=count, counter=counter)
