"""Records of kvgate's own load driver: a line that begins the run, one a request, a line that ends it; JSON lines.

Form 1. The first line carries ``load`` 1, the concurrency kept and both clocks of the load host; each request its times in
seconds of the monotonic clock, ``null`` for what it never reached; the last line ``end``, how many requests were begun, and both
clocks again. Without its last line a run did not come to its end and is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_documents, lines
from checks.probe import UnreadableOutput

COMMAND = "kvgate-load"

_FORM = 1
_SECONDS = (int, float)
_MAYBE = (int, float, type(None))
_COUNT = (int, type(None))
_STATES = ("completed", "empty", "failed", "unfinished")


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """One request; seconds of the monotonic clock; ``output`` is the SHA-256 of its text."""

    index: int
    status: str
    sent: float | None
    first: float | None
    last: float | None
    waited: float | None
    tokens_in: int | None
    tokens_out: int | None
    cached: int | None
    output: str | None
    error: str


@dataclass(frozen=True, slots=True)
class Load:
    """One run with both clocks before and after, as (wall, monotonic) seconds."""

    concurrency: int
    begun: int
    before: tuple[float, float]
    after: tuple[float, float]
    requests: tuple[LoadRequest, ...]


def parse(text: str) -> Load:
    """Read the run, or raise UnreadableOutput."""
    count = len([line for line in lines(text) if line.strip()])
    rows = json_documents(text)
    if len(rows) != count:
        raise UnreadableOutput("a line holds no record: the file is damaged")
    if len(rows) < 2 or not isinstance(rows[-1], dict) or rows[-1].get("end") is not True:
        raise UnreadableOutput("the last line is missing: the run did not come to its end")
    if (form := entry(rows[0], "load", int, "first line")) != _FORM:
        raise UnreadableOutput(f"form {form}, wanted {_FORM}: written by another version of kvgate")
    requests = tuple(_request(row) for row in rows[1:-1])
    if len({one.index for one in requests}) != len(requests):
        raise UnreadableOutput("a request stands in the file twice")
    return Load(
        concurrency=entry(rows[0], "concurrency", int, "first line"),
        begun=entry(rows[-1], "begun", int, "last line"),
        before=_clocks(rows[0], "first line"),
        after=_clocks(rows[-1], "last line"),
        requests=requests,
    )


def _clocks(row: Any, where: str) -> tuple[float, float]:
    return float(entry(row, "wall", _SECONDS, where)), float(entry(row, "monotonic", _SECONDS, where))


def _request(row: Any) -> LoadRequest:
    status, output = entry(row, "status", str, "request"), entry(row, "output", (str, type(None)), "request")
    if status not in _STATES:
        raise UnreadableOutput(f"status {status[:40]!r}, wanted one of {', '.join(_STATES)}")
    if output is not None and re.fullmatch(r"[0-9a-f]{64}", output) is None:
        raise UnreadableOutput(f"output {output[:40]!r}, wanted a SHA-256")
    return LoadRequest(
        index=entry(row, "index", int, "request"),
        status=status,
        sent=entry(row, "sent", _MAYBE, "request"),
        first=entry(row, "first", _MAYBE, "request"),
        last=entry(row, "last", _MAYBE, "request"),
        waited=entry(row, "waited", _MAYBE, "request"),
        tokens_in=entry(row, "tokens_in", _COUNT, "request"),
        tokens_out=entry(row, "tokens_out", _COUNT, "request"),
        cached=entry(row, "cached", _COUNT, "request"),
        output=output,
        error=entry(row, "error", str, "request"),
    )
