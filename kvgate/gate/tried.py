"""The kept rounds of trials, read to facts. Live and replayed runs read the same evidence through the same lines."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from checks.around.facts import Around, Hosts
from checks.around.probes import surroundings
from checks.load import running
from checks.nvme.probes import controllers
from checks.phrase import Phrase, joined, say
from checks.probe import AnsweredWithError, UnreadableOutput
from checks.trial import Measured, Step, Trial, Voided
from checks.verdict import Outcome
from kvgate.errors import CannotTell, DeviceAbsent, IoFailed, Unreadable
from kvgate.gate.answers import Answers
from kvgate.gate.naming import device_names
from kvgate.gate.permission import NOT_PERMITTED

Fact = TypeVar("Fact")

#: Kind of the journal line that ends a round; a round without one was cut short and counts for nothing.
ROUND = "round"

#: Kind of the line that begins one.
BEGUN = f"{ROUND}-begun"

#: Kind of the journal line that says whether the judgement of a trial was shown to be able to fail.
PROOF = "proof"

#: Hidden steps: which kernel names the serials had before and after the load, whose load runs, what was left to end.
BEFORE, AFTER, QUIET, CLEAN = "controllers before", "controllers after", "other load", "load ended"

#: Hidden steps: what stood around a round on each of its hosts.
AROUND = ("around before", "around after")


@dataclass(frozen=True, slots=True)
class Ended:
    """One round as it came out: a fact, or why it does not count (``void``), or why it could not be told (``failed``).

    ``around`` has the hosts that were looked at before and after it.
    """

    number: int
    fact: Any = None
    void: Phrase | None = None
    failed: CannotTell | None = None
    around: Hosts = field(default_factory=dict)


class Tried:
    """Reads rounds. ``ended`` holds the numbers of the rounds that came to their end, by trial key."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.ended: dict[str, list[int]] = {}
        self.begun: dict[str, int] = {}  # highest number of a round that was begun, by trial key
        self.asked: dict[str, Trial[Any]] = {}  # every trial that a clause asked for, by key
        self._known: dict[tuple[str, int, Any], Ended] = {}
        self._began: dict[str, set[int]] = {}
        self._errors: dict[tuple[str, int], IoFailed | None] = {}
        for line in answers.evidence.notes(ROUND):
            self.end(str(line.get("trial")), line.get("number"))
        for line in answers.evidence.notes(BEGUN):
            self.begin(str(line.get("trial")), line.get("number"))

    def begin(self, key: str, number: object) -> None:
        """Note that a round was begun."""
        if isinstance(number, int):
            self.begun[key] = max(number, self.begun.get(key, 0))
            self._began.setdefault(key, set()).add(number)

    def end(self, key: str, number: object) -> None:
        """Note that a round came to its end."""
        if isinstance(number, int) and number not in (numbers := self.ended.setdefault(key, [])):
            numbers.append(number)

    def round(self, trial: Trial[Any], number: int) -> Ended:
        """Read one round; the same reading is made once."""
        place = (trial.key, number, trial.read)
        if place not in self._known:
            self._known[place] = self._round(trial, number)
        return self._known[place]

    def rounds(self, trial: Trial[Any]) -> list[Ended]:
        """All rounds that came to their end, in order."""
        return [self.round(trial, number) for number in self.ended.get(trial.key, ())]

    def broken(self, trial: Trial[Any]) -> list[IoFailed]:
        """Errors with which what was under load answered, where they decide: of rounds that ended and of those that were cut short."""
        if not trial.errors_decide:
            return []
        ended = [one.failed for one in self.rounds(trial)]
        cut = [self._error(trial, number) for number in self._cut_by_errors(trial)]
        return [error for error in (*ended, *cut) if isinstance(error, IoFailed)]

    def decides(self, trial: Trial[Any], number: int) -> bool:
        """Whether a round decides whatever others give: what was under load answered with an error, or data came back wrong."""
        one = self.round(trial, number)
        if one.void is not None or one.failed is not None:
            return trial.errors_decide and isinstance(one.failed, IoFailed)
        return trial.decisive is not None and trial.decisive(one.fact)

    def _error(self, trial: Trial[Any], number: int) -> IoFailed | None:
        """The error that a step of a round without an end was answered with: whoever interrupts a round takes nothing back."""
        place = (trial.key, number)
        if place not in self._errors:
            self._errors[place] = None
            for step in (*trial.preparation, *trial.steps_of(number)):
                try:
                    self._lets(trial, number, step)
                except IoFailed as error:
                    self._errors[place] = error
                    break
                except CannotTell:
                    continue
        return self._errors[place]

    def measured(self, trial: Trial[Fact]) -> Measured[Fact]:
        """Return what the rounds gave. Raises CannotTell where fewer than wanted count, too many are void, or a further one was wanted.

        Not so where one of them decides: data that came back wrong, or a device that answered with an error.
        """
        self.asked[trial.key] = trial
        rounds = self.rounds(trial)
        good = [one for one in rounds if one.void is None and one.failed is None]
        facts = tuple(one.fact for one in good)
        voided = tuple(one.void for one in rounds if one.void is not None)
        failed = [one.failed for one in rounds if one.failed is not None]
        broken = tuple(error.phrase for error in self.broken(trial))
        around = tuple(one.around for one in good)
        measured = Measured(facts, voided, tuple(one.phrase for one in failed), around, broken)
        if broken:
            return measured
        if trial.decisive is not None and (decided := self._decided(trial, facts)):
            return replace(measured, facts=decided)
        if not rounds and (serials := self._not_permitted(trial)) is not None:
            raise CannotTell(
                say(
                    "{title}: nothing was written, because nobody named the disk: --allow-destructive {serials}",
                    title=trial.title, serials=" --allow-destructive ".join(serials),
                )
            )  # fmt: skip
        if not rounds and (blind := self._blind(trial)) is not None:
            raise CannotTell(
                say(
                    "{title}: nothing was measured, because the judgement could not tell made-up drops apart: {why}",
                    title=trial.title, why=blind,
                )
            )  # fmt: skip
        if len(facts) < trial.rounds:
            if failed:
                raise failed[-1]
            if voided:
                raise CannotTell(
                    say(
                        "{title}: {void} rounds are void ({why}) and {good} of {wanted} count: mend the cause, then measure again",
                        title=trial.title, void=len(voided), why=joined(voided), good=len(facts), wanted=trial.rounds,
                    )
                )  # fmt: skip
            raise CannotTell(
                say(
                    "{title}: {good} of {wanted} rounds were measured; go on with --only-stale",
                    title=trial.title, good=len(facts), wanted=trial.rounds,
                )
            )  # fmt: skip
        if not trial.few_void(len(voided), len(facts) + len(voided)):
            raise CannotTell(
                say(
                    "{title}: {void} of {made} rounds are void ({why}), at most 1 in {one_in} may be: mend the cause, then measure again",
                    title=trial.title, void=len(voided), made=len(facts) + len(voided), why=joined(voided), one_in=trial.one_void_in,
                )
            )  # fmt: skip
        if (why := self._wanting(trial, rounds)) is not None and trial.enough is not None and not trial.enough(facts):
            raise CannotTell(
                say(
                    "{title}: {good} rounds do not show enough, and the next one is not there ({why}): go on with --only-stale",
                    title=trial.title, good=len(facts), why=why,
                )
            )  # fmt: skip
        return measured

    def _wanting(self, trial: Trial[Any], rounds: Sequence[Ended]) -> Phrase | None:
        """Why the last round that was begun is not there, where another one may be made; None: it is there, or all were made."""
        counted = [one for one in rounds if one.failed is None]
        if len(counted) >= trial.most_after(sum(one.void is None for one in counted)):
            return None
        if self.begun.get(trial.key, 0) > max((one.number for one in rounds), default=0):
            return say("it was cut short")
        return rounds[-1].failed.phrase if rounds and rounds[-1].failed is not None else None

    def _not_permitted(self, trial: Trial[Any]) -> list[str] | None:
        for line in self.answers.evidence.notes(NOT_PERMITTED):
            serials = line.get("serials")
            if line.get("trial") == trial.key and isinstance(serials, list):
                return [str(serial) for serial in serials]
        return None

    def _blind(self, trial: Trial[Any]) -> str | None:
        """Why the judgement of a trial was not shown to be able to fail; None where it was, or nobody asked for it."""
        told = [line for line in self.answers.evidence.notes(PROOF) if line.get("trial") == trial.key]
        if not told or told[-1].get("outcome") == Outcome.PASS.value:
            return None
        return str(told[-1].get("note"))

    def numbers(self, trial: Trial[Any]) -> list[int]:
        """Evidence numbers of every step of every round that came to its end, and of what stood around it."""
        kept = (
            self.answers.place(host, key)
            for number in (*self.ended.get(trial.key, ()), *self._cut_by_errors(trial))
            for host, key in (
                *((step.host, trial.place(number, step)) for step in trial.everything),
                *((host, hidden(trial, number, moment)) for host in sorted(trial.hosts) for moment in AROUND),
            )
        )
        return [number for number in kept if number is not None]

    def _decided(self, trial: Trial[Fact], facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
        """The facts, with those of rounds that were cut short after they told what decides; empty where none decides."""
        decisive = trial.decisive or (lambda _: False)
        found = list(facts)
        for number in self._cut(trial):
            kept: dict[str, Any] = {}
            for step in trial.steps_of(number):
                with contextlib.suppress(CannotTell):
                    kept[step.name] = self.step(trial, number, step)
            # It may have been cut before it told enough.
            with contextlib.suppress(KeyError, UnreadableOutput, Voided, CannotTell):
                if decisive(fact := trial.read(kept)):
                    found.append(fact)
        return tuple(found) if any(decisive(fact) for fact in found) else ()

    def _cut(self, trial: Trial[Any]) -> list[int]:
        """Rounds that were begun and have no end."""
        return sorted(self._began.get(trial.key, set()) - set(self.ended.get(trial.key, ())))

    def _cut_by_errors(self, trial: Trial[Any]) -> list[int]:
        """Rounds without an end that tell an error which decides."""
        return [number for number in self._cut(trial) if trial.errors_decide and self._error(trial, number) is not None]

    def step(self, trial: Trial[Any], number: int, step: Step) -> Any:
        """Read the fact of one step. Raises CannotTell."""
        return self.answers.step(step.host, trial.place(number, step), step.probe)

    def _lets(self, trial: Trial[Any], number: int, step: Step) -> Any:
        """Read the fact of one step that lets the round go on. Raises CannotTell with the reason of one that does not."""
        fact = self.step(trial, number, step)
        try:
            why = None if step.must is None else step.must(fact)
        except AnsweredWithError as error:
            raise IoFailed(say("{host}: {line}", host=step.host, line=str(error))) from None
        if why is not None:
            raise CannotTell(why)
        return fact

    def _round(self, trial: Trial[Any], number: int) -> Ended:
        facts: dict[str, Any] = {}
        try:
            self._quiet(trial, number)
            prepared = [s for s in trial.preparation if self.answers.place(s.host, trial.place(number, s)) is not None]
            for step in (*prepared, *trial.steps_of(number)):
                facts[step.name] = self._lets(trial, number, step)
            self._same_names(trial, number)
            return Ended(number, trial.read(facts), around=self._around(trial, number))
        except CannotTell as error:
            return Ended(number, failed=error)
        except Voided as void:
            return Ended(number, void=void.why)
        except UnreadableOutput as error:
            return Ended(number, failed=Unreadable(say("{title}: {why}", title=trial.title, why=str(error))))

    def _quiet(self, trial: Trial[Any], number: int) -> None:
        for host in sorted(trial.hosts):
            found = self.answers.step(host, hidden(trial, number, QUIET), running(""))
            if not found.quiet:
                whose = ", ".join(found.others) or say("an earlier round of this run")
                raise CannotTell(
                    say(
                        "{host}: other load was running ({whose}): wait until it ends, or end it on the host, and go on with "
                        "--only-stale",
                        host=host, whose=whose,
                    )
                )  # fmt: skip

    def _around(self, trial: Trial[Any], number: int) -> Hosts:
        """What stood around a round; a host that could not be asked, as in older runs, is left out."""
        found: dict[str, Around] = {}
        for host in sorted(trial.hosts):
            with contextlib.suppress(CannotTell):
                looks = [self.answers.step(host, hidden(trial, number, one), surroundings()) for one in AROUND]
                found[host] = Around(*looks)
        return found

    def _same_names(self, trial: Trial[Any], number: int) -> None:
        for host, steps in named(trial).items():
            before, after = (
                self.answers.step(host, hidden(trial, number, moment), controllers()) for moment in (BEFORE, AFTER)
            )
            for step in steps:
                if device_names(host, step.probe, before) != device_names(host, step.probe, after):
                    raise DeviceAbsent(
                        say("{host}: the disks changed their names while {title} ran", host=host, title=trial.title)
                    )


def named(trial: Trial[Any]) -> Mapping[str, list[Step]]:
    """Steps that ask a device by its serial, by host."""
    found: dict[str, list[Step]] = {}
    for step in trial.everything:
        if step.probe.devices:
            found.setdefault(step.host, []).append(step)
    return found


def hidden(trial: Trial[Any], number: int, moment: str) -> str:
    """Key of a hidden step of a round."""
    return f"{trial.key}/{number}/{moment}"
