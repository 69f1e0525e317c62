"""Kept answers of a run, by host and question. Live and replayed runs read the same evidence through the same lines."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from checks.nvme.probes import controllers
from checks.phrase import say
from checks.probe import Probe
from kvgate.errors import CannotTell, DeviceAbsent, HostKeyRefused, NotAskable
from kvgate.evidence.store import Evidence, StoredFailure
from kvgate.gate.naming import device_names
from kvgate.gate.reading import read
from kvgate.transport.base import Clock

Fact = TypeVar("Fact")

#: Seconds within which looks at a clock belong together: clocks drift by less than a millisecond meanwhile.
_ONE_RUN = 120.0


@dataclass(frozen=True, slots=True)
class Met:
    """How a host was met in one round: key presented, boot, clock, when (operator's monotonic seconds)."""

    host_key: str
    boot_id: str
    clock: Clock | None
    monotonic: float


class Answers:
    """All kept answers of a run, by host, question and sample."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._index: dict[tuple[str, str, int], int] = {}
        self._met: dict[tuple[str, int], Met] = {}
        self._clocks: dict[str, list[tuple[float, Clock]]] = {}
        self._boots: dict[str, set[str]] = {}
        self._facts: dict[tuple[str, str, int, Any], Any] = {}
        self._parsed: dict[tuple[str, str, int, Any], Any] = {}

    def keep(self, host: str, key: str, sample: int, number: int) -> None:
        """Note under which number an answer was kept. A first sample begins anew: a second one of an earlier sitting is no pair to it."""
        self._index[host, key, sample] = number
        if sample == 1:
            self._index.pop((host, key, 2), None)

    def meet(self, host: str, sample: int, met: Met) -> None:
        """Note how a host was met."""
        self._met[host, sample] = met
        if sample and met.clock is not None:
            self._clocks.setdefault(host, []).append((met.monotonic, met.clock))
        if met.boot_id:
            self._boots.setdefault(host, set()).add(met.boot_id)

    def numbers(self, host: str, probe: Probe[Any], sample: int = 1) -> list[int]:
        """Return the evidence number of an answer, as a list of one, or none."""
        number = self._index.get((host, probe.command(), sample))
        return [] if number is None else [number]

    def fact(self, host: str, probe: Probe[Fact], sample: int = 1) -> Fact:
        """Read a fact. Raises CannotTell with the reason; reads each answer once.

        A host that booted in the middle of the run tells nothing: its devices may have other names since, its counters
        began anew, and two of its answers need not be about one machine state.
        """
        if len(self._boots.get(host, ())) > 1:
            raise CannotTell(
                say("{host} was rebooted while it was asked: find out why, then run the gate again", host=host)
            )
        place = (host, probe.command(), sample, probe.parse)
        if (host, place[1], sample) not in self._index:  # not kept in mind: it may still be asked later in the run
            raise CannotTell(
                say("{host} was not asked in this run: {tool} ({id})", host=host, tool=probe.tool, id=probe.id)
            )
        if place not in self._facts:
            try:
                self._facts[place] = self._read(host, probe, sample)
            except CannotTell as error:
                self._facts[place] = error
        found = self._facts[place]
        if isinstance(found, CannotTell):
            raise found
        return found  # type: ignore[no-any-return]

    def prepare(self, host: str, probe: Probe[Any]) -> None:
        """Parse a first sample ahead of time. Whether it counts, and why not, is decided when the fact is read."""
        place = (host, probe.command(), 1, probe.parse)
        if place not in self._facts and place[:3] in self._index:
            kept = self.evidence.answer(self._index[host, place[1], 1])
            if not isinstance(kept, StoredFailure):
                with suppress(CannotTell):
                    self._parsed[place] = read(host, probe, kept)

    def place(self, host: str, key: str) -> int | None:
        """Evidence number of what was kept under a key of its own (a step of a trial), None where nothing was."""
        return self._index.get((host, key, 0))

    def step(self, host: str, key: str, probe: Probe[Fact]) -> Fact:
        """Read what was kept under a key of its own. Raises CannotTell with the reason."""
        number = self.place(host, key)
        if number is None:
            raise CannotTell(say("{host}: {tool} was not run in this round", host=host, tool=probe.tool))
        kept = self.evidence.answer(number)
        if isinstance(kept, StoredFailure):
            raise kept.error()
        return read(host, probe, kept)

    def _still_named(self, host: str, probe: Probe[Any]) -> None:
        # Names were looked up before the question was asked. Where the controllers were read again afterwards, each serial
        # must still have its name: a disk that was pulled and put back takes another one, and its old name may be another's.
        try:
            trees = [self.fact(host, controllers(), sample) for sample in (1, 2)]
        except CannotTell:
            return  # not read twice: nothing to compare with
        before, after = (device_names(host, probe, tree) for tree in trees)
        if before != after:
            moved = ", ".join(f"{before[one]} to {after[one]}" for one in before if before[one] != after[one])
            raise DeviceAbsent(
                say(
                    "{host}: the disk moved from {moved} while it was asked: run the gate again", host=host, moved=moved
                )
            )

    def _read(self, host: str, probe: Probe[Fact], sample: int) -> Fact:
        kept = self.evidence.answer(self._index[host, probe.command(), sample])
        if isinstance(kept, StoredFailure):
            raise kept.error()
        if probe.devices:
            self._still_named(host, probe)
        place = (host, probe.command(), sample, probe.parse)
        return self._parsed.pop(place) if place in self._parsed else read(host, probe, kept)

    def seconds_between(self, host: str, probe: Probe[Any]) -> float:
        """Seconds from the first to the second sample. Raises CannotTell when the host booted in between."""
        first, second = self._met.get((host, 1)), self._met.get((host, 2))
        if first is not None and second is not None and second.monotonic < first.monotonic:
            first, second = self._apart(host, probe)  # a later sitting met the host anew and asked other questions
        if first is None or second is None:
            raise CannotTell(say("{host} was not met twice in this run", host=host))
        if not first.boot_id and not second.boot_id:
            raise NotAskable(
                say(
                    "{host} is asked one command at a time, so nobody knows whether it was rebooted in between",
                    host=host,
                )
            )
        if first.boot_id != second.boot_id:
            raise CannotTell(
                say("{host} was rebooted between the two samples, or does not tell its boot id", host=host)
            )
        return second.monotonic - first.monotonic

    def _apart(self, host: str, probe: Probe[Any]) -> tuple[Met, Met]:
        """When both answers to one question were given, and in which boot each. Raises CannotTell where one is not there."""
        kept = [self.evidence.answer(number) for sample in (1, 2) for number in self.numbers(host, probe, sample)]
        if len(kept) != 2:
            raise CannotTell(say("{host} was not met twice in this run", host=host))
        before, after = (Met(one.host_key, one.boot_id, None, one.asked_at) for one in kept)
        return before, after

    def host_key(self, host: str) -> str:
        """Fingerprint that the host presented. Raises the reason when it was never met."""
        for sample in (1, 2):
            if (met := self._met.get((host, sample))) is not None and met.host_key:
                return met.host_key
        error = self._why(host)
        if isinstance(error, HostKeyRefused):
            return error.presented
        raise error

    def clock(self, host: str) -> tuple[float, float]:
        """Host clock minus operator clock, from all rounds. Raises CannotTell when the host did not give its time."""
        if host not in self._clocks:
            raise self._no_time(host)
        low, high = self._bounds(host)
        if low > high:
            raise CannotTell(
                say("{host} or this machine set its clock while the gate ran: wait until NTP is content", host=host)
            )
        return low, high

    def looseness(self, host: str) -> float:
        """Seconds between the bounds of a host's clock as known so far; 0 where nothing is known."""
        low, high = self._bounds(host) if host in self._clocks else (0.0, 0.0)
        return high - low

    def _bounds(self, host: str) -> tuple[float, float]:
        looks = self._clocks[host]
        near = [clock for monotonic, clock in looks if looks[-1][0] - monotonic <= _ONE_RUN]
        return max(clock.low for clock in near), min(clock.high for clock in near)

    def _no_time(self, host: str) -> CannotTell:
        if (host, 1) not in self._met:
            return self._why(host)
        if host in self._boots:
            return CannotTell(say("{host} did not tell its time", host=host))
        numbers = [number for (name, _, _), number in self._index.items() if name == host]
        if numbers and all(isinstance(self.evidence.answer(number), StoredFailure) for number in numbers):
            return self._why(host)
        return NotAskable(
            say("{host} is asked one command at a time, which tells no clock: a person answers for it", host=host)
        )

    def _why(self, host: str) -> CannotTell:
        """Return the reason why a host was not met, as it stands with the first question that failed."""
        for (name, _, _), number in self._index.items():
            if name == host and isinstance(kept := self.evidence.answer(number), StoredFailure):
                return kept.error()
        return CannotTell(say("{host} was not met in this run", host=host))
