"""What stands around a round and may explain why rounds differ: heat, clocks, throttling, other work, links and what they lost.

It is looked at on every host of every trial, before and after each round. It decides nothing by itself: what a machine does
not show is not known, is no cause, and is named as not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

from checks.phrase import Phrase, joined, listed, say
from checks.probe import Glob, Probe, Word
from checks.roce.losses import ERRORS

_CPU = "/sys/devices/system/cpu/cpu[0-9]*"
_NET = "/sys/class/net/*"
_PORT = "/sys/class/infiniband/*/ports/[0-9]*"
_FILES = (
    "/proc/stat", f"{_CPU}/cpufreq/scaling_cur_freq", f"{_CPU}/topology/physical_package_id", f"{_CPU}/topology/core_id",
    f"{_CPU}/thermal_throttle/package_throttle_count", f"{_CPU}/thermal_throttle/core_throttle_count",
    f"{_NET}/carrier_changes", f"{_NET}/statistics/rx_errors", f"{_NET}/statistics/tx_errors",
    f"{_PORT}/counters/symbol_error", f"{_PORT}/counters/link_downed", f"{_PORT}/counters/port_rcv_errors",
    f"{_PORT}/hw_counters/*", "/sys/class/nvme/nvme*/hwmon*/temp1_input",
)  # fmt: skip
#: Whole lines that are a number, and the first one of /proc/stat.
_NUMBERS = "^(cpu )?[0-9 -]+$"

_CLOCK = re.compile(r"/sys/devices/system/cpu/cpu\d{1,5}/cpufreq/scaling_cur_freq:(\d{1,9})$", re.ASCII | re.MULTILINE)
_PLACE = re.compile(
    r"/sys/devices/system/cpu/(cpu\d{1,5})/topology/(physical_package_id|core_id):(-?\d{1,9})$", re.ASCII | re.MULTILINE
)
_THROTTLED = re.compile(
    r"/sys/devices/system/cpu/(cpu\d{1,5})/thermal_throttle/(package|core)_throttle_count:(\d{1,18})$",
    re.ASCII | re.MULTILINE,
)
_LINK = re.compile(
    r"/sys/class/net/([^/\s]+)/(carrier_changes|statistics/[rt]x_errors):(\d{1,20})$", re.ASCII | re.MULTILINE
)
_RDMA = re.compile(
    r"/sys/class/infiniband/([^/\s]+)/ports/(\d{1,3})/(?:hw_)?counters/(\w+):(\d{1,20})$", re.ASCII | re.MULTILINE
)
_HEAT = re.compile(r"/sys/class/nvme/(nvme\d{1,4})/hwmon\d{1,4}/temp1_input:(-?\d{1,7})$", re.ASCII | re.MULTILINE)
_TICKS = re.compile(r"/proc/stat:cpu +((?:\d{1,20} ?){4,10})$", re.ASCII | re.MULTILINE)

#: Counters of an RDMA port that mean something was lost, damaged or sent again, whatever the driver.
_LOST = frozenset(
    chain(
        ("symbol_error", "link_downed", "port_rcv_errors"), *(chain(needed, more) for needed, more in ERRORS.values())
    )
)

#: Share by which the mean clock of a round may stay below the fastest round's before it is worth a word.
_SLOWER = 0.05

#: Degrees between the coolest and the hottest look that are worth a word.
_WARMER = 5

#: Percentage points by which rounds may differ in how busy the processors were before it is worth a word.
_BUSIER = 15


@dataclass(frozen=True, slots=True)
class Surroundings:
    """One host at one moment: what it does not show is None or absent.

    ``megahertz`` is the mean clock; ``throttled`` counts by ("package" or "core", processor), ``places`` has package and core of
    a processor; ``links`` counts by (port, counter); ``celsius`` by disk; ``ticks`` are those that were busy, and all.
    """

    megahertz: float | None = None
    throttled: Mapping[tuple[str, str], int] | None = None
    places: Mapping[str, tuple[int, int]] | None = None
    links: Mapping[tuple[str, str], int] | None = None
    celsius: Mapping[str, float] | None = None
    ticks: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """One host before and after one round."""

    before: Surroundings
    after: Surroundings

    @property
    def megahertz(self) -> float | None:
        """Mean clock around the round."""
        known = [one.megahertz for one in (self.before, self.after) if one.megahertz is not None]
        return fmean(known) if known else None

    @property
    def throttled(self) -> Mapping[str, int] | None:
        """How often packages and cores were throttled meanwhile; None where nothing counts it.

        The kernel counts an event of a package on each of its processors, one of a core on each of its threads: the largest
        difference among those is taken once, and packages and cores are added up. Where it does not say which processors belong
        together, the largest of all stands: at least so many.
        """
        if self.before.throttled is None or self.after.throttled is None:
            return None
        found: dict[str, dict[tuple[int, ...], int]] = {"package": {}, "core": {}}
        for (level, cpu), count in self.after.throttled.items():
            package, core = (self.after.places or {}).get(cpu, (0, 0))
            unit = (package,) if level == "package" else (package, core)
            risen = count - self.before.throttled.get((level, cpu), count)
            found[level][unit] = max(risen, found[level].get(unit, 0))
        return {level: sum(units.values()) for level, units in found.items() if units}

    @property
    def grown(self) -> Mapping[tuple[str, str], int]:
        """Link counters that rose meanwhile."""
        before, after = self.before.links or {}, self.after.links or {}
        risen = {key: count - before.get(key, count) for key, count in after.items()}
        return {key: count for key, count in risen.items() if count > 0}

    @property
    def busy(self) -> float | None:
        """Percent of the round that the processors were busy; None where that is not shown."""
        if self.before.ticks is None or self.after.ticks is None:
            return None
        busy, total = (after - before for before, after in zip(self.before.ticks, self.after.ticks, strict=True))
        return 100 * busy / total if total > 0 and 0 <= busy <= total else None


#: One round: its hosts by name.
Hosts = Mapping[str, Around]


def surroundings() -> Probe[Surroundings]:
    """Heat, clocks, throttling, ticks and link counters of a host; whatever of it is absent is no error."""
    argv: tuple[Word, ...] = ("grep", "-EHs", _NUMBERS, *(Glob(file) if "*" in file else file for file in _FILES))
    return Probe("surroundings", argv, parse, accepted=frozenset({0, 1, 2}))


def parse(text: str) -> Surroundings:
    """Read what is there; lines that are none of these are left out."""
    clocks = [int(found) / 1000 for found in _CLOCK.findall(text)]
    throttled = {(level, cpu): int(count) for cpu, level, count in _THROTTLED.findall(text)}
    places: dict[str, dict[str, int]] = {}
    for cpu, what, number in _PLACE.findall(text):
        places.setdefault(cpu, {})[what] = int(number)
    links = {(name, counter.removeprefix("statistics/")): int(count) for name, counter, count in _LINK.findall(text)}
    links |= {(f"{name}/{port}", one): int(count) for name, port, one, count in _RDMA.findall(text) if one in _LOST}
    ticks = [int(one) for found in _TICKS.findall(text) for one in found.split()]
    return Surroundings(
        megahertz=fmean(clocks) if clocks else None,
        throttled=throttled or None,
        places={cpu: (one["physical_package_id"], one["core_id"]) for cpu, one in places.items() if len(one) == 2}
        or None,
        links=links or None,
        celsius={name: int(millis) / 1000 for name, millis in _HEAT.findall(text)} or None,
        # user nice system idle iowait irq softirq steal; what guests had is in user already
        ticks=(sum(ticks[:8]) - sum(ticks[3:5]), sum(ticks[:8])) if ticks else None,
    )


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
