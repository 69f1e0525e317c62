"""What gate tests ask with. First run dry, to learn every question of a run; then run again on the answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from checks.decision import Owed
from checks.phrase import joined, say
from checks.probe import Interval, Probe
from checks.trial import Measured, Trial
from checks.verdict import Verdict
from kvgate.errors import CannotTell
from kvgate.gate import starts as kept_starts
from kvgate.gate.answers import Answers
from kvgate.gate.baseline import Baseline
from kvgate.gate.tried import Tried

if TYPE_CHECKING:  # journals are read with heavy libraries, which no other gate needs
    from checks.soak.arrival import Arrived
    from checks.soak.attempts import Starts
    from checks.soak.facts import HostSoak
    from kvgate.gate.soaked import Soaked

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class Need:
    """One question to one host; ``samples`` is 2 where counters are judged by difference.

    ``instead``: read only where the first way to ask could not be told.
    """

    host: str
    probe: Probe[Any]
    samples: int = 1
    instead: bool = False

    @property
    def key(self) -> str:
        """The command line with devices as placeholders: the same question has the same key in every run."""
        return self.probe.command()


class Asker(Protocol):
    """The ``ask`` fixture."""

    def __call__(self, host: str, probe: Probe[Fact], otherwise: Probe[Fact] | None = None) -> Fact:
        """Return the fact; ``otherwise`` is asked too and read where the first could not be told. Raises CannotTell."""
        ...

    def all(self, host: str, *probes: Probe[Any]) -> tuple[Any, ...]:
        """Several facts of one host. Raises CannotTell for the first that could not be told."""
        ...

    def twice(self, host: str, probe: Probe[Fact]) -> Interval[Fact]:
        """The same fact at two moments of this run, at least some seconds apart, within one boot."""
        ...

    def each(self, hosts: Sequence[str], probe: Probe[Fact]) -> dict[str, Fact]:
        """One fact of every host. Raises CannotTell naming every host that could not tell: none speaks for another."""
        ...

    def host_key(self, host: str) -> str:
        """``SHA256:...`` of the key the host presented, also where it was refused."""
        ...

    def clock(self, host: str) -> tuple[float, float]:
        """Host clock minus operator clock in seconds, as the interval that holds it."""
        ...

    def measure(self, trial: Trial[Fact]) -> Measured[Fact]:
        """The ``measure`` fixture: what the rounds of a trial gave. Raises CannotTell when too few of them count."""
        ...

    def baseline(self, clause: str, subject: str) -> Verdict | None:
        """The ``baseline`` fixture: what a clause of the gate before came to; None where it measured nothing."""
        ...

    def soak(self, host: str) -> HostSoak:
        """The ``soak`` fixture: what the host's journal tells. Raises CannotTell where there is none, or it cannot be read."""
        ...

    def starts(self) -> Starts | None:
        """The ``starts`` fixture: which soaks the ledger had when the journals were taken; None where the run kept no list."""
        ...

    def arrival(self, left_out: Collection[str]) -> Arrived:
        """The ``arrival`` fixture: every clause of G1 but these, asked again in this run."""
        ...


class Again(Protocol):
    """What asks G1 again (kvgate.gate.arrival)."""

    def rehearse(self, ask: Rehearsal, left_out: Collection[str]) -> None:
        """Note what it will ask."""
        ...

    def judge(self, ask: Asked, left_out: Collection[str]) -> Arrived:
        """Judge it on the answers."""
        ...


class Rehearsed(BaseException):
    """A dry run has come as far as it can without answers. Not an Exception, so that no test body swallows it."""


class _Hole:
    """Stands for a fact in the dry run; touching it ends the run."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> NoReturn:
        raise Rehearsed

    def _end(self, *_: object) -> NoReturn:
        raise Rehearsed

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __call__ = __str__ = __lt__ = __gt__ = _end
    __le__ = __ge__ = __add__ = __sub__ = __int__ = __float__ = _end

    def __eq__(self, _: object) -> bool:
        raise Rehearsed

    def __hash__(self) -> int:
        raise Rehearsed


@dataclass
class Rehearsal:
    """An asker that answers nothing and writes down what was asked, and which hosts must be met at all."""

    needs: list[Need] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    late: set[Owed] = field(default_factory=set)  # what needs a second sample
    clocks: list[str] = field(default_factory=list)  # hosts whose clock is asked for, each time
    trials: list[Trial[Any]] = field(default_factory=list)
    soaks: list[str] = field(default_factory=list)  # hosts whose journal is wanted
    baseline: Baseline = field(default_factory=lambda: Baseline(None))  # known beforehand: rounds go on by it
    again: Again | None = None  # asks G1 again
    following: set[Owed] = field(default_factory=set)  # what loads as answers say that are not there yet

    def _note(self, host: str, probe: Probe[Any], samples: int = 1, instead: bool = False) -> Any:
        self.hosts.add(host)
        self.needs.append(Need(host, probe, samples, instead))
        return _Hole()

    def __call__(self, host: str, probe: Probe[Any], otherwise: Probe[Any] | None = None) -> Any:
        """Note one question and its stand-in."""
        if otherwise is not None:
            self._note(host, otherwise, instead=True)
        return self._note(host, probe)

    def all(self, host: str, *probes: Probe[Any]) -> tuple[Any, ...]:
        """Note several questions."""
        return tuple(self._note(host, probe) for probe in probes)

    def twice(self, host: str, probe: Probe[Any]) -> Any:
        """Note a question with two samples."""
        return self._note(host, probe, 2)

    def each(self, hosts: Sequence[str], probe: Probe[Any]) -> dict[str, Any]:
        """Note one question for every host."""
        return {host: self._note(host, probe) for host in hosts}

    def host_key(self, host: str) -> Any:
        """Note that the host must be met."""
        self.hosts.add(host)
        return _Hole()

    def clock(self, host: str) -> Any:
        """Note that the host must be met; every round tells its clock anew, and more closely together than alone."""
        self.hosts.add(host)
        self.clocks.append(host)
        return _Hole()

    def soak(self, host: str) -> Any:
        """Note that the host's journal is wanted, and that the host must be met: the rack is the one that was soaked."""
        self.hosts.add(host)
        self.soaks.append(host)
        return _Hole()

    def arrival(self, left_out: Collection[str]) -> Any:
        """Note what G1 asks."""
        if self.again is not None:
            self.again.rehearse(self, left_out)
        return _Hole()

    def starts(self) -> Any:
        """Nothing is asked for it: the ledger has it."""
        return _Hole()

    def measure(self, trial: Trial[Any]) -> Any:
        """Note that load is wanted on the trial's hosts."""
        self.hosts |= trial.hosts
        self.trials.append(trial)
        return _Hole()


class Facts(ABC):
    """The three ways of a gate test to read facts, by one: ``_fact``."""

    def __call__(self, host: str, probe: Probe[Any], otherwise: Probe[Any] | None = None) -> Any:
        """Read one fact. Raises CannotTell."""
        try:
            return self._fact(host, probe)
        except CannotTell:
            if otherwise is None:
                raise
            return self._fact(host, otherwise)

    def all(self, host: str, *probes: Probe[Any]) -> tuple[Any, ...]:
        """Read several facts. Raises CannotTell."""
        return tuple(self._fact(host, probe) for probe in probes)

    def each(self, hosts: Sequence[str], probe: Probe[Any]) -> dict[str, Any]:
        """Read one fact of every host. Raises CannotTell."""
        return {host: self._fact(host, probe) for host in hosts}

    @abstractmethod
    def _fact(self, host: str, probe: Probe[Any]) -> Any:
        """Read one fact. Raises CannotTell."""


@dataclass
class Informed(Facts, Rehearsal):
    """A rehearsal on the answers that are there by now: a load that follows from facts is noted as they make it.

    Without ``answers``, as in a plan, no fact can be told.
    """

    answers: Answers | None = None

    def _fact(self, host: str, probe: Probe[Any]) -> Any:
        if self.answers is None:
            raise CannotTell(say("{host} tells it when the run begins", host=host))
        return self.answers.fact(host, probe)


class Asked:
    """An asker on the kept answers of a run, for one test.

    ``used`` are the evidence numbers that it read, ``readers`` the modules of their parsers, ``unasked`` what was not kept.
    """

    def __init__(
        self, answers: Answers, tried: Callable[[], Tried] | None = None, soaked: Callable[[], Soaked] | None = None,
        again: Again | None = None,
    ) -> None:  # fmt: skip
        self.answers = answers
        self.used: list[int] = []
        self.readers: list[str] = []
        self.unasked: list[str] = []
        self.baseline = Baseline(answers.evidence)
        self._tried = tried or (lambda: Tried(answers))
        self._soaked = soaked or (lambda: _journals(answers))
        self._again = again

    def __call__(self, host: str, probe: Probe[Fact], otherwise: Probe[Fact] | None = None) -> Fact:
        """Read one fact."""
        try:
            return self._fact(host, probe)
        except CannotTell as first:
            if otherwise is None:
                raise
            try:
                return self._fact(host, otherwise)
            except CannotTell as second:
                both = say("{first}; and instead: {second}", first=first.phrase, second=second.phrase)
                message = first.phrase if first.phrase == second.phrase else both
                raise _worse(first, second)(message) from second

    def all(self, host: str, *probes: Probe[Any]) -> tuple[Any, ...]:
        """Read several facts."""
        return tuple(self._fact(host, probe) for probe in probes)

    def twice(self, host: str, probe: Probe[Fact]) -> Interval[Fact]:
        """Read both samples."""
        before, after = self._fact(host, probe, 1), self._fact(host, probe, 2)
        return Interval(before, after, self.answers.seconds_between(host, probe))

    def each(self, hosts: Sequence[str], probe: Probe[Fact]) -> dict[str, Fact]:
        """Read one fact of every host."""
        facts: dict[str, Fact] = {}
        why: dict[str, CannotTell] = {}
        for host in hosts:
            try:
                facts[host] = self._fact(host, probe)
            except CannotTell as error:
                why[host] = error
        if why:
            kinds = {type(error) for error in why.values()}
            kind = kinds.pop() if len(kinds) == 1 else CannotTell
            parts = [
                error.phrase if host in str(error) else say("{host}: {why}", host=host, why=error.phrase)
                for host, error in why.items()
            ]
            raise _plain(kind)(joined(parts))
        return facts

    def host_key(self, host: str) -> str:
        """Read the presented key."""
        return self.answers.host_key(host)

    def clock(self, host: str) -> tuple[float, float]:
        """Read the clock interval."""
        return self.answers.clock(host)

    def measure(self, trial: Trial[Fact]) -> Measured[Fact]:
        """Read the rounds of a trial."""
        tried = self._tried()
        numbers = tried.numbers(trial)
        self.used += numbers
        parsers = [step.probe.parse for stage in trial.stages for step in stage]
        self.readers += [getattr(one, "__module__", None) or "" for one in (trial.read, *parsers)]
        if not numbers:
            self.unasked.append(trial.id)
        return tried.measured(trial)

    def soak(self, host: str) -> HostSoak:
        """Read the journal of a host."""
        soaked = self._soaked()
        numbers = soaked.numbers(host)
        self.used += numbers
        self.readers += ["checks.parsers.soak_journal", "checks.parsers.soak_state", "checks.soak.facts"]
        if not numbers:
            self.unasked.append(f"{host}: soak")
        return soaked.host(host)

    def arrival(self, left_out: Collection[str]) -> Arrived:
        """Judge G1 again on the answers of this run."""
        if self._again is None:
            raise CannotTell(say("G1 is asked again by a run of G4 alone"))
        return self._again.judge(self, left_out)

    def starts(self) -> Starts | None:
        """Read the list that was kept."""
        self.readers.append("checks.soak.starts")
        return kept_starts.kept(self.answers.evidence)

    def _fact(self, host: str, probe: Probe[Fact], sample: int = 1) -> Fact:
        numbers = self.answers.numbers(host, probe, sample)
        self.used += numbers
        self.readers.append(getattr(probe.parse, "__module__", None) or "")
        if not numbers:
            self.unasked.append(f"{host}: {probe.tool} ({probe.id})")
        return self.answers.fact(host, probe, sample)


def _journals(answers: Answers) -> Soaked:
    from kvgate.gate.soaked import Soaked

    return Soaked(answers)


def _plain(kind: type[CannotTell]) -> type[CannotTell]:
    return kind if kind.__init__ is CannotTell.__init__ else CannotTell


def _worse(first: CannotTell, second: CannotTell) -> type[CannotTell]:
    # A declaration may stand in only when both ways to ask are closed for a declarable reason.
    from kvgate.errors import DECLARABLE

    return _plain(type(first)) if isinstance(second, DECLARABLE) else _plain(type(second))
