"""Standard output and error of a gate run: where nobody reads them any more, the gate goes on and its exit status is its own.

``| head``, a full disk behind ``>``, a terminal that was closed: Python and pytest end with status 1 then, which means STOP
here.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from typing import Any


class _Raw(io.RawIOBase):
    """A file descriptor that takes everything; what it cannot pass on is lost, and said once on standard error."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        """Tell that it takes text."""
        return True

    def fileno(self) -> int:
        """Return the descriptor, for whoever asks about the terminal."""
        return self._descriptor

    def isatty(self) -> bool:
        """Tell whether a person reads along."""
        return os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Pass on what can be passed on."""
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            select.select([], [self._descriptor], [], 1.0)
            return 0
        except OSError as error:
            self._give_up(error)
            return len(data)

    def _give_up(self, error: OSError) -> None:
        _devnull(self._descriptor)
        if self._descriptor == 1 and error.errno != errno.EPIPE:
            said = f"kvgate: standard output cannot be written: {error.strerror}; the gate goes on, see kvgate runs\n"
            with contextlib.suppress(OSError):
                os.write(2, said.encode())


def unfailing() -> None:
    """Replace both streams of this process, closed ones too. A descriptor that is closed would be taken by the next file."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            _devnull(descriptor)
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, _wrapped(descriptor, stream))


def _wrapped(descriptor: int, stream: io.TextIOWrapper | None) -> io.TextIOWrapper:
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(_Raw(descriptor)), encoding="utf-8", errors="backslashreplace")
    with contextlib.suppress(OSError):
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Raw(descriptor)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _devnull(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
