"""One engine: requests in the order they come, the time each takes, and what it answers. Knows no clock: it is told the time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from lab.engine import answer
from lab.engine.counts import Counts
from lab.engine.device import Devices, Path
from lab.engine.knobs import Knobs
from lab.engine.shape import Shape
from lab.engine.store import MemoryStore, Store
from lab.engine.tiers import Found, Tiers, share


@dataclass(frozen=True)
class Ask:
    """One request: the prompt's name, keys of its whole chunks, its length and how many tokens to make."""

    prompt: str
    keys: tuple[str, ...]
    tokens: int
    out: int


@dataclass(frozen=True)
class Served:
    """What becomes of a request. Instants on the clock that the engine was told; ``words`` come at ``first``, then every ``gap``.

    ``trouble`` is empty or one of: 429, 500, empty, dropped, error, stalled, dead. Usage is None where it tells none.
    """

    first: float
    gap: float
    words: tuple[str, ...]
    tokens_in: int | None
    tokens_out: int | None
    cached: int
    trouble: str = ""

    @property
    def last(self) -> float:
        """When the last word comes."""
        return self.first + self.gap * max(len(self.words) - 1, 0)


_TROUBLES = (
    ("429", "too_many"), ("500", "broken"), ("empty", "empty"), ("dropped", "dropped"), ("error", "error"), ("stalled", "stalled"),
)  # fmt: skip


@dataclass
class Engine:
    """An engine with its store, from process to process. ``running`` is whether a process serves at all."""

    shape: Shape
    knobs: Knobs = field(default_factory=Knobs)
    store: Store | None = field(default_factory=MemoryStore)
    devices: Devices = field(default_factory=Devices)
    path: Path = field(default_factory=lambda: Path("nvme0n1"))
    name: str = "engine"
    running: bool = False
    starts: int = 0
    counts: Counts = field(default_factory=Counts)
    tiers: Tiers = field(init=False)
    _free: float = 0.0  # when the engine has done all that it was given
    _turns: int = 0

    def __post_init__(self) -> None:
        if self.knobs.chunk:
            self.shape = replace(self.shape, chunk=self.knobs.chunk)
        self.tiers = Tiers(self.shape, self.knobs, self.store, self.devices, self.path)

    @property
    def shown(self) -> Counts:
        """Counters as the pages show them."""
        return Counts(created=self.counts.created) if self.knobs.frozen else self.counts

    def start(self, now: float) -> bool:
        """Start a process; False where it does not come up."""
        if self.running:
            return True
        if self.knobs.will_not_start:
            return False
        self.running = True
        self.starts += 1
        self.tiers.restarted()
        self.counts = Counts(created=now)
        self._free = now
        return True

    def stop(self) -> None:
        """End the process."""
        if not self.knobs.will_not_stop:
            self.running = False

    def serve(self, ask: Ask, at: float) -> Served:
        """Serve one request that comes at ``at``; requests come in the order of their times."""
        knobs, trouble = self.knobs, self._trouble(ask)
        if trouble in ("429", "500", "dead"):
            return Served(at, 0.0, (), None, None, 0, trouble)
        found = self.tiers.take(ask.prompt, list(ask.keys), ask.tokens)
        begin = max(at, self._free)
        self._free = begin + self._seconds(ask, found)
        out = max(1, ask.out // 2) if ask.out > 1 and share("short", ask.prompt, knobs.short) else ask.out
        tokens = ask.tokens + knobs.extra_tokens
        self.counts.add(found, ask.tokens, out, self.shape)
        self.counts.computed += knobs.extra_tokens
        self.counts.prompt += knobs.extra_tokens
        self.counts.preempted += int(share("preempted", ask.prompt, knobs.preempted))
        self.counts.hot = len(self.tiers.host.held)
        self.counts.ttft += self._free - at
        self.counts.queued += begin - at
        return Served(
            first=self._free,
            gap=self.shape.gap,
            words=self._words(ask, found, out),
            tokens_in=None if knobs.no_usage else tokens,
            tokens_out=None if knobs.no_usage else out,
            cached=found.device + found.host + found.store,
            trouble=trouble,
        )

    def _trouble(self, ask: Ask) -> str:
        """What befalls a request; populating (one token) is spared, so that what it stored is there to be measured."""
        if not self.running:
            return "dead"
        if ask.out <= 1:
            return ""
        if self.knobs.dies_after and self.counts.requests >= self.knobs.dies_after:
            self.running = False
            return "dead"
        for trouble, knob in _TROUBLES:
            if share(trouble, ask.prompt, getattr(self.knobs, knob)):
                return trouble
        return ""

    def _seconds(self, ask: Ask, found: Found) -> float:
        shape, knobs = self.shape, self.knobs
        reading = found.read * shape.weight * knobs.slow / shape.read + found.memory * shape.weight / shape.memory
        taking = (found.store + found.host) * shape.restore * knobs.cpu
        computing = found.computed / shape.prefill * knobs.cpu
        if knobs.impossible:
            reading = taking = 0.0
        seconds = reading + taking + computing + 1e-4
        spread = random.Random(f"{self.name} {ask.prompt} {self.starts}").gauss(0.0, knobs.noise or shape.noise)
        common = random.Random(f"{self.name} {self.starts}").gauss(0.0, knobs.noise / 20 or 0.004)
        return seconds * max(0.05, 1 + spread) * max(0.05, 1 + common) * (1 + knobs.drift * self.starts)

    def _words(self, ask: Ask, found: Found, out: int) -> tuple[str, ...]:
        if found.restored and share("garbled", ask.prompt, self.knobs.garbled):
            return tuple(answer.noise(ask.prompt, out))
        turn = 0
        if share("varies", ask.prompt, self.knobs.nondeterministic):
            self._turns += 1
            turn = self._turns
        return tuple(answer.words(ask.prompt, found.held, out, turn))
