"""The wire format of a batch: builds the script that ``sh -s`` reads and parses the frames that come back; pure functions."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from kvgate.transport.base import Command
from kvgate.transport.script import FUNCTIONS

_NONCE = re.compile(r"[0-9a-f]{32}")
_NUMBER = rb"(0|[1-9]\d{0,14})"
_EPOCH = rb"(\d{1,12}(?:\.\d{1,9})?)"
_LONGEST_LINE = 256  # bytes; a line of the frame is never longer
#: Lines of a frame, after the mark: compiled once, while a pattern with the nonce in it would be compiled for every host.
_BEGIN = re.compile(rb"BEGIN " + _EPOCH + rb" (-|[0-9a-f-]{1,64})")
_ROW = re.compile(rb"R " + rb" ".join([_NUMBER, rb"(\d{1,3})", _NUMBER, _NUMBER, rb"([01])", _NUMBER]))
_DATA = re.compile(rb"DATA")
_END = re.compile(rb"END " + _NUMBER + rb" " + _EPOCH)


@dataclass(frozen=True, slots=True)
class Frame:
    """What the host reported about one command."""

    status: int
    stdout: bytes
    stderr: bytes
    truncated: bool
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Reply:
    """All frames of complete chunks. ``garbled`` says where the stream stopped to make sense; then none of it counts.

    ``began`` and ``ended`` are the host's clock as it printed it, ``complete`` is True when END arrived and agrees.
    """

    frames: Mapping[int, Frame] = field(default_factory=lambda: MappingProxyType({}))
    began: str = ""
    ended: str = ""
    boot_id: str = ""
    complete: bool = False
    garbled: str = ""
    began_at: int = 0  # bytes up to the end of the BEGIN line
    ended_at: int = 0  # same for END


def check(commands: Sequence[Command]) -> None:
    """Raise ValueError for a command that cannot be sent: line breaks, NUL, a key given twice, a limit that is none."""
    seen: set[str] = set()
    for command in commands:
        if re.search(r"[\n\r\0]", command.line):
            raise ValueError(f"found a line break or NUL in {command.line!r}, wanted one line")
        if not command.line.strip():
            raise ValueError(f"found an empty command line under the key {command.key!r}")
        if command.key in seen:
            raise ValueError(f"found the key {command.key!r} twice in one batch")
        if not (math.isfinite(command.limit) and command.limit > 0 and command.cap > 0):
            raise ValueError(f"found limit {command.limit} s and cap {command.cap} bytes, wanted both above 0")
        seen.add(command.key)


def seconds(limit: float) -> int:
    """Round a limit up to whole seconds: not every ``timeout`` takes fractions."""
    return max(1, math.ceil(limit))


def build(nonce: str, commands: Sequence[Command]) -> bytes:
    """Return the script for ``sh -s``. Raises ValueError for a nonce that is not 32 hex digits and as :func:`check` does."""
    if _NONCE.fullmatch(nonce) is None:
        raise ValueError(f"found nonce {nonce!r}, wanted 32 hex digits")
    check(commands)
    lines = [f"kvg_nonce={nonce}", FUNCTIONS.strip()]
    for index, command in enumerate(commands):
        verb = "kvgr" if command.reads else "kvg"
        lines.append(f"{verb} {index} {seconds(command.limit)} {command.cap} {_quoted(command.line)}")
    lines.append("kvg_end\n")
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _quoted(line: str) -> str:
    quoted = shlex.quote(line)
    return quoted if quoted != line else f"'{line}'"


def finished(nonce: str, tail: bytes) -> bool:
    """Tell whether the last bytes of a stream look like END; only :func:`parse` knows for sure."""
    return tail.endswith(b"\n") and f"KVGATE {nonce} END ".encode() in tail[-_LONGEST_LINE:]


def parse(data: bytes | bytearray, nonce: str, caps: Sequence[int]) -> Reply:
    """Read everything that arrived; ``caps`` are the byte limits of the commands that were sent, in their order.

    Only complete chunks count; lengths are trusted, contents are never looked at. Raises nothing.
    """
    return _Reader(data, nonce, caps).read()


@dataclass(slots=True)
class _Reader:
    data: bytes | bytearray
    nonce: str
    caps: Sequence[int]
    at: int = 0
    frames: dict[int, Frame] = field(default_factory=dict)
    short: bool = False  # the data of a chunk did not arrive whole

    def read(self) -> Reply:
        start = self.data.find(self._mark("BEGIN "))
        if start < 0:
            return Reply()
        self.at = start
        begin = self._line(_BEGIN)
        if begin is None:
            return Reply(garbled=self._where("the first line"))
        began, boot_id, began_at = begin[1].decode(), begin[2].decode(), self.at
        ended, garbled = "", ""
        while self.at < len(self.data):
            if end := self._line(_END):
                if int(end[1]) == len(self.frames):
                    ended = end[2].decode()
                else:
                    garbled = f"the host counted {int(end[1])} answers, {len(self.frames)} arrived"
                break
            before = self.at
            chunk = self._chunk()
            if chunk is None:
                garbled = "" if self._cut(before) else self._where("the frames")
                break
            self.frames |= chunk
        if garbled:
            self.frames.clear()
        return Reply(
            MappingProxyType(self.frames),
            began,
            ended,
            "" if boot_id == "-" else boot_id,
            complete=bool(ended),
            garbled=garbled,
            began_at=began_at,
            ended_at=self.at if ended else 0,
        )

    def _mark(self, word: str) -> bytes:
        return f"KVGATE {self.nonce} {word}".encode()

    def _line(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """Match one whole line of the frame at the present place and step over it."""
        end = self.data.find(b"\n", self.at, self.at + _LONGEST_LINE)
        line = bytes(self.data[self.at : end]) if end >= 0 else b""
        mark = self._mark("")
        found = pattern.fullmatch(line, len(mark)) if line.startswith(mark) else None
        if found is not None:
            self.at = end + 1
        return found

    def _chunk(self) -> dict[int, Frame] | None:
        """Read manifest and data of one chunk that is whole and followed by nothing or by another line of ours."""
        manifest: dict[int, tuple[int, int, int, bool, int]] = {}
        while found := self._line(_ROW):
            index, status, out, err, cut, milliseconds = (int(word) for word in found.groups())
            if index in self.frames or index in manifest or index >= len(self.caps):
                return None
            if max(out, err) > self.caps[index]:
                return None
            manifest[index] = status, out, err, bool(cut), milliseconds
        if self._line(_DATA) is None:
            return None
        size = sum(out + err for _, out, err, _, _ in manifest.values())
        self.short = self.at + size > len(self.data)
        follows = bytes(self.data[self.at + size : self.at + size + len(self._mark(""))])
        if self.short or not self._mark("").startswith(follows):
            return None
        return {index: self._frame(*row) for index, row in manifest.items()}

    def _frame(self, status: int, out: int, err: int, cut: bool, milliseconds: int) -> Frame:
        middle, end = self.at + out, self.at + out + err
        frame = Frame(status, bytes(self.data[self.at : middle]), bytes(self.data[middle:end]), cut, milliseconds)
        self.at = end
        return frame

    def _cut(self, before: int) -> bool:
        """Tell a chunk that stopped in the middle from one that makes no sense."""
        rest = bytes(self.data[self.at : self.at + _LONGEST_LINE])
        if self.data.find(self._mark("DATA\n"), before, self.at) >= 0:
            return self.short  # the manifest was read whole
        return b"\n" not in rest and len(rest) < _LONGEST_LINE

    def _where(self, what: str) -> str:
        rest = bytes(self.data[self.at : self.at + 60])
        return f"{what} cannot be read at byte {self.at}: {rest!r}"
