"""What stands around a round and may explain why rounds differ: clocks of the processors, their throttling, links and their errors.

It decides nothing: what a machine does not show is not known and is no cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from checks.phrase import Phrase, say
from checks.probe import Glob, Probe, Word

_CLOCK = re.compile(r"/sys/devices/system/cpu/cpu\d{1,5}/cpufreq/scaling_cur_freq:(\d{1,9})", re.ASCII)
_THROTTLED = re.compile(
    r"/sys/devices/system/cpu/(cpu\d{1,5})/thermal_throttle/package_throttle_count:(\d{1,18})", re.ASCII
)
_LINK = re.compile(r"/sys/class/net/([^/\s]+)/(carrier_changes|statistics/[rt]x_errors):(\d{1,20})", re.ASCII)

#: Share by which the mean clock of a round may stay below the fastest round's before it is worth a word.
_SLOWER = 0.05


@dataclass(frozen=True, slots=True)
class Surroundings:
    """At one moment: mean clock in MHz (None: not shown), times a package was throttled, link counters by interface and name."""

    megahertz: float | None
    throttled: int | None
    links: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Around:
    """Before and after the load of one round."""

    before: Surroundings
    after: Surroundings

    @property
    def megahertz(self) -> float | None:
        """Mean clock around the round."""
        known = [one.megahertz for one in (self.before, self.after) if one.megahertz is not None]
        return fmean(known) if known else None

    @property
    def throttled(self) -> int:
        """How often a package was throttled meanwhile; 0 also where nothing counts it."""
        if self.before.throttled is None or self.after.throttled is None:
            return 0
        return max(0, self.after.throttled - self.before.throttled)

    @property
    def grown(self) -> Mapping[tuple[str, str], int]:
        """Link counters that rose meanwhile."""
        risen = {key: count - self.before.links.get(key, count) for key, count in self.after.links.items()}
        return {key: count for key, count in risen.items() if count > 0}


def surroundings() -> Probe[Surroundings]:
    """Clocks, throttling and link counters of a host; whatever of it is absent is no error."""
    cpu, net = "/sys/devices/system/cpu/cpu[0-9]*", "/sys/class/net/*"
    files = (
        f"{cpu}/cpufreq/scaling_cur_freq", f"{cpu}/thermal_throttle/package_throttle_count", f"{net}/carrier_changes",
        f"{net}/statistics/rx_errors", f"{net}/statistics/tx_errors",
    )  # fmt: skip
    argv: tuple[Word, ...] = ("grep", "-Hs", "", *(Glob(file) for file in files))
    return Probe("surroundings", argv, parse, accepted=frozenset({0, 1, 2}))


def parse(text: str) -> Surroundings:
    """Read what is there; lines that are none of these are left out."""
    clocks = [int(found) / 1000 for found in _CLOCK.findall(text)]
    counts = [int(found) for _, found in _THROTTLED.findall(text)]
    links = {(name, counter.removeprefix("statistics/")): int(count) for name, counter, count in _LINK.findall(text)}
    return Surroundings(fmean(clocks) if clocks else None, max(counts) if counts else None, links)


def causes(rounds: Sequence[Around]) -> Iterator[Phrase]:
    """Yield what was seen around some rounds that may have slowed one of them."""
    clocks = [one.megahertz for one in rounds if one.megahertz is not None]
    if clocks and min(clocks) < (1 - _SLOWER) * max(clocks):
        yield say("the processors' clock went from {high:.0f} to {low:.0f} MHz", high=max(clocks), low=min(clocks))
    if times := sum(one.throttled for one in rounds):
        yield say("the processor was throttled for heat {times} times", times=times)
    grown: dict[tuple[str, str], int] = {}
    for one in rounds:
        for key, count in one.grown.items():
            grown[key] = grown.get(key, 0) + count
    for (name, counter), count in sorted(grown.items()):
        if counter == "carrier_changes":
            yield say("the link of {name} went away or came back {count} times", name=name, count=count)
        else:
            yield say("{name} counted {count} {counter}", name=name, count=count, counter=counter)
