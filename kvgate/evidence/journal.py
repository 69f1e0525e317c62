"""The append-only journal of one run: one writer at a time, whole lines or nothing, repaired after a crash and never silently."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import sys
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from checks.phrase import say
from kvgate.codec import canonical, digest, parse_object
from kvgate.errors import Damaged, NotAllowed, Unwritable, because
from kvgate.evidence.chain import Line, scan
from kvgate.evidence.durable import flush, flush_folder, unwritable, write_all

#: Fields that the journal itself writes on each line.
RESERVED = frozenset({"seq", "kind", "utc", "monotonic", "boot", "prev"})

_WHAT = "evidence (journal)"


@cache
def boot_id() -> str:
    """Identity of the operator machine's current boot: monotonic times compare within one only. Empty if unknown."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    if sys.platform == "darwin":
        import subprocess

        with contextlib.suppress(OSError, subprocess.SubprocessError):
            asked = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
            return subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    return ""


def now_utc() -> str:
    """Return the operator's clock as ISO 8601 with microseconds, always of the same width."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Journal:
    """Lines of one run. Made by :meth:`create` or :meth:`open`; a reader holds no lock and never writes."""

    def __init__(self, path: Path, descriptor: int, *, writing: bool) -> None:
        self.path = path
        self._fd = descriptor
        self._writing = writing
        self._offsets = array("Q")
        self._size = 0
        self._synced = 0
        self._broken = ""
        self.head = ""
        self.repaired = 0  # bytes cut off when this writer opened

    @classmethod
    def create(cls, path: Path, run: str, fields: Mapping[str, object]) -> Journal:
        """Begin a journal with its start line, durably. Raises Unwritable."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise unwritable(error, _WHAT, path) from error
        journal = cls(path, descriptor, writing=True)
        journal.head = digest(run)
        journal._lock()
        journal.append([("start", {**fields, "run": run})])
        journal.sync()
        try:
            flush_folder(path.parent)
        except OSError as error:
            raise unwritable(error, _WHAT, path) from error
        return journal

    @classmethod
    def open(cls, path: Path, *, write: bool) -> Journal:
        """Read and verify the whole chain; with ``write``, lock it and repair a cut last line.

        Raises NotAllowed when there is none or another process writes it, Unwritable, and Damaged naming the line.
        """
        flags = os.O_RDWR | os.O_APPEND if write else os.O_RDONLY
        try:
            descriptor = os.open(path, flags | os.O_NOFOLLOW)
        except FileNotFoundError as error:
            raise NotAllowed(
                say(
                    "no evidence at {folder}: it has no {name}; name the folder of a run",
                    folder=str(path.parent),
                    name=path.name,
                )
            ) from error
        except OSError as error:
            raise (
                unwritable(error, _WHAT, path)
                if write
                else Damaged(say("{path}: {strerror}", path=str(path), strerror=because(error)))
            ) from error
        journal = cls(path, descriptor, writing=write)
        try:
            if write:
                journal._lock()
            journal._load()
        except BaseException:
            journal.close()
            raise
        return journal

    def __len__(self) -> int:
        return len(self._offsets)

    def append(self, many: Sequence[tuple[str, Mapping[str, object]]]) -> list[int]:
        """Write lines (kind, fields) all or none and return their numbers. Durable only after :meth:`sync`."""
        if not self._writing:
            raise NotAllowed(say("{path} is open for reading only", path=str(self.path)))
        seq, head, offset = len(self), self.head, self._size
        raws, offsets = [], []
        for kind, fields in many:
            if clash := RESERVED & fields.keys():
                raise ValueError(f"fields {sorted(clash)} belong to the journal itself")
            seq += 1
            record = {
                **fields, "seq": seq, "kind": kind, "utc": now_utc(), "monotonic": round(time.monotonic(), 6),
                "boot": boot_id(), "prev": head,
            }  # fmt: skip
            raw = canonical(record).encode() + b"\n"
            raws.append(raw)
            offsets.append(offset)
            offset += len(raw)
            head = digest(raw)
        self._write(b"".join(raws))
        first = len(self) + 1
        self._offsets.extend(offsets)
        self._size, self.head = offset, head
        return list(range(first, seq + 1))

    def sync(self) -> None:
        """Return when every appended line is on the disk and reads back as written. Raises Unwritable."""
        if not self._writing or self._synced == self._size:
            return
        self._usable()
        try:
            flush(self._fd)
            there = self.path.stat()
            mine = os.fstat(self._fd)
        except OSError as error:
            self._broken = "an earlier flush failed"
            raise unwritable(error, _WHAT, self.path) from error
        if (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev):
            raise self._lost("it was replaced while the run was writing it")
        if digest(self._raw(len(self))) != self.head:
            raise self._lost("its last line does not read back as written")
        self._synced = self._size

    def line(self, seq: int) -> Mapping[str, object]:
        """Return one line's record. Raises KeyError for a number that is not there, Damaged if it changed meanwhile."""
        if not 1 <= seq <= len(self):
            raise KeyError(seq)
        try:
            record = parse_object(self._raw(seq))
        except ValueError as error:
            raise Damaged(
                say(
                    "{path}: line {seq} was changed while it was in use: {error}",
                    path=str(self.path),
                    seq=seq,
                    error=str(error),
                )
            ) from error
        if record.get("seq") != seq:
            raise Damaged(say("{path}: line {seq} was changed while it was in use", path=str(self.path), seq=seq))
        return record

    def lines(self) -> Iterator[Mapping[str, object]]:
        """All records in order, the chain verified again on the way. Raises Damaged naming the line."""
        for line in scan(io.BytesIO(self._bytes(0, self._size))):
            if line.flaw:
                raise Damaged(
                    say("{path}: line {number} {flaw}", path=str(self.path), number=line.number, flaw=line.flaw)
                )
            yield line.record

    def close(self) -> None:
        """Let go of file and lock. May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd, self._writing = -1, False

    def _lock(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NotAllowed(
                say("another process is writing {path}: wait until it ends, or stop it", path=str(self.path))
            ) from error
        except OSError as error:
            raise unwritable(error, _WHAT + " lock", self.path) from error

    def _load(self) -> None:
        cut: Line | None = None
        with open(self._fd, "rb", closefd=False) as stream:
            stream.seek(0)
            for line in scan(stream):
                if line.cut:
                    cut = line
                    break
                if line.flaw:
                    raise Damaged(
                        say("{path}: line {number} {flaw}", path=str(self.path), number=line.number, flaw=line.flaw)
                    )
                self._offsets.append(line.offset)
                self._size = line.offset + len(line.raw)
                self.head = digest(line.raw)
        if not self._offsets:
            raise Damaged(
                say(
                    "{path} has no start line: that run never began; nothing was asked, the folder can go",
                    path=str(self.path),
                )
            )
        if cut is not None and self._writing:
            self._repair(cut)
        self._synced = self._size

    def _repair(self, cut: Line) -> None:
        """Move the bytes of an unfinished line aside and say so in the journal."""
        try:
            name = self._set_aside(cut.raw)
            os.ftruncate(self._fd, self._size)
        except OSError as error:
            raise unwritable(error, _WHAT, self.path) from error
        self.repaired = len(cut.raw)
        self.append([("repaired", {"cut": name, "bytes": len(cut.raw), "sha256": digest(cut.raw)})])
        self.sync()

    def _set_aside(self, raw: bytes) -> str:
        number = 1
        while (place := self.path.with_name(f"journal.cut-{number}")).exists():
            number += 1
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(descriptor, raw)
            flush(descriptor)
        finally:
            os.close(descriptor)
        flush_folder(place.parent)
        return place.name

    def _write(self, data: bytes) -> None:
        self._usable()
        if os.fstat(self._fd).st_size != self._size:
            raise self._lost("something else wrote to it")
        try:
            write_all(self._fd, data)
        except OSError as error:
            try:
                os.ftruncate(self._fd, self._size)
            except OSError:
                self._broken = "an earlier write stopped half-way"
            raise unwritable(error, _WHAT, self.path) from error

    def _usable(self) -> None:
        if self._broken:
            raise Unwritable(
                say(
                    "{what} at {path} takes no more: {broken}; run the gate again",
                    what=_WHAT,
                    path=str(self.path),
                    broken=self._broken,
                )
            )

    def _lost(self, why: str) -> Unwritable:
        self._broken = why
        return Unwritable(
            say("{what} at {path} is not safe: {why}; run the gate again", what=_WHAT, path=str(self.path), why=why)
        )

    def _raw(self, seq: int) -> bytes:
        start = self._offsets[seq - 1]
        end = self._offsets[seq] if seq < len(self) else self._size
        return self._bytes(start, end)

    def _bytes(self, start: int, end: int) -> bytes:
        parts = []
        while start < end:
            part = os.pread(self._fd, end - start, start)
            if not part:
                break
            parts.append(part)
            start += len(part)
        return b"".join(parts)
