"""What can be wrong in a soak, as data; times in seconds of the soak."""

from __future__ import annotations

import math
from dataclasses import dataclass

Value = int | float | str | bool | None


@dataclass(frozen=True)
class Word:
    """A field of a subject has another value from ``begin`` to ``end``."""

    stream: str
    subject: str
    field: str
    begin: float
    end: float
    value: Value


@dataclass(frozen=True)
class Count:
    """A counter stands higher by ``by`` from ``at`` on (lower where negative)."""

    stream: str
    subject: str
    field: str
    at: float
    by: int


@dataclass(frozen=True)
class Drift:
    """A value grows by the share ``by`` from ``begin`` to the end of the soak; a step where ``at_once``."""

    stream: str
    subject: str
    field: str
    begin: float
    by: float
    at_once: bool = False


@dataclass(frozen=True)
class Leak:
    """A value grows by the share ``hour`` of itself each hour, and stands where it stood after every restart of the engine.

    ``kept`` of what it grew stays all the same.
    """

    stream: str
    subject: str
    field: str
    hour: float
    kept: float = 0.0


@dataclass(frozen=True)
class Silent:
    """No sample of a stream (all where empty) from ``begin`` to ``end``; with ``error`` there is one that says so."""

    stream: str
    begin: float
    end: float
    subject: str = ""
    error: str = ""


@dataclass(frozen=True)
class Record:
    """The kernel writes a line."""

    at: float
    text: str
    prio: int = 4


#: Seconds after a reboot until the array is connected and the engine is there.
BOOTING = 130.0


@dataclass(frozen=True)
class Away:
    """Nothing is written for some seconds: ``reboot``, ``worker``, ``full``.

    After a reboot the engine is another process, which is there, as the array's controller is, ``booting`` seconds later; counters of
    the port stand where bringing it up leaves them.
    """

    kind: str
    at: float
    seconds: float
    booting: float = BOOTING


@dataclass(frozen=True)
class Moved:
    """The wall clock steps."""

    at: float
    seconds: float


@dataclass(frozen=True)
class Slow:
    """Time to the first token is multiplied, from 1 at ``begin`` to ``factor`` at ``end`` (at once where ``at_once``).

    ``tokens`` multiplies what a request gives from ``begin`` to ``end``.
    """

    begin: float
    end: float
    factor: float = 1.0
    tokens: float = 1.0
    at_once: bool = False


@dataclass(frozen=True)
class Tail:
    """From ``begin`` to ``end`` each ``nth`` request waits ``factor`` times as long for its first token; the others do not."""

    begin: float
    end: float
    factor: float
    nth: int = 25


@dataclass(frozen=True)
class Failing:
    """Requests fail from ``begin`` to ``end``."""

    begin: float
    end: float


@dataclass(frozen=True)
class Result:
    """The first pass of a load that ends after ``at`` ends otherwise."""

    load: str
    at: float
    status: int
    stdout: str
    stderr: str = ""
    why: str = ""


@dataclass(frozen=True)
class Restart:
    """A process is another one from ``at`` on, and is not there for ``seconds`` before its next sample."""

    at: float
    seconds: float


@dataclass(frozen=True)
class Replanned:
    """The plan was changed on the host after it was laid out: interruptions of ``longest`` seconds would be passed over."""

    longest: float


@dataclass(frozen=True)
class Stopped:
    """The worker ends early."""

    at: float
    why: str = "stopped"


@dataclass(frozen=True)
class Lost:
    """Records of the kernel's log are overwritten before they are read."""

    at: float
    count: int


@dataclass(frozen=True)
class Unhooked:
    """A load does not run from ``begin`` to ``end``."""

    load: str
    begin: float
    end: float = math.inf


Trouble = (
    Word
    | Replanned
    | Count
    | Drift
    | Leak
    | Silent
    | Record
    | Away
    | Moved
    | Slow
    | Tail
    | Failing
    | Result
    | Restart
    | Stopped
    | Lost
    | Unhooked
)
