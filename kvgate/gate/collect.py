"""Going and looking: all questions of a run in few rounds, every answer kept before it is read."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from checks.nvme.probes import controllers
from checks.probe import Level, Probe
from kvgate.errors import CannotTell
from kvgate.evidence.store import AskedProbe, Evidence, StoredFailure
from kvgate.gate.answers import Answers, Met
from kvgate.gate.ask import Need
from kvgate.gate.naming import device_names
from kvgate.gate.signals import one_by_one, waiting
from kvgate.transport.base import Batch, Command, Transport

#: Seconds between the two samples of a counter. Long enough to see a counter that runs, short enough for an arrival check.
INTERVAL = 2.0

#: Seconds that a clock may be told too loosely before it is looked at again, and how often at most.
_LOOSE, _LOOKS = 0.01, 3

#: Titles of the rounds, for whoever shows progress.
FIRST, NAMED, AGAIN = "identities and facts", "devices by serial", "counters again"

Progress = Callable[[str, Batch], None]
_Questions = dict[str, dict[str, Probe[Any]]]


class Rounds:
    """The questions of a run in few rounds: facts and identities, devices by serial, later the counters a second time.

    Never raises for a host; raises Unwritable when an answer could not be kept.
    """

    def __init__(
        self,
        needs: Sequence[Need],
        hosts: Iterable[str],
        transport: Transport,
        evidence: Evidence,
        progress: Progress | None = None,
        interval: float = INTERVAL,
        clocks: Sequence[str] = (),
    ) -> None:
        self.answers = Answers(evidence)
        self._clocks = clocks
        self._transport, self._progress, self._interval = transport, progress, interval
        self._first: _Questions = {host: {} for host in hosts}
        self._named: _Questions = defaultdict(dict)
        self._again: _Questions = defaultdict(dict)
        for need in needs:
            table = self._named if need.probe.devices else self._first
            table.setdefault(need.host, {})[need.key] = need.probe
            if need.samples > 1:
                self._again[need.host][need.key] = need.probe
        for host in self._named:
            self._first.setdefault(host, {})[controllers().command()] = controllers()
        self._ended = 0.0

    def first(self) -> Answers:
        """Ask everything once. What was answered is on the disk when this returns."""
        self._round(self._first, 1, FIRST)
        self._round(self._named, 1, NAMED)
        self._ended = time.monotonic()
        return self.answers

    def again(self) -> None:
        """Ask the counters a second time, not before the interval is over."""
        self._closer()
        if told := self._told():
            for table in (self._named, self._again):
                for host, probes in table.items():
                    for probe in probes.values():
                        self.answers.prepare(host, probe)  # what would be parsed after the interval is parsed within it
            with waiting():
                time.sleep(max(0.0, self._ended + self._interval - time.monotonic()))
            self._round(told, 2, AGAIN)

    def _closer(self) -> None:
        """Look at clocks alone while the counters run, where a busy link told them too loosely; of all looks the best counts."""
        for _ in range(_LOOKS):
            loose: _Questions = {host: {} for host in self._clocks if self.answers.looseness(host) > _LOOSE}
            self._round(loose, 3, AGAIN)

    def _told(self) -> _Questions:
        """Counters that have a first sample; without one the second tells nothing and a dead host is not waited for twice."""
        failed = {(kept.host, kept.key) for kept in self.answers.evidence.answers() if isinstance(kept, StoredFailure)}
        told: _Questions = {}
        for host, probes in self._again.items():
            if known := {key: probe for key, probe in probes.items() if (host, key) not in failed}:
                told[host] = known
        return told

    def _round(self, questions: _Questions, sample: int, title: str) -> None:
        if questions:
            _round(questions, sample, title, self._transport, self.answers, self._progress)
            self.answers.evidence.sync()


def _round(
    questions: Mapping[str, dict[str, Probe[Any]]],
    sample: int,
    title: str,
    transport: Transport,
    answers: Answers,
    progress: Progress | None,
) -> None:
    commands: dict[str, list[Command]] = {}
    lines: dict[str, dict[str, AskedProbe]] = {}
    failed: dict[str, dict[str, CannotTell]] = defaultdict(dict)
    for host, probes in questions.items():
        commands[host], lines[host] = [], {}
        for key, probe in probes.items():
            line = key
            if probe.devices:
                try:
                    line = probe.command(device_names(host, probe, answers.fact(host, controllers())))
                except CannotTell as error:
                    failed[host][key] = error
                    lines[host][key] = AskedProbe(probe.id, line, probe.level.value)
                    continue
            commands[host].append(Command(key, line, probe.limit, reads=probe.level is Level.PASSIVE))
            lines[host][key] = AskedProbe(probe.id, line, probe.level.value)

    def keep(batch: Batch) -> None:
        host = batch.host
        if host in failed:
            batch = replace(batch, answers={**batch.answers, **failed[host]})
        for key, number in answers.evidence.keep(batch, lines[host], sample).items():
            answers.keep(host, key, sample, number)
        if batch.host_key:
            answers.meet(host, sample, Met(batch.host_key, batch.boot_id, batch.clock, batch.started_monotonic))
        if progress is not None and host in asked:
            progress(title, batch)

    asked = {host: wanted for host, wanted in commands.items() if wanted or not failed.get(host)}
    for host in questions:
        if host not in asked:
            keep(Batch(host, {}))
    for batch in one_by_one(transport.each(asked)):  # a batch that is being kept is kept whole
        keep(batch)


def with_boots(answers: Answers | None, evidence: Evidence) -> Answers:
    """Tell answers which boots earlier rounds of the same run met, so that none of them is put beside another boot's."""
    found = answers or Answers(evidence)
    for batch in evidence.batches():
        found.meet(batch.host, 0, Met(batch.host_key, batch.boot_id, batch.clock, batch.monotonic))
    return found


def with_rounds(answers: Answers) -> Answers:
    """Tell answers which steps of load an earlier sitting of the same run kept: its rounds are not made again."""
    for kept in answers.evidence.answers():
        if kept.sample == 0:
            answers.keep(kept.host, kept.key, 0, kept.seq)
    return answers


def replay(evidence: Evidence) -> Answers:
    """Return the answers of a stored run, as they were kept."""
    answers = Answers(evidence)
    for kept in evidence.answers():
        answers.keep(kept.host, kept.key, kept.sample, kept.seq)
    for batch in evidence.batches():
        clock = batch.clock
        answers.meet(batch.host, batch.sample, Met(batch.host_key, batch.boot_id, clock, batch.monotonic))
    return answers
