"""Ctrl-C, SIGTERM and a closed terminal: one of them, or many, end a gate run in one way, with everything stored.

Python raises KeyboardInterrupt wherever the program happens to be: in the middle of a line of the journal, of a
transaction, of an import. Here a signal is noted, and ends the run only where it merely waits or thinks (:func:`waiting`);
before anything is stored it ends the process at once, and once the run is being concluded it changes nothing any more.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

Item = TypeVar("Item")

#: Exit status of an interrupted run.
INTERRUPTED = 2

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """The run was asked to end; the message says by what."""

    __module__ = "builtins"  # pytest shows the name as it does with its own


@dataclass
class _State:
    """What this process was told. Signals belong to a process, so there is one of it."""

    before: dict[signal.Signals, Any] = field(default_factory=dict)  # handlers that were there
    farewell: bytes | None = None  # last words while nothing is stored yet
    answer: bytes = b""  # said at once when a signal comes later
    talk: int = -1  # standard error as it was, whatever captures it now
    waits: bool = False
    told: str = ""
    raised: bool = False


_STATE = _State()


def catch(farewell: str) -> bool:
    """Take the signals over, if that was not done yet. Until :func:`hold` one ends the process at once, with these last words.

    What is ignored already (nohup, a job in the background) stays ignored. Does nothing beside the main thread.
    """
    if _STATE.before or threading.current_thread() is not threading.main_thread():
        return False
    _STATE.farewell = f"\n{farewell}\n".encode()
    with suppress(OSError):
        _STATE.talk = os.dup(2)
    for number in _CAUGHT:
        if (earlier := signal.getsignal(number)) is not signal.SIG_IGN:
            _STATE.before[number] = earlier
            signal.signal(number, _note)
    return True


def hold(answer: str = "") -> None:
    """From now on something is stored: a signal is answered at once and ends the run at the next place where it waits or thinks."""
    _STATE.answer = f"\n{answer}\n".encode() if answer else b""
    _STATE.farewell = None


def told() -> str:
    """Name of the signal that came, or nothing."""
    return _STATE.told


@contextmanager
def waiting() -> Iterator[None]:
    """The body only waits or thinks and may be broken off anywhere. Raises Interrupted, also for a signal before it.

    It does so once in a run: what is waited for afterwards cleans up.
    """
    _STATE.waits = True
    try:
        _end()
        yield
    finally:
        _STATE.waits = False


def one_by_one(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items while waiting for each: who takes one is not broken off while it is dealt with. Raises Interrupted."""
    while True:
        with waiting():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def conclude() -> None:
    """The run is being stored or is over: no signal changes that any more, nor the exit status."""
    for number in _STATE.before:
        signal.signal(number, signal.SIG_IGN)


def release() -> None:
    """Give the signals back, for a process that goes on after the run."""
    for number, earlier in _STATE.before.items():
        signal.signal(number, earlier)
    if _STATE.talk >= 0:
        os.close(_STATE.talk)
    vars(_STATE).update(vars(_State()))


def _note(number: int, frame: FrameType | None) -> None:
    del frame
    name = signal.Signals(number).name
    if _STATE.farewell is not None:
        with suppress(OSError):
            os.write(_STATE.talk, _STATE.farewell)
        os._exit(INTERRUPTED)
    if not _STATE.told:
        _STATE.told = name
        if _STATE.answer:
            with suppress(OSError):
                os.write(_STATE.talk, _STATE.answer)
        if _STATE.waits:
            _end()


def _end() -> None:
    if _STATE.told and not _STATE.raised:
        _STATE.raised = True
        raise Interrupted(_STATE.told)
