"""A trial: load made on purpose, in steps and rounds, and how one round is read to a fact. Says what to do; does nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from checks.around.causes import seen
from checks.around.facts import Hosts
from checks.phrase import Phrase, joined, say
from checks.probe import Level, Probe
from checks.verdict import Verdict

Fact = TypeVar("Fact")


#: Of so many rounds one may be void, for a cause that was recorded before its result was seen.
ONE_VOID_IN = 5


class Voided(Exception):
    """A round that does not count, for a cause that was recorded beside it: heat, throttling, a link that went away."""

    def __init__(self, why: Phrase) -> None:
        super().__init__(str(why))
        self.why = why


@dataclass(frozen=True)
class Step:
    """One command of a trial on one host. ``name`` is unique within the trial; its facts are found under it.

    ``must`` looks at the fact as soon as it is there and says why the trial may not go on; None lets it go on. It may raise
    AnsweredWithError where the fact is an error of the device or filesystem. ``always``
    marks what runs whatever happened before: stopping and cleaning up.
    """

    name: str
    host: str
    probe: Probe[Any]
    must: Callable[[Any], Phrase | None] | None = field(default=None, compare=False)
    always: bool = False


@dataclass(frozen=True)
class Live(Generic[Fact]):
    """What is looked at, and not kept, while a round runs: ``tell`` makes of two looks and the seconds between what is shown."""

    host: str
    probe: Probe[Fact]
    tell: Callable[[Fact, Fact, float], Phrase]


@dataclass(frozen=True)
class Trial(Generic[Fact]):
    """Load of one kind: stages one after another, the steps of a stage at the same time on their hosts, on one host in their order.

    All steps of a stage are asked, whatever the first of them said: what may be done only where a look was good is in a later stage.

    ``varied`` gives the stages of a round by its number where rounds differ (which arm comes first, which prompts); names and
    hosts of the steps stay those of ``stages``. Trials of one ``group`` take turns: a round of each, in an order that ``seed``
    shuffles anew each time, so that no slow change of the rack falls on one of them alone.

    ``proof`` shows before the first round that the judgement of this trial can fail; anything but PASS lets no round begin.

    ``prepare`` is done once before the first round of a sitting (laying out a file) and must be safe to do again;
    ``clean`` once after its last round, whatever happened.

    ``decisive`` says of a fact that it decides whatever the others give: data that came back wrong. One such round is told even where
    the wanted ones are not there. Only for trials of which no clause takes anything else.

    ``errors_decide``: a round that ended because the device or filesystem answered with an error decides as well. Then no further one
    is made, and what is measured has it as ``broken``: only for trials whose clauses all look there.

    ``read`` makes the fact of a round from the facts of its steps by name; it raises UnreadableOutput where they tell nothing
    and Voided where the round does not count. ``rounds`` good ones are wanted; where ``enough`` is given, rounds go on until
    it holds of those so far (as for a steady state) or ``at_most`` were made; ``again`` holds the void rule where both are given:
    before the wanted rounds are there, one in five may be void and is made again. Of all rounds at most one in ``one_void_in``
    may be void: with more, rounds go on until the share is kept, whatever they gave, and at most as many as one void round
    for each ``one_void_in`` wanted ones asks for. ``seconds`` is what one round takes as planned and
    ``setup`` what is done before the first, for whoever shows progress.
    """

    id: str
    title: Phrase
    stages: tuple[tuple[Step, ...], ...]
    read: Callable[[Mapping[str, Any]], Fact] = field(compare=False)
    rounds: int = 3
    at_most: int = 0
    enough: Callable[[Sequence[Fact]], bool] | None = field(default=None, compare=False)
    decisive: Callable[[Fact], bool] | None = field(default=None, compare=False)
    errors_decide: bool = False
    again: bool = False
    one_void_in: int = ONE_VOID_IN
    seconds: float = 0.0
    setup: float = 0.0
    live: Live[Any] | None = field(default=None, compare=False)
    prepare: tuple[tuple[Step, ...], ...] = ()
    clean: tuple[Step, ...] = ()
    varied: Callable[[int], tuple[tuple[Step, ...], ...]] | None = field(default=None, compare=False)
    group: str = ""
    seed: int = 0
    proof: Callable[[], Verdict] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        names = [step.name for step in self.everything]
        if not self.steps or len(set(names)) != len(names):
            raise ValueError(f"steps of trial {self.id} are named {names}, wanted at least one and no name twice")
        if self.rounds < 1 or self.one_void_in < 1:
            found = f"found {self.rounds} rounds, one of {self.one_void_in} void, of trial {self.id}"
            raise ValueError(f"{found}, wanted at least 1 of each")

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of a round, in order."""
        return tuple(step for stage in self.stages for step in stage)

    def stages_of(self, number: int) -> tuple[tuple[Step, ...], ...]:
        """Stages of round ``number`` (from 1). Raises ValueError where names or hosts are not those of the trial."""
        if self.varied is None:
            return self.stages
        stages = self.varied(number)
        found = sorted((step.name, step.host) for stage in stages for step in stage)
        if found != sorted((step.name, step.host) for step in self.steps):
            raise ValueError(f"round {number} of trial {self.id} has other steps than its first: {found}")
        return stages

    def steps_of(self, number: int) -> tuple[Step, ...]:
        """The steps of round ``number`` in order."""
        return tuple(step for stage in self.stages_of(number) for step in stage)

    @property
    def preparation(self) -> tuple[Step, ...]:
        """The steps that are done once before the first round of a sitting."""
        return tuple(step for stage in self.prepare for step in stage)

    @property
    def everything(self) -> tuple[Step, ...]:
        """Every step that may run."""
        return (*self.preparation, *self.steps, *self.clean)

    @property
    def hosts(self) -> frozenset[str]:
        """Every host that takes part."""
        return frozenset(step.host for step in self.everything)

    @property
    def level(self) -> Level:
        """The strongest level of its steps, at least load: a trial is never passive."""
        return Level.DESTRUCTIVE if any(s.probe.level is Level.DESTRUCTIVE for s in self.everything) else Level.LOAD

    @property
    def key(self) -> str:
        """Name of the trial with a digest of everything it runs: rounds of another procedure are never taken for its own."""
        text = "\0".join(f"{step.name}\0{step.host}\0{step.probe.command()}\0{step.always}" for step in self.everything)
        return f"{self.id}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def most(self) -> int:
        """Rounds that are made at most: void ones are made again, and more good ones beside them until few enough are void."""
        return max(self.at_most, self.rounds + self._voids, self._voids * self.one_void_in if self.rounds > 1 else 0)

    @property
    def _voids(self) -> int:
        return max(1, self.rounds // self.one_void_in)

    def most_after(self, good: int) -> int:
        """The same while ``good`` rounds count so far: more than the wanted ones are made of good rounds, not of void ones."""
        return self.rounds + self._voids if self.again and good < self.rounds else self.most

    def few_void(self, void: int, made: int) -> bool:
        """Whether so many void rounds of all that were made are few enough. A single round is made again, or it is not there."""
        return self.rounds == 1 or void * self.one_void_in <= made

    def place(self, number: int, step: Step) -> str:
        """Key under which the answer to a step of round ``number`` (from 1) is kept."""
        return f"{self.key}/{number}/{step.name}"


@dataclass(frozen=True)
class Measured(Generic[Fact]):
    """What the rounds of a trial gave: the facts that count, in order, and why others do not.

    ``voided`` were recorded as not to count; ``failed`` could not be told and were made again in a later sitting. ``around``
    is what stood around each round that counts, by host; empty where nobody looked. ``broken`` says of each round that ended in an
    error of the device or filesystem what it answered: then no more are made, and ``facts`` may be fewer than wanted, or none.
    """

    facts: tuple[Fact, ...]
    voided: tuple[Phrase, ...] = ()
    failed: tuple[Phrase, ...] = ()
    around: tuple[Hosts, ...] = ()
    broken: tuple[Phrase, ...] = ()

    def remarks(self) -> Phrase | None:
        """Say of each round that does not count why, and what went wrong around those that do; None where nothing did."""
        parts = [say("a void round: {why}", why=why) for why in self.voided]
        parts += [say("a round that could not be told: {why}", why=why) for why in self.failed]
        parts += [say("around the rounds: {what}", what=what) for what in seen(self.around)]
        return joined(parts) if parts else None


def turn(trials: Sequence[Trial[Any]], number: int) -> list[Trial[Any]]:
    """Order in which trials of one group take their turn ``number`` (from 1): shuffled by their seed, the same every time."""
    seed = f"{trials[0].group}\0{trials[0].seed}\0{number}" if trials else ""

    def place(trial: Trial[Any]) -> str:
        return hashlib.sha256(f"{seed}\0{trial.id}".encode()).hexdigest()

    return sorted(trials, key=place)
