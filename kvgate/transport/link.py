"""What carries a batch to one host: SSH channel, OpenSSH process or a local shell all execute one command and never hang."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Deadlines:
    """All waiting of the transport, in seconds. ``margin`` is granted on top of what the commands themselves may take."""

    connect: float = 15.0  # TCP, and the SSH banner after it
    login: float = 20.0  # key exchange and authentication
    channel: float = 25.0  # opening a session, starting the command, handing over the script
    margin: float = 15.0
    longest: float = 3600.0  # no batch takes longer, however many commands it has
    pause: float = 0.6  # before a login that was dropped is tried again; grows, with jitter


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one execution may take: seconds without a byte, seconds in all, bytes in all."""

    silence: float
    total: float
    most: int


class Ending(StrEnum):
    """How an execution came to its end."""

    EXITED = "exited"
    LOST = "lost"  # the connection ended first
    SILENT = "silent"  # nothing arrived for too long
    LATE = "late"  # the total ran out
    FLOODED = "flooded"  # more bytes than allowed


@dataclass(slots=True)
class Outcome:
    """Raw result of one execution. ``arrivals`` are (bytes of stdout so far, operator's clock) for each piece."""

    ending: Ending = Ending.LOST
    status: int | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    sent: float = 0.0
    arrivals: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)


class Link(Protocol):
    """A way to one host. ``execute`` raises CannotTell only when the command was never started."""

    @property
    def host_key(self) -> str:
        """SHA256 fingerprint that the host presented; empty when there was none to present."""
        ...

    def execute(
        self, command: str, stdin: bytes, bounds: Bounds, finished: Callable[[bytearray], bool] | None = None
    ) -> Outcome:
        """Run ``command``; ``finished`` may tell from stdout that all has been said and nothing more need be awaited."""
        ...


#: After the command has ended, its streams may stay open for this long (a child in the background holds them).
LINGER = 1.0
