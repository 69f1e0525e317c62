"""Making load: the rounds of every trial, every answer kept, and nothing left running however a round ends."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from checks.around.probes import surroundings
from checks.load import Running, ended, marked
from checks.nvme.probes import controllers
from checks.parsers.sysfs_nvme import NvmeTree
from checks.phrase import Phrase, say
from checks.probe import Device, Level, Probe, UnreadableOutput
from checks.trial import Step, Trial, turn
from checks.verdict import Outcome, Verdict
from kvgate.errors import CannotTell, DeviceAbsent
from kvgate.evidence.store import AskedProbe
from kvgate.gate.answers import Answers, Met
from kvgate.gate.moment import Moment, Tell
from kvgate.gate.naming import device_names
from kvgate.gate.reading import read
from kvgate.gate.signals import one_by_one
from kvgate.gate.tried import AFTER, AROUND, BEFORE, BEGUN, CLEAN, PROOF, QUIET, ROUND, Ended, Tried, hidden, named
from kvgate.transport.base import Answer, Batch, Command, Transport

#: Seconds between two looks at the live number.
_LOOK = 5.0


class Trials:
    """The trials of a run, one after another: two loads at a time would measure each other.

    ``mark`` names the run on every process it starts. ``watch`` is a second way to the same hosts, for live numbers and
    for cleaning up while the first still waits. ``decided`` is called after every round by which a trial decides, before anybody
    is told of it, and returns whether that came to a STOP which is written down. Raises Unwritable when an answer could not be kept.
    """

    def __init__(
        self,
        trials: Iterable[Trial[Any]],
        transport: Transport,
        answers: Answers,
        mark: str,
        *,
        watch: Transport | None = None,
        tell: Tell | None = None,
        decided: Callable[[], bool] | None = None,
    ) -> None:
        self.trials = _each_once(trials)
        self.tried = Tried(answers)
        self._answers, self._evidence = answers, answers.evidence
        self._transport, self._watch, self._mark = transport, watch, mark
        self._tell, self._decided = tell or (lambda _: None), decided or (lambda: False)
        self._done = 0.0
        self._laid: set[str] = set()  # trials whose preparation was begun in this sitting, by key
        self._step, self._since, self._round_since = "", 0.0, 0.0
        self.left: list[Phrase] = []  # what could not be cleaned up

    def run(self) -> Tried:
        """Make every round that is still wanted."""
        for group in self._groups():
            self._group(group)
        return self.tried

    def _groups(self) -> list[list[Trial[Any]]]:
        """Trials in the order they were asked for; those of one group together."""
        groups: dict[str, list[Trial[Any]]] = {}
        for trial in self.trials:
            groups.setdefault(trial.group or trial.key, []).append(trial)
        return list(groups.values())

    def _group(self, trials: list[Trial[Any]]) -> None:
        """Make the rounds of some trials in turns. What was laid out is removed at the end, however it ends."""
        wanted = {trial.key: self._wanted(trial) for trial in trials if self._proved(trial)}
        last: dict[str, int] = {}
        number = 0
        try:
            while wanted:
                number += 1
                for trial in turn(trials, number):
                    if trial.key in wanted and not self._next_round(trial, wanted[trial.key], last):
                        del wanted[trial.key]
        finally:
            for trial in trials:
                if trial.key in last and trial.clean:
                    self._tidy(trial, last[trial.key])

    def _proved(self, trial: Trial[Any]) -> bool:
        """Show that the judgement can fail before anything is measured for it; what cannot be judged is not measured."""
        if trial.proof is None:
            return True
        found = trial.proof()
        good = found.outcome is Outcome.PASS
        self._evidence.note(
            PROOF, trial=trial.key, id=trial.id, outcome=found.outcome.value, measured=str(found.measured),
            required=str(found.required), note=str(found.note or ""),
        )  # fmt: skip
        self._show(trial, 0, proof=found)
        return good

    def _next_round(self, trial: Trial[Any], wanted: Iterator[int], last: dict[str, int]) -> bool:
        number = next(wanted, None)
        if number is None:
            return False
        self._show(trial, number)
        first = trial.key not in last
        last[trial.key] = number
        self._laid.add(trial.key)
        self._round(trial, number, first=first)
        self._done += trial.seconds + (trial.setup if first else 0.0)
        decides = self.tried.decides(trial, number) and self._decided()
        self._show(trial, number, ended=self.tried.round(trial, number), decides=decides)
        return True

    def _tidy(self, trial: Trial[Any], number: int) -> None:
        """Remove what the trial laid out; what could not be removed is told, for somebody must."""
        asked = [_Asked(step, trial.place(number, step), step.probe, {}) for step in trial.clean]
        for one, answer in self._ask(asked):
            try:
                found = answer if isinstance(answer, CannotTell) else read(one.step.host, one.step.probe, answer)
            except CannotTell as error:
                found = error
            if isinstance(found, CannotTell):
                self.left.append(say("{title}: not cleaned up: {why}", title=trial.title, why=found.phrase))

    def _wanted(self, trial: Trial[Any]) -> Iterator[int]:
        """Numbers of the rounds to make. One that could not be told ends the trial: the next would hammer on the same nail."""
        fresh = False
        while True:
            rounds = self.tried.rounds(trial)
            if self.tried.broken(trial):
                return
            facts = [one.fact for one in rounds if one.void is None and one.failed is None]
            counted = sum(1 for one in rounds if one.failed is None)
            wanted = len(facts) >= trial.rounds and trial.few_void(counted - len(facts), counted)
            enough = wanted and (trial.enough is None or trial.enough(facts))
            if (
                enough
                or counted >= trial.most_after(len(facts))
                or (fresh and rounds and rounds[-1].failed is not None)
            ):
                return
            fresh = True
            number = self.tried.begun.get(trial.key, 0) + 1
            self.tried.begin(trial.key, number)
            yield number

    # ---- one round

    def _round(self, trial: Trial[Any], number: int, *, first: bool) -> None:
        self._evidence.note(BEGUN, trial=trial.key, id=trial.id, number=number, mark=self._mark)
        self._evidence.sync()
        self._step, self._since = "", time.monotonic()
        self._round_since = self._since
        try:
            with self._looking(trial, number):
                self._stages(
                    trial, number, (*trial.prepare, *trial.stages_of(number)) if first else trial.stages_of(number)
                )
        finally:
            self._clean(trial, number)
        self._evidence.note(ROUND, trial=trial.key, id=trial.id, number=number)
        self._evidence.sync()
        self.tried.end(trial.key, number)

    def _stages(self, trial: Trial[Any], number: int, stages: Sequence[Sequence[Step]]) -> None:
        well, names = self._before(trial, number)
        try:
            for stage in stages:
                well = well and self._stage(trial, number, stage, names)
            if well:
                self._everywhere(trial, number, {AROUND[1]: surroundings(), AFTER: controllers()})
        except (
            BaseException
        ):  # an operator who interrupts does not wait for the load: its connection ends, the rest follows
            self._transport.close()
            if self._watch is not None:
                self._transport, self._watch = self._watch, self._transport
            raise
        finally:
            for stage in stages:
                if late := tuple(step for step in stage if step.always and not self._kept(trial, number, step)):
                    self._stage(trial, number, late, names)

    def _kept(self, trial: Trial[Any], number: int, step: Step) -> bool:
        return self._answers.place(step.host, trial.place(number, step)) is not None

    def _before(self, trial: Trial[Any], number: int) -> tuple[bool, dict[str, Mapping[Device, str]]]:
        """Whether nobody else makes load through kvgate on these hosts (both would measure each other), and their disks' names.

        What a killed laptop left ends first.
        """
        looks: dict[str, Probe[Any]] = {QUIET: ended(self._mark), BEFORE: controllers(), AROUND[0]: surroundings()}
        found = self._everywhere(trial, number, looks)
        quiet = all(isinstance(fact, Running) and fact.quiet for fact in found[QUIET].values())
        return quiet, self._names(trial, found[BEFORE])

    def _clean(self, trial: Trial[Any], number: int) -> None:
        """End whatever the round started, over the second way where there is one: the first may still be waiting."""
        first = self._transport
        self._transport = self._watch or first
        try:
            self._everywhere(trial, number, {CLEAN: ended(self._mark)})
        finally:
            self._transport = first

    def _names(self, trial: Trial[Any], trees: Mapping[str, Any]) -> dict[str, Mapping[Device, str]]:
        steps = named(trial)
        names: dict[str, Mapping[Device, str]] = {}
        for host, tree in trees.items():
            found: dict[Device, str] = {}
            for step in steps[host] if isinstance(tree, NvmeTree) else ():
                with contextlib.suppress(CannotTell):
                    found |= device_names(host, step.probe, tree)
            names[host] = found
        return names

    def _stage(
        self, trial: Trial[Any], number: int, stage: Sequence[Step], names: Mapping[str, Mapping[Device, str]]
    ) -> bool:
        """Run the steps of a stage at the same time; True when all of them let the trial go on."""
        asked = [_Asked(step, trial.place(number, step), marked(step.probe, self._mark), names) for step in stage]
        if (loads := next((step.name for step in stage if step.probe.level is not Level.PASSIVE), None)) is not None:
            self._step, self._since = loads, time.monotonic()
        good = True
        for one, answer in self._ask(asked):
            fact = _told(one.step.host, one.step.probe, answer)
            good = good and fact is not _UNTOLD and _lets(one.step, fact)
        return good

    def _everywhere(self, trial: Trial[Any], number: int, looks: Mapping[str, Probe[Any]]) -> dict[str, dict[str, Any]]:
        """Ask every host of a trial the same, in one go; what could not be told is no fact and breaks nothing.

        Facts by moment and host. Hosts whose disks no step names are not asked for names.
        """
        disks = named(trial)
        found: dict[str, dict[str, Any]] = {moment: {} for moment in looks}
        asked = [
            _Asked(Step(moment, host, probe), hidden(trial, number, moment), probe, {})
            for moment, probe in looks.items()
            for host in (sorted(disks) if moment in (BEFORE, AFTER) else sorted(trial.hosts))
        ]
        for one, answer in self._ask(asked):
            found[one.step.name][one.step.host] = _told(one.step.host, one.probe, answer)
        return found

    # ---- asking and keeping

    def _ask(self, asked: Sequence[_Asked]) -> list[tuple[_Asked, Answer | CannotTell]]:
        table: dict[str, dict[str, _Asked]] = {}
        for one in asked:
            table.setdefault(one.step.host, {})[one.key] = one
        sent = {host: [one.command for one in ones.values() if one.line] for host, ones in table.items()}
        found: list[tuple[_Asked, Answer | CannotTell]] = []
        for batch in one_by_one(self._transport.each({host: commands for host, commands in sent.items() if commands})):
            self._keep(batch, table[batch.host])
            found += [(table[batch.host][key], answer) for key, answer in batch.answers.items()]
        for host, ones in table.items():
            if absent := {key: one.absent for key, one in ones.items() if not one.line}:
                self._keep(Batch(host, absent), ones)
                found += [(ones[key], error) for key, error in absent.items()]
        return found

    def _keep(self, batch: Batch, ones: Mapping[str, _Asked]) -> None:
        lines = {
            key: AskedProbe(ones[key].probe.id, ones[key].line, ones[key].probe.level.value) for key in batch.answers
        }
        for key, seq in self._answers.evidence.keep(batch, lines, 0).items():
            self._answers.keep(batch.host, key, 0, seq)
        if batch.host_key:
            met = Met(batch.host_key, batch.boot_id, batch.clock, batch.started_monotonic)
            self._answers.meet(batch.host, 0, met)

    # ---- showing

    def _show(
        self,
        trial: Trial[Any],
        number: int,
        live: Phrase | None = None,
        ended: Ended | None = None,
        proof: Verdict | None = None,
        *,
        decides: bool = False,
        runs: bool = False,
    ) -> None:
        """Tell where the run stands; ``runs``: in the middle of a round, of which some is over."""
        left = sum(max(0, other.rounds - len(self.tried.rounds(other))) * other.seconds for other in self.trials)
        left += sum(other.setup for other in self.trials if other.key not in self._laid)
        now, done, step, elapsed = time.monotonic(), self._done, "", 0.0
        if runs:
            over = min(now - self._round_since, trial.seconds)
            done, left, step, elapsed = done + over, max(0.0, left - over), self._step, now - self._since
        self._tell(Moment(trial.title, number, trial.rounds, done, left, live, ended, decides, proof, step, elapsed))

    @contextlib.contextmanager
    def _looking(self, trial: Trial[Any], number: int) -> Iterator[None]:
        """Look at the live number now and then, over the second way to the host; what is seen is shown and not kept."""
        if self._watch is None:
            yield
            return
        over = threading.Event()
        looker = threading.Thread(target=self._watching, args=(trial, number, self._watch, over), daemon=True)
        looker.start()
        try:
            yield
        finally:
            over.set()
            looker.join(_LOOK)

    def _watching(self, trial: Trial[Any], number: int, watch: Transport, over: threading.Event) -> None:
        live = trial.live
        before: tuple[float, Any] | None = None
        while not over.wait(_LOOK if before else _LOOK / 5):  # a first look soon: a rate takes two
            if live is None:
                self._show(trial, number, runs=True)
                continue
            command = Command("live", live.probe.command(), live.probe.limit)
            answer = watch.run({live.host: [command]})[live.host].answers["live"]
            fact, now = _told(live.host, live.probe, answer), time.monotonic()
            if over.is_set():
                break
            told = before is not None and fact is not _UNTOLD
            self._show(
                trial, number, live=live.tell(before[1], fact, now - before[0]) if told and before else None, runs=True
            )
            before = None if fact is _UNTOLD else (now, fact)


_UNTOLD = object()


def _each_once(trials: Iterable[Trial[Any]]) -> list[Trial[Any]]:
    """Clauses ask for the same trial: it is made once, with the proof that one of them wants."""
    found: dict[str, Trial[Any]] = {}
    for trial in trials:
        known = found.get(trial.key)
        if known is None or known.proof is None:
            found[trial.key] = trial
    return list(found.values())


def _told(host: str, probe: Probe[Any], answer: Answer | CannotTell) -> Any:
    """Return the fact of a live answer; the kept bytes are read again for the verdict."""
    try:
        return _UNTOLD if isinstance(answer, CannotTell) else read(host, probe, answer)
    except CannotTell:
        return _UNTOLD


def _lets(step: Step, fact: Any) -> bool:
    """Whether a step lets the trial go on."""
    try:
        return step.must is None or step.must(fact) is None
    except UnreadableOutput:
        return False


class _Asked:
    """A step on its way: under which key, as which line. Without a line its device is not there."""

    def __init__(self, step: Step, key: str, probe: Probe[Any], names: Mapping[str, Mapping[Device, str]]) -> None:
        self.step, self.key, self.probe = step, key, probe
        known = names.get(step.host, {})
        missing = [str(device) for device in probe.devices if device not in known]
        self.line = "" if missing else probe.command(known if probe.devices else None)
        self.absent = DeviceAbsent(say("{host}: {devices} is not there", host=step.host, devices=", ".join(missing)))

    @property
    def command(self) -> Command:
        """What is sent."""
        return Command(self.key, self.line, self.probe.limit)
