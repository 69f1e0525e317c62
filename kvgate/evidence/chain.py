"""The lines of a journal and the chain that holds them together; reading only.

A line is one JSON object. ``seq`` is its line number, ``prev`` the SHA-256 of the raw line before it, newline included
(line 1: of the run id), so ``sed -n 17p journal.jsonl | sha256sum`` is what line 18 must carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from kvgate.codec import digest, parse_object


@dataclass(frozen=True, slots=True)
class Line:
    """One raw line where it stands, its record if it is one, and what is wrong with it ("" if nothing)."""

    number: int
    offset: int
    raw: bytes
    record: Mapping[str, object]
    flaw: str = ""

    @property
    def cut(self) -> bool:
        """Whether the line has no end: what a crash in the middle of writing leaves behind."""
        return not self.raw.endswith(b"\n")


def scan(stream: BinaryIO) -> Iterator[Line]:
    """Read every line from the stream's start, each judged against the line before it; never raises for bad content."""
    offset, prev = 0, ""
    for number, raw in enumerate(stream, start=1):
        record, flaw = _read(raw)
        if not flaw:
            flaw = _order(record, number, prev if number > 1 else digest(str(record.get("run", ""))))
        yield Line(number, offset, raw, record, flaw)
        offset += len(raw)
        prev = digest(raw)


def _read(raw: bytes) -> tuple[Mapping[str, object], str]:
    if not raw.endswith(b"\n"):
        return {}, f"has no end ({len(raw)} bytes): writing was interrupted there"
    try:
        return parse_object(raw), ""
    except ValueError as error:
        return {}, f"was changed: it is no record ({error})"


def _order(record: Mapping[str, object], number: int, prev: str) -> str:
    flaws = []
    if record.get("seq") != number:
        flaws.append(f"carries number {record.get('seq')!r}: lines before it were removed, moved or added")
    if number == 1 and (record.get("kind") != "start" or not record.get("run")):
        flaws.append("is not the start of a run")
    if record.get("prev") != prev:
        before = f"line {number - 1}" if number > 1 else "the run id"
        flaws.append(f"does not follow {before}: {before} was changed, or lines between were removed, moved or added")
    if not isinstance(record.get("kind"), str):
        flaws.append("has no kind")
    return " and ".join(flaws)
