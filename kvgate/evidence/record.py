"""What a run keeps of each question: the answer with its raw bytes, or the reason why there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import kvgate.errors
from checks.phrase import Phrase, say
from kvgate.codec import phrase_from_json
from kvgate.errors import CannotTell, Damaged, HostKeyRefused
from kvgate.evidence.blobs import Blobs
from kvgate.evidence.packing import parts
from kvgate.transport.base import Clock

Plain = TypeVar("Plain", str, int, bool)

_LABEL = re.compile(r"E([1-9][0-9]*)", re.ASCII)


def label(seq: int) -> str:
    """Return the short id that people see: E17 is line 17 of the run's journal."""
    return f"E{seq}"


def seq_of(text: str) -> int:
    """Inverse of :func:`label`. Raises ValueError."""
    if (found := _LABEL.fullmatch(text)) is None:
        raise ValueError(f"found evidence id {text!r}, wanted E and a line number, as E17")
    return int(found[1])


@dataclass(frozen=True, slots=True)
class AskedProbe:
    """What was asked under one key: the probe's id, the command line as it was sent, its interaction level."""

    probe: str
    line: str
    level: str
    tool_version: str = ""


@dataclass(frozen=True)
class Stored:
    """What every kept question has. ``seq`` is its evidence id; ``asked_at`` is the operator's monotonic clock in s."""

    seq: int
    host: str
    key: str
    probe: str
    line: str
    level: str
    sample: int
    host_key: str
    boot_id: str
    asked_at: float
    utc: str


@dataclass(frozen=True)
class StoredAnswer(Stored):
    """An answer as it was kept; both streams are read, and their digests verified, when first looked at."""

    status: int
    seconds: float
    truncated: bool
    tool_version: str
    stdout_blob: tuple[str, int]
    stderr_blob: tuple[str, int]
    blobs: Blobs = field(repr=False, compare=False)

    @cached_property
    def stdout(self) -> bytes:
        """Raw bytes, secrets masked. Raises Damaged."""
        return self.blobs.read(*self.stdout_blob)

    @cached_property
    def stderr(self) -> bytes:
        """Raw bytes, secrets masked. Raises Damaged."""
        return self.blobs.read(*self.stderr_blob)


@dataclass(frozen=True)
class StoredFailure(Stored):
    """A question that got no answer. ``reason`` is the name of its exception class."""

    reason: str
    message: str
    presented: str = ""
    phrase: Phrase | None = None  # None where runs kept none, and where a secret was masked

    def error(self) -> CannotTell:
        """Return the exception again; a reason that this version does not know comes back as plain CannotTell."""
        found = getattr(kvgate.errors, self.reason, None)
        if found is HostKeyRefused:
            return HostKeyRefused(self.phrase or self.message, self.presented)
        if isinstance(found, type) and issubclass(found, CannotTell):
            return found(self.phrase or self.message)
        return CannotTell(say("{reason}: {message}", reason=self.reason, message=self.phrase or self.message))


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """One conversation with one host: when, with which key and boot, and how its clock stood."""

    seq: int
    host: str
    sample: int
    host_key: str
    boot_id: str
    clock: Clock | None
    started_utc: str
    monotonic: float
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """The first line: what the run went by. ``fields`` is everything that was passed, and the surroundings."""

    fields: Mapping[str, object]

    @property
    def run(self) -> str:
        """Id of the run."""
        return take(self.fields, "run", str)

    @property
    def gate(self) -> str:
        """Gate that was run. Raises Damaged when the line does not say, as do all of these."""
        return take(self.fields, "gate", str)

    @property
    def campaign(self) -> str:
        """Campaign of the run."""
        return take(self.fields, "campaign", str)

    @property
    def inventory(self) -> str:
        """Text of the inventory, secrets masked."""
        return take(self.fields, "inventory", str)

    @property
    def acceptance(self) -> str:
        """The clauses in force, as canonical JSON."""
        return take(self.fields, "acceptance", str)

    @property
    def code(self) -> str:
        """Version of kvgate that made the run; empty when the line does not say."""
        return take(self.fields, "code", str) if "code" in self.fields else ""

    @property
    def start_ticket(self) -> str:
        """The start ticket, canonical JSON; empty for a run of an older version."""
        return take(self.fields, "start_ticket", str) if "start_ticket" in self.fields else ""

    @property
    def modules(self) -> str:
        """Digests of the modules that judged, as JSON; empty for a run that kept none."""
        return take(self.fields, "modules", str) if "modules" in self.fields else ""

    @property
    def simulated(self) -> bool:
        """Whether the rack was not a real one."""
        return take(self.fields, "simulated", bool)


def read_question(record: Mapping[str, object], blobs: Blobs) -> StoredAnswer | StoredFailure:
    """Read an ``answer`` or ``failure`` line. Raises Damaged naming line and field."""
    common = (
        take(record, "seq", int), take(record, "host", str), take(record, "key", str), take(record, "probe", str),
        take(record, "line", str), take(record, "level", str), take(record, "sample", int), take(record, "host_key", str),
        take(record, "boot_id", str), _real(record, "asked_at"), take(record, "utc", str),
    )  # fmt: skip
    if record.get("kind") == "failure":
        reason, message = take(record, "reason", str), take(record, "message", str)
        return StoredFailure(*common, reason, message, take(record, "presented", str), _phrase(record))
    return StoredAnswer(
        *common,
        take(record, "status", int),
        _real(record, "seconds"),
        take(record, "truncated", bool),
        take(record, "tool_version", str),
        parts(record.get("stdout")),
        parts(record.get("stderr")),
        blobs,
    )


def _phrase(record: Mapping[str, object]) -> Phrase | None:
    if "phrase" not in record:
        return None
    try:
        return phrase_from_json(record["phrase"])
    except ValueError:
        raise _wrong(record, "phrase") from None


def read_batch(record: Mapping[str, object]) -> StoredBatch:
    """Read a ``batch`` line. Raises Damaged naming line and field."""
    clock, notes = record.get("clock"), record.get("notes")
    if not isinstance(notes, list):
        raise _wrong(record, "notes")
    if clock is not None and not (isinstance(clock, list) and len(clock) == 2):
        raise _wrong(record, "clock")
    return StoredBatch(
        take(record, "seq", int),
        take(record, "host", str),
        take(record, "sample", int),
        take(record, "host_key", str),
        take(record, "boot_id", str),
        None if clock is None else Clock(*(_real({**record, "clock": end}, "clock") for end in clock)),
        take(record, "started_utc", str),
        _real(record, "started_monotonic"),
        _real(record, "seconds"),
        tuple(str(note) for note in notes),
    )


def take(record: Mapping[str, object], name: str, kind: type[Plain]) -> Plain:
    """Return one field of a line. Raises Damaged unless it is there and of exactly that type."""
    value = record.get(name)
    if type(value) is not kind:
        raise _wrong(record, name)
    return value


def _real(record: Mapping[str, object], name: str) -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _wrong(record, name)
    return float(value)


def _wrong(record: Mapping[str, object], name: str) -> Damaged:
    return Damaged(
        say(
            "journal line {line}: field {name!r} holds {value:.80}",
            line=str(record.get("seq")),
            name=name,
            value=str(record.get(name)),
        )
    )
