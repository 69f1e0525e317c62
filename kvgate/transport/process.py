"""Runs a local program with bytes in and bytes out, bounded in time and size; used for OpenSSH and for this machine."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from kvgate.transport.link import LINGER, Bounds, Ending, Outcome

_PIECE = 1 << 18


def execute(
    argv: Sequence[str],
    stdin: bytes,
    bounds: Bounds,
    finished: Callable[[bytearray], bool] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run ``argv`` in a session of its own and end it, with all of its group, when a bound is reached.

    Raises OSError when the program cannot be started.
    """
    outcome = Outcome(sent=time.time())
    begun = time.monotonic()
    with subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=None if environment is None else dict(environment),
    ) as process:
        try:
            outcome.ending = _Pump(process, stdin, bounds, finished, outcome).run(begun)
        finally:
            _end(process, gently=outcome.ending is Ending.EXITED)
    outcome.status = process.returncode if outcome.ending is Ending.EXITED else None
    if outcome.status is not None and outcome.status < 0:
        outcome.status = 128 - outcome.status
    outcome.seconds = time.monotonic() - begun
    return outcome


def _end(process: subprocess.Popen[bytes], gently: bool) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    if gently:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LINGER)
            return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Pump:
    """Moves bytes between a process and an outcome until all is said or a bound is reached."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin: bytes,
        bounds: Bounds,
        finished: Callable[[bytearray], bool] | None,
        outcome: Outcome,
    ) -> None:
        self.process, self.bounds, self.finished, self.outcome = process, bounds, finished, outcome
        self.left = memoryview(stdin)
        self.selector = selectors.DefaultSelector()
        for pipe, event in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
        ):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self.selector.register(pipe, event)

    def run(self, begun: float) -> Ending:
        with self.selector:
            heard, ended = begun, 0.0
            while True:
                now = time.monotonic()
                if not ended and self.process.poll() is not None:
                    ended = now
                if ended and (now - ended > LINGER or not self._reading()):
                    return Ending.EXITED
                if now - begun > self.bounds.total:
                    return Ending.LATE
                if now - heard > self.bounds.silence:
                    return Ending.SILENT
                if self._step(0.05 if ended or not self._reading() else 0.5):
                    heard = time.monotonic()
                    if len(self.outcome.stdout) + len(self.outcome.stderr) > self.bounds.most:
                        return Ending.FLOODED
                    if self.finished is not None and self.finished(self.outcome.stdout):
                        return Ending.EXITED

    def _reading(self) -> bool:
        return any(key.events & selectors.EVENT_READ for key in self.selector.get_map().values())

    def _step(self, wait: float) -> bool:
        """Move what can be moved; tell whether anything arrived."""
        arrived = False
        for key, _ in self.selector.select(wait):
            pipe = key.fileobj
            if pipe is self.process.stdin:
                self._write(key)
            elif pipe is self.process.stdout:
                arrived |= self._read(key, self.outcome.stdout)
                self.outcome.arrivals.append((len(self.outcome.stdout), time.time()))
            else:
                arrived |= self._read(key, self.outcome.stderr)
        if not self.selector.get_map():
            time.sleep(wait)
        return arrived

    def _write(self, key: selectors.SelectorKey) -> None:
        try:
            self.left = self.left[os.write(key.fd, self.left[:_PIECE]) :]
        except BlockingIOError:
            return
        except OSError:
            self.left = self.left[:0]
        if not self.left:
            self._close(key)

    def _read(self, key: selectors.SelectorKey, into: bytearray) -> bool:
        try:
            piece = os.read(key.fd, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._close(key)
        into += piece
        return bool(piece)

    def _close(self, key: selectors.SelectorKey) -> None:
        self.selector.unregister(key.fileobj)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is key.fileobj:
                with contextlib.suppress(OSError):
                    pipe.close()
