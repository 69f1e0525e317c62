"""What every transport offers: a batch of commands for one host goes out, one answer or one reason comes back for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kvgate.errors import CannotTell


@dataclass(frozen=True, slots=True)
class Command:
    """One shell command line. ``limit`` is in seconds, ``cap`` in bytes a stream; ``key`` is unique within a batch.

    ``reads``: it writes no files of its own, so its streams may go straight into files under a limit on their size;
    that costs the host half. A command that makes load, or was not looked at, gets a pipe and a reader a stream.
    """

    key: str
    line: str
    limit: float = 10.0
    cap: int = 64 * 2**20
    reads: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: raw bytes of both streams, exit status (124 = its limit ran out), duration in seconds."""

    key: str
    stdout: bytes
    stderr: bytes
    status: int
    seconds: float
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """Host clock minus operator clock, in seconds, as an interval that the true offset lies in."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcome of one batch on one host: an answer or a reason for every command that was sent."""

    host: str
    answers: Mapping[str, Answer | CannotTell]
    host_key: str = ""  # SHA256:... of the key the host presented
    boot_id: str = ""
    clock: Clock | None = None
    started_utc: str = ""  # ISO 8601, operator's clock
    started_monotonic: float = 0.0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()  # reconnects, retries, leftovers


class Transport(Protocol):
    """A way to ask many hosts. No method raises for a host that fails: the reason stands in its batch."""

    def each(self, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
        """Ask all hosts at once, each its own commands, and yield one batch a host as they come in; none is held."""
        ...

    def run(
        self, commands: Mapping[str, Sequence[Command]], progress: Callable[[Batch], None] | None = None
    ) -> dict[str, Batch]:
        """As :meth:`each`, all batches together, by host in the order asked; ``progress`` sees each as it comes in."""
        ...

    def close(self) -> None:
        """End all connections; never blocks on a dead peer."""
        ...
