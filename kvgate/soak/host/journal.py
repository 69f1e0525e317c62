"""The journal on the host: whole lines or nothing, durable before it goes on, rotated, and never cut where it was not read."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, Dict, NamedTuple

from .mask import Masker
from .times import Now, boot_id, now

Values = Dict[str, Dict[str, Any]]
_NAME = re.compile(r"journal-(\d{6})\.jsonl")
#: A secret that stood in a line could only be taken out by breaking the chain: none ever stands there.
_MASKER = Masker()
_UNBOUND = 1 << 62
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Full(Exception):
    """There is no room for the lines; none of them was written."""


class Busy(Exception):
    """Another worker writes this journal."""


class Entry(NamedTuple):
    """What becomes a line, with the moment it was seen."""

    kind: str
    stream: str
    tick: Any
    at: Now
    values: Values


def canonical(value: Any) -> str:
    """ASCII, keys sorted, no blanks, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(raw: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(raw).hexdigest()


def segments(folder: Path) -> list[tuple[int, Path]]:
    """Every segment there is, by number."""
    found = [(int(match[1]), path) for path in folder.iterdir() for match in [_NAME.fullmatch(path.name)] if match]
    return sorted(found)


def write_whole(path: Path, text: str) -> None:
    """Replace a small file, durably: either the old one stands there or the new one."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _flush_folder(path.parent)


def keep_room(folder: Path, name: str, size: int) -> None:
    """Hold room for what must be written when there is none any more; where there is none now, nothing is held."""
    path = folder / name
    if path.exists() and path.stat().st_size >= size:
        return
    try:
        with path.open("wb") as file:
            file.write(b" " * size)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()


def write_into(path: Path, held: Path, text: str) -> None:
    """Write a small file, durably, into the room that another one holds, whose name it takes away. Raises OSError."""
    if not held.exists():
        write_whole(path, text)
        return
    with held.open("r+b") as file:
        file.write(text.encode("ascii").ljust(held.stat().st_size))
        file.flush()
        os.fsync(file.fileno())
    held.replace(path)
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(str(folder), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Journal:
    """One journal, locked. ``seq``, ``head``: number and digest of the last line; ``cut``: bytes that were set aside."""

    def __init__(self, folder: Path, name: str, segment_bytes: int, journal_bytes: int, free_bytes: int) -> None:
        self.folder, self.boot = folder, boot_id()
        self._most, self._all, self._spare = segment_bytes, journal_bytes, free_bytes
        self.seq, self.head, self.cut = 0, digest(name.encode()), 0
        self.records: list[dict[str, Any]] = []
        self.number, self._fd, self._size, self._closed = 0, -1, 0, False
        self._lock = os.open(str(folder / "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise Busy(str(folder)) from None
        self._recover()
        self._total = self.sizes()[0]

    # ---- after a crash

    def _recover(self) -> None:
        """Find the last whole line; what follows it was never finished and is set aside."""
        for number, path in reversed(segments(self.folder)):
            good = self._whole(path, number)
            raw = path.read_bytes()
            if len(raw) > good:
                self._set_aside(path, raw[good:])
                self.cut += len(raw) - good
            if good:
                self.number = number
                return
            path.unlink()
        self.seq, self.number = 0, 0

    def _whole(self, path: Path, number: int) -> int:
        """Bytes of the whole lines that follow one another from the segment's start; the last of them is the head."""
        at, prev = 0, None
        self.records = []
        for raw in path.read_bytes().splitlines(True):
            try:
                record = json.loads(raw)
                seq, follows = record["seq"], record["prev"]
            except (ValueError, KeyError, TypeError):
                break
            first_wrong = prev is None and number == 1 and follows != self.head
            if not raw.endswith(b"\n") or first_wrong or (prev is not None and follows != prev):
                break
            prev = digest(raw)
            at += len(raw)
            self.seq = seq
            self.records.append(record)
        if prev is not None:
            self.head = prev
        return at

    def _set_aside(self, path: Path, raw: bytes) -> None:
        number = 1
        while path.with_suffix(".cut-%d" % number).exists():
            number += 1
        place = path.with_suffix(".cut-%d" % number)
        with place.open("xb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - len(raw))
            os.fsync(file.fileno())
        _flush_folder(self.folder)

    @property
    def last(self) -> dict[str, Any]:
        """The last whole line that a journal opened anew has; empty without one."""
        return self.records[-1] if self.records else {}

    # ---- writing

    def begin(self, first: Entry) -> None:
        """Make the next segment, with its first line. Raises Full."""
        number = self.number + 1
        path = self.folder / ("journal-%06d.jsonl" % number)
        raw, head = self._raw(first, self.seq + 1, self.head)
        self._room(len(raw))
        descriptor = os.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._write(descriptor, raw, 0)
            _flush_folder(self.folder)
        except (Full, OSError):
            os.close(descriptor)
            path.unlink()
            raise
        if self._fd >= 0:
            os.close(self._fd)
        self.records, self._closed = [], False
        self.number, self._fd, self._size, self.seq, self.head = number, descriptor, len(raw), self.seq + 1, head

    def append(self, entries: list[Entry], header: Values, *, final: bool = False) -> None:
        """Write lines, all or none, durable on return; ``header`` begins the next segment where one is due. Raises Full.

        ``final``: nothing follows these lines, and they may take what was to stay free.
        """
        if final:
            self._spare, self._all = 0, _UNBOUND
        if self._closed:
            self._follow(header)
        self._add(entries)
        if self._size >= self._most and not final:
            with contextlib.suppress(Full):  # the lines are safe; the next ones try again
                values = {"rotate": {"number": self.number, "next": self.number + 1, "why": "size"}}
                self._add([Entry("rotate", "", None, now(), values)])
                self._closed = True
                self._follow(header)

    def _add(self, entries: list[Entry]) -> None:
        raws, seq, head = [], self.seq, self.head
        for entry in entries:
            seq += 1
            raw, head = self._raw(entry, seq, head)
            raws.append(raw)
        data = b"".join(raws)
        self._room(len(data))
        self._write(self._fd, data, self._size)
        self.seq, self.head, self._size = seq, head, self._size + len(data)

    def _follow(self, header: Values) -> None:
        self.begin(Entry("segment", "", None, now(), {"segment": {**header["segment"], "number": self.number + 1}}))

    def _raw(self, entry: Entry, seq: int, prev: str) -> tuple[bytes, str]:
        record = {
            "seq": seq, "prev": prev, "kind": entry.kind, "stream": entry.stream, "tick": entry.tick, "utc": entry.at.utc,
            "mono": round(entry.at.mono, 6), "boot": self.boot, "values": _MASKER.mask_value(entry.values)[0],
        }  # fmt: skip
        raw = canonical(record).encode("ascii") + b"\n"
        return raw, digest(raw)

    def _write(self, descriptor: int, data: bytes, size: int) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError as error:
            os.ftruncate(descriptor, size)
            if error.errno in _NO_ROOM:
                raise Full(os.strerror(error.errno)) from None
            raise
        os.fsync(descriptor)

    # ---- room

    @property
    def acknowledged(self) -> int:
        """Number of the last segment that is safe elsewhere."""
        try:
            return int(json.loads((self.folder / "acknowledged.json").read_text("ascii"))["segment"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def sizes(self) -> tuple[int, int]:
        """Bytes of all segments here, and of those that nobody acknowledged."""
        known, total, unread = self.acknowledged, 0, 0
        for number, path in segments(self.folder):
            size = path.stat().st_size
            total += size
            unread += size if number > known else 0
        return total, unread

    def free(self) -> int:
        """Bytes that are free where the journal stands."""
        found = os.statvfs(str(self.folder))
        return found.f_bavail * found.f_frsize

    def _room(self, wanted: int) -> None:
        if self.free() < self._spare + wanted:
            raise Full("less than %d bytes would stay free" % self._spare)
        if self._total + wanted > self._all:
            known, self._total = self.acknowledged, self.sizes()[0]
            for number, path in segments(self.folder):
                if self._total + wanted > self._all and number <= known and number < self.number:
                    self._total -= path.stat().st_size
                    path.unlink()
        if self._total + wanted > self._all:
            raise Full("the journal may be %d bytes and nobody collected it" % self._all)
        self._total += wanted

    def close(self) -> None:
        """Let go of file and lock."""
        for descriptor in (self._fd, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._fd = self._lock = -1
