"""A probe: one read-only question to a machine, the parser of its answer, and how the answer may come back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Generic, TypeVar

Fact = TypeVar("Fact")
Seen = TypeVar("Seen", covariant=True)

_GLOB = re.compile(r"[A-Za-z0-9_./:*?\[\]-]+", re.ASCII)
_BREAK = re.compile(r"[\n\r\0]")
_ID = re.compile(r"[a-z0-9_.:/-]+", re.ASCII | re.IGNORECASE)


class UnreadableOutput(Exception):
    """A tool's output that cannot be read to a fact; the message says what was found and what was wanted."""


class NothingPrinted(UnreadableOutput):
    """No output at all: what was asked about is not there, or nothing shows it."""


class AnsweredWithError(UnreadableOutput):
    """An output that says that the device or filesystem under load answered with an error; the message is the tool's line."""


class NotOffered(UnreadableOutput):
    """An output that says that this machine or driver does not offer what was asked; a declared answer may stand in."""


class Level(StrEnum):
    """How much a question disturbs the machine."""

    PASSIVE = "passive"
    LOAD = "load"
    DESTRUCTIVE = "destructive"


class Streams(StrEnum):
    """Which of the two output streams the parser reads."""

    STDOUT = "stdout"
    BOTH = "stdout+stderr"


@dataclass(frozen=True, slots=True)
class Glob:
    """A path pattern that the remote shell expands. Only harmless characters are allowed, so it needs no quoting."""

    pattern: str

    def __post_init__(self) -> None:
        if _GLOB.fullmatch(self.pattern) is None:
            raise ValueError(f"found pattern {self.pattern!r}, wanted letters, digits and _ . / : * ? [ ] -")


@dataclass(frozen=True, slots=True)
class Device:
    """A device named by what it is (serial), resolved to today's kernel name just before it is asked.

    ``kind`` is ``controller`` (/dev/nvme0) or ``namespace`` (/dev/nvme0n1, the lowest NSID). Kernel names change from
    boot to boot; serials do not.
    """

    kind: str
    serial: str

    def __str__(self) -> str:
        return f"{{{self.kind} with serial {self.serial}}}"


Word = str | Glob | Device


@dataclass(frozen=True, slots=True)
class Probe(Generic[Fact]):
    """One question. ``parse`` turns the text into a fact or raises UnreadableOutput.

    ``limit`` is in seconds; ``accepted`` are the exit statuses under which the output is worth reading; every other
    status means that it could not be told.
    """

    id: str
    argv: tuple[Word, ...]
    parse: Callable[[str], Fact]
    limit: float = 10.0
    accepted: frozenset[int] = frozenset({0})
    streams: Streams = Streams.STDOUT
    level: Level = Level.PASSIVE

    def __post_init__(self) -> None:
        if _ID.fullmatch(self.id) is None:
            raise ValueError(f"found probe id {self.id!r}, wanted letters, digits and _ . : / -")
        if not self.argv or not isinstance(self.argv[0], str):
            raise ValueError("the first word of a probe must be the tool's name")
        if broken := [word for word in self.argv if isinstance(word, str) and _BREAK.search(word)]:
            raise ValueError(
                f"found a line break or NUL in {broken[0][:80]!r}, wanted one line: nothing else can be sent"
            )

    @property
    def tool(self) -> str:
        """Name of the program that answers; a constant script is named by the probe's id."""
        return self.id if self.argv[0] == "sh" else str(self.argv[0])

    @property
    def path(self) -> str | None:
        """The first file or folder that is asked about, None where none is; a device's name is none."""
        words = (word.pattern if isinstance(word, Glob) else word for word in self.argv[1:])
        return next((word for word in words if isinstance(word, str) and word.startswith("/")), None)

    @property
    def devices(self) -> frozenset[Device]:
        """Devices that must be resolved before the command can run."""
        return frozenset(word for word in self.argv if isinstance(word, Device))

    def command(self, names: Mapping[Device, str] | None = None) -> str:
        """Return the shell command line, every word quoted. Without ``names``, devices stand as placeholders (for --plan)."""
        return _line(self.argv) if names is None else " ".join(_quoted(word, names) for word in self.argv)


def _quoted(word: Word, names: Mapping[Device, str] | None = None) -> str:
    if isinstance(word, Glob):
        return word.pattern
    if isinstance(word, Device):
        return shlex.quote(names[word]) if names is not None else str(word)
    return shlex.quote(word)


@lru_cache(maxsize=4096)
def _line(argv: tuple[Word, ...]) -> str:
    """Key of a question; asked for several times for each clause and subject."""
    return " ".join(map(_quoted, argv))


@dataclass(frozen=True, slots=True)
class Interval(Generic[Seen]):
    """The same question asked twice: counters are judged by the difference, never by their absolute value."""

    before: Seen
    after: Seen
    seconds: float
