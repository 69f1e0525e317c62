"""When each stream is due, and what its sample holds."""

from __future__ import annotations

import math
import selectors
from typing import Any, Callable

from .apart import Apart, metrics
from .children import Child
from .kernel import KernelLog
from .reading import READERS, Config, Values, controller

_APART: dict[str, Callable[[Config, int], Values]] = {"space": READERS["space"], "metrics": metrics}


class Stream:
    """One stream of the plan. ``every`` in real seconds; ``origin`` is the moment of tick 0 on the monotonic clock."""

    def __init__(
        self, name: str, config: Config, scale: float, origin: float, wake: int, selector: selectors.BaseSelector
    ) -> None:
        self.name, self.every, self.tick = name, float(config["every"]) / scale, -1
        self._origin, self._config, self._selector = origin, config, selector
        self._limit = float(config.get("limit", 30)) / scale if "commands" in config else 0.0
        self._apart = Apart(_APART[name], config, wake) if name in _APART else None
        self._running: dict[str, Child] = {}
        self._found: Values = {}
        self._asked = -1
        self.kernel: KernelLog | None = None

    @property
    def due(self) -> float:
        """When the next tick is due."""
        return self._origin + (self.tick + 1) * self.every

    def skip(self, at: float) -> None:
        """Pass over the ticks that were due before: nobody was there to take them."""
        self.tick = max(self.tick, math.ceil((at - self._origin) / self.every) - 1)

    def take(self, at: float) -> list[tuple[int, Values]]:
        """Take the tick that is due, and give every tick that is complete; of several that are due, the last one."""
        found: list[tuple[int, Values]] = []
        if at >= self.due:
            self.tick = math.floor((at - self._origin) / self.every + 1e-9)
            found += self._at_once(at)
        return found + self._later(at)

    def _at_once(self, at: float) -> list[tuple[int, Values]]:
        if self._apart is not None:
            late = self._apart.ask(self.tick, at)
            return [] if late is None else [(self.tick, late)]
        if "commands" in self._config:
            return self._start(at)
        try:
            values = self._kernel() if self.name == "kernel" else READERS[self.name](self._config, self.tick)
        except Exception as error:
            values = {"": {"error": "%s: %s" % (type(error).__name__, error)}}
        return [(self.tick, values)]

    def _kernel(self) -> Values:
        if self.kernel is None:
            self.kernel = KernelLog(self._config.get("next"))
        return self.kernel.read()

    def _start(self, at: float) -> list[tuple[int, Values]]:
        if self._running:
            since = min(one.begun for one in self._running.values())
            return [
                (self.tick, {"": {"error": "the tools of the tick before have not ended since %.0f s" % (at - since)}})
            ]
        self._asked, self._found = self.tick, {}
        for subject, words in self._config["commands"].items():
            try:
                argv = [controller(subject) if word == "{controller}" else word for word in words]
                self._running[subject] = Child(argv, at, self._limit, self._selector)
            except OSError as error:
                self._found[subject] = {"error": "%s: %s" % (words[0], error.strerror or error)}
        return []

    def _later(self, at: float) -> list[tuple[int, Values]]:
        if self._apart is not None:
            told = self._apart.told()
            return [] if told is None else [told]
        for subject in [one for one, child in self._running.items() if child.done(at)]:
            child = self._running.pop(subject)
            self._found[subject] = {**child.told(), "seconds": round(at - child.begun, 3)}
        if self._found and not self._running:
            values, self._found = self._found, {}
            return [(self._asked, values)]
        return []

    @property
    def children(self) -> list[Child]:
        """Tools that run now."""
        return list(self._running.values())

    def state(self) -> dict[str, Any]:
        """What `status` shows."""
        return {"tick": self.tick, "every": self.every}
