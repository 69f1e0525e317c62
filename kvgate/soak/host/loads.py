"""The planned loads and actions: begun when they are due, one of a name at a time, ended with the soak."""

from __future__ import annotations

import hashlib
import json
import os
import selectors
import sys
from typing import Any, Callable

from .children import Child

_WORD = 1000  # characters

#: Tells an event of the stream ``load``: name and fields.
Tell = Callable[[str, dict], None]  # type: ignore[type-arg]


class Load:
    """One load of the plan. Times of the plan are soak seconds; ``number`` tells its runs apart."""

    def __init__(
        self,
        config: dict[str, Any],
        scale: float,
        origin: float,
        mark: str,
        tell: Tell,
        selector: selectors.BaseSelector,
    ) -> None:
        self.name, self._config, self._origin, self._tell, self._selector = (
            config["name"],
            config,
            origin,
            tell,
            selector,
        )
        self._first, self._every = float(config.get("first", 0)) / scale, float(config.get("every", 0)) / scale
        self._limit, self._long = float(config["limit"]) / scale, float(config.get("turn", 3600)) / scale
        self._mark = mark if config.get("mark", True) else ""
        self._turn, self._again_at, self._number = 0, 0.0, 0
        self._over = False
        self.child: Child | None = None

    @property
    def due(self) -> float:
        """When it is to begin next; never, while it runs without a rhythm, and when the soak ends."""
        if self._over:
            return float("inf")
        if self._config.get("again"):
            return float("inf") if self.child else max(self._origin + self._first, self._again_at)
        if self._turn and not self._every:
            return float("inf")
        return self._origin + self._first + self._turn * self._every

    def skip(self, at: float) -> None:
        """Pass over what was due before: it is not made up for."""
        while self.due < at and self._every:
            self._turn += 1

    def step(self, at: float, number: int) -> None:
        """Begin it when it is due; tell its end. ``number`` names a run that begins now."""
        child = self.child
        if child is not None and child.done(at):
            self.child = None
            self._again_at = at + (
                0.0 if at - child.begun > 1.0 else 1.0
            )  # what fails at once is not tried in a circle
            told = {**child.told(), "seconds": round(at - child.begun, 3), "why": child.why}
            self._tell(self.name, {"event": "end", "number": self._number, **told})
        if at >= self.due:
            self._turn += 1
            if self.child is not None:
                self._tell(self.name, {"event": "missed", "number": self._number, "why": "the one before still runs"})
            else:
                self._begin(at, number)

    def _begin(self, at: float, number: int) -> None:
        self._number = number
        argv = self._words(at)
        if (why := self._place()) is not None:
            self._again_at = at + 60.0
            self._tell(self.name, {"event": "missed", "number": number, "why": why})
            return
        line = self._line if self._config.get("output") == "lines" else None
        try:
            self.child = Child(
                argv, at, self._limit, self._selector, self._mark, int(self._config.get("cap", 1 << 20)), line
            )
        except OSError as error:
            self._again_at = at + 60.0
            self._tell(self.name, {"event": "missed", "number": number, "why": "%s: %s" % (argv[0], error.strerror)})
            return
        told = {
            "event": "begin",
            "number": number,
            "pid": self.child.pid,
            "argv": json.dumps([_short(word) for word in argv]),
        }
        self._tell(self.name, {**told, "scheduled": bool(self._config.get("scheduled", False))})

    def _words(self, at: float) -> list[str]:
        rota = self._config.get("rota")
        words = rota[int((at - self._origin) / self._long) % len(rota)] if rota else self._config["argv"]
        own = [sys.executable, self._config.get("worker", "")]
        return [part for word in words for part in (own if word == "{worker}" else [str(word)])]

    def _place(self) -> str | None:
        """Make the folder of the load, below its mount; why it may not begin, if it may not."""
        mount, needs = self._config.get("mount"), int(self._config.get("needs", 0))
        try:
            if mount and not os.path.ismount(mount):
                return f"nothing is mounted at {mount}"
            if self._config.get("folder"):
                os.makedirs(self._config["folder"], 0o700, exist_ok=True)
            if mount and needs:
                room = os.statvfs(mount)
                held = sum(one.stat().st_size for one in os.scandir(self._config["folder"]) if one.is_file())
                if room.f_bavail * room.f_frsize + held < needs:
                    return f"{mount} has less than {needs} bytes free"
        except OSError as error:
            return f"{error.filename or mount}: {error.strerror}"
        return None

    def _line(self, line: str) -> None:
        self._tell(self.name, {"event": "line", "number": self._number, "line": line})

    def end(self, at: float, why: str) -> None:
        """Ask it to end, and begin no more."""
        self._over = True
        if self.child is not None:
            self.child.end(at, why)


def _short(word: str) -> str:
    """A word as its line carries it: a whole program is named by its digest, for the plan holds it."""
    return (
        word if len(word) <= _WORD else "sha256:" + hashlib.sha256(word.encode("utf-8", "surrogateescape")).hexdigest()
    )
