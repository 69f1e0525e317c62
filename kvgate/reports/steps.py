"""How far long work over many rows or runs is: a line that is rewritten on a terminal, else a line now and then."""

from __future__ import annotations

import time
from typing import IO

from kvgate.reports.messages import Reader, language

_OFTEN, _SELDOM = 0.2, 10.0  # seconds between lines on a terminal, and elsewhere
_RATE = 0.05  # seconds of work that a rate can be told from


class Steps:
    """Call it with what is worked on and how many are done; of ``total``, where that is known."""

    def __init__(self, stream: IO[str], every: float | None = None) -> None:
        self._stream, self.total = stream, 0
        self.read = Reader(language())
        self._terminal = stream.isatty()
        self._least = _RATE if every is None else 0.0
        self._every = every if every is not None else _OFTEN if self._terminal else _SELDOM
        self._what = ""
        self._began = self._told = time.monotonic()
        self._shown = False

    def __call__(self, what: str, done: int) -> None:
        """Tell, unless it was told just now."""
        now = time.monotonic()
        if what != self._what:
            self._what, self._began = what, now
        if now - self._told < self._every or now - self._began < self._least:
            return
        self._told, self._shown = now, True
        shown = self.read.word(what)
        rate = done / max(now - self._began, 1e-9)
        if done <= self.total:
            left = (self.total - done) / rate if rate else 0.0
            line = self.read(
                "{what}: {done} of {total}, {rate:.0f}/s, {left:.0f} s left",
                what=shown, done=done, total=self.total, rate=rate, left=left,
            )  # fmt: skip
        else:
            line = self.read("{what}: {done}, {rate:.0f}/s", what=shown, done=done, rate=rate)
        self._stream.write(f"\r\x1b[K{line}" if self._terminal else f"{line}\n")
        self._stream.flush()

    def end(self) -> None:
        """Leave no half line behind."""
        if self._terminal and self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
