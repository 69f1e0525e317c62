"""Programs that run beside the loop: never waited for, bounded in time and output, ended with all that they started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from typing import Any, Callable

_PIECE = 65536
_LINE = 65536  # bytes of a line at most; a longer one is broken
_GRACE = 10.0  # seconds between TERM and KILL
_LINGER = 2.0  # seconds that streams may stay open after the end


class Child:
    """One program. ``line`` takes stdout line by line; without it stdout is kept, up to ``cap`` bytes."""

    def __init__(
        self,
        argv: list[str],
        begun: float,
        limit: float,
        selector: selectors.BaseSelector,
        mark: str = "",
        cap: int = 1 << 20,
        line: Callable[[str], None] | None = None,
    ) -> None:
        environment = {**os.environ, "LC_ALL": "C", "NO_COLOR": "1", "TERM": "dumb"}
        environment["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"
        if mark:
            environment["KVGATE_LOAD"] = mark
        self.begun, self.limit, self.cap, self.cut, self.why = begun, limit, cap, False, ""
        self.kept = {"stdout": bytearray(), "stderr": bytearray()}
        self._line, self._selector, self._term, self._ended = line, selector, 0.0, 0.0
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self.pid, self.status = self._process.pid, 0
        self._open = {"stdout": self._process.stdout, "stderr": self._process.stderr}
        for name, pipe in self._open.items():
            assert pipe is not None  # noqa: S101 - asked for as a pipe
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, (self, name))

    def take(self, name: str) -> None:
        """Read what a stream holds."""
        pipe = self._open.get(name)
        if pipe is None:
            return
        try:
            piece = os.read(pipe.fileno(), _PIECE)
        except BlockingIOError:
            return
        if not piece:
            self._close(name)
        kept = self.kept[name]
        kept += piece
        if name == "stdout" and self._line is not None:
            while b"\n" in kept or len(kept) > _LINE:
                line, _, rest = kept.partition(b"\n") if b"\n" in kept[:_LINE] else (kept[:_LINE], b"", kept[_LINE:])
                kept[:] = rest
                self._line(line.decode("utf-8", "backslashreplace"))
        elif len(kept) > self.cap:
            self.cut = True
            del kept[self.cap :]

    def _close(self, name: str) -> None:
        pipe = self._open.pop(name, None)
        if pipe is not None:
            self._selector.unregister(pipe)
            pipe.close()

    def done(self, at: float) -> bool:
        """Whether it ended; one that is over its limit is ended."""
        if self._ended:
            if not self._open or at - self._ended > _LINGER:
                self._finish()
                return True
            return False
        status = self._process.poll()
        if status is not None:
            self.status, self._ended = (128 - status if status < 0 else status), at
            return self.done(at)
        if at - self.begun > self.limit and not self._term:
            self.end(at, "limit")
        if self._term and at - self._term > _GRACE:
            self._signal(signal.SIGKILL)
        return False

    def end(self, at: float, why: str) -> None:
        """Ask it to end; after a grace it is killed."""
        if not self._term and not self._ended:
            self._term, self.why = at, why
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.pid, number)

    def _finish(self) -> None:
        for name in list(self._open):
            self._close(name)
        self._signal(signal.SIGKILL)  # what it left in its group
        if self._line is not None and self.kept["stdout"]:
            self._line(self.kept["stdout"].decode("utf-8", "backslashreplace"))
            self.kept["stdout"].clear()

    @property
    def waits(self) -> bool:
        """Whether it is being ended, or its streams are being awaited: to be looked at again soon."""
        return bool(self._term or self._ended)

    def told(self) -> dict[str, Any]:
        """What its line says when it ended."""
        texts = {name: bytes(kept).decode("utf-8", "backslashreplace") for name, kept in self.kept.items()}
        status = 124 if self.why == "limit" else self.status
        return {"status": status, **texts, **({"cut": True} if self.cut else {})}
