"""``journal-NNNNNN.jsonl``: a segment of a soak's journal, JSON lines held together by their numbers and digests.

Form 1, runbooks/soak-journal.md. Every line must carry the next number and the digest of the line before it; a last line without
its end (a crash cut it off) is left out and ``cut`` says so. Damage anywhere else is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.probe import UnreadableOutput

COMMAND = "soak-journal"

#: Field -> value of one subject.
Fields = Mapping[str, int | float | str | bool | None]

_KINDS = frozenset({"begin", "segment", "resume", "sample", "event", "rotate", "end"})
_FIRST = frozenset({"begin", "segment", "resume"})
_KEYS = frozenset({"seq", "prev", "kind", "stream", "tick", "utc", "mono", "boot", "values"})
_UTC = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_BOOT = re.compile(r"[0-9a-f-]{1,64}", re.ASCII)
#: Types of values that need no closer look; a float may be too large to be a number.
_PLAIN = frozenset({int, str, bool, type(None)})
_FLAT = _PLAIN | {float}
_LARGEST = 1e300

#: The line of a sample or an event in the order of its keys, numbers no longer than any clock or count can be.
_HEAD = re.compile(
    r'\{"boot":"([0-9a-f-]{1,64})","kind":"(sample|event)","mono":(\d{1,9}(?:\.\d{1,9})?),"prev":"([0-9a-f]{64})",'
    r'"seq":([1-9]\d{0,17}),"stream":"([^"\\\x00-\x1f]+)","tick":(0|[1-9]\d{0,17}|null),'
    r'"utc":"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)","values":(\{.*\})\}',
    re.ASCII,
)
#: A key whose colon stands apart from it.
_SPACED = re.compile(r'"\s+:')


@dataclass(frozen=True)
class Line:
    """One line. ``mono`` in seconds of the host's boot ``boot``; ``tick`` of samples only; ``values`` by subject and field."""

    seq: int
    kind: str
    stream: str
    tick: int | None
    utc: str
    mono: float
    boot: str
    values: Mapping[str, Fields]


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment. ``follows`` is the digest that its first line carries: of the last line of the segment before it."""

    follows: str
    lines: tuple[Line, ...]
    cut: bool


def parse(text: str) -> Segment:
    """Read the segment, or refuse: a line that is none, another number or digest than must follow, an unknown key."""
    whole, newline, rest = text.rpartition("\n")
    hashed = whole.encode("utf-8", "surrogateescape").split(b"\n")
    if not newline:
        raise UnreadableOutput("found no whole line: the journal never began")
    found: list[Line] = []
    follows = prev = ""
    for number, raw in enumerate(whole.split("\n"), start=1):
        line, mine = _as_written(raw) or _anyhow(raw, number)
        if not found:
            follows = prev = mine
            if line.kind not in _FIRST:
                raise UnreadableOutput(f"line 1 is {line.kind}, wanted one of {', '.join(sorted(_FIRST))}: a beginning")
            if (line.kind == "begin") != (line.seq == 1):
                raise UnreadableOutput(
                    f"line 1 is {line.kind} with number {line.seq}: the journal's first line is its begin"
                )
        elif line.seq != found[-1].seq + 1:
            raise UnreadableOutput(
                f"line {number} has number {line.seq}, wanted {found[-1].seq + 1}: lines are missing"
            )
        elif line.kind in _FIRST:
            raise UnreadableOutput(f"line {number} is {line.kind}, which only the first line of a segment may be")
        if mine != prev:
            raise UnreadableOutput(f"line {number} does not follow the line before it: one of them was changed")
        prev = hashlib.sha256(hashed[number - 1] + b"\n").hexdigest()
        found.append(line)
    return Segment(follows, tuple(found), cut=bool(rest))


def _as_written(raw: str) -> tuple[Line, str] | None:
    """A sample or an event as a worker of today writes it, and the digest it carries; None for every other line, good or bad.

    A journal of 72 hours has a quarter of a million lines: the head is read in one piece, and only the values are parsed.
    What it takes, ``_anyhow`` takes too, to the same line.
    """
    head = _HEAD.fullmatch(raw)
    if head is None:
        return None
    boot, kind, mono, prev, seq, stream, tick, utc, body = head.groups()
    if (tick == "null") is not (kind == "event"):
        return None
    try:
        values, end = _DECODER.raw_decode(body)
    except (ValueError, RecursionError):
        return None
    if end != len(body):
        return None
    keys = len(values)
    for fields in values.values():
        if type(fields) is not dict:
            return None
        types = {*map(type, fields.values())}
        if not types <= _FLAT or (float in types and not _bounded(fields)):
            return None
        keys += len(fields)
    # As many keys in the text as in the table: none stands twice. A quote that ends a text is one that no backslash precedes.
    plain = body if "\\" not in body else body.replace("\\\\", "").replace('\\"', "")
    if plain.count('":') != keys or _SPACED.search(plain) is not None:
        return None
    line = Line.__new__(Line)  # past its __init__, which sets eight fields of something frozen one by one
    line.__dict__.update(
        seq=int(seq), kind=kind, stream=stream, tick=None if kind == "event" else int(tick), utc=utc, mono=float(mono),
        boot=boot, values=values,
    )  # fmt: skip
    return line, prev


def _bounded(fields: Mapping[str, Any]) -> bool:
    return all(abs(value) < _LARGEST for value in fields.values() if type(value) is float)


def _anyhow(raw: str, number: int) -> tuple[Line, str]:
    """Any line and the digest it carries. Raises UnreadableOutput, with what is wrong with it."""
    try:
        record = json.loads(raw, parse_constant=_no_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UnreadableOutput(f"line {number} is no record: {error}") from None
    if not isinstance(record, dict) or record.keys() != _KEYS:
        raise UnreadableOutput(f"line {number} is no line of a soak's journal: {raw[:80]!r}")
    return _line(record, number), _digest(record, number)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return table


def _digest(record: Mapping[str, Any], number: int) -> str:
    prev = record["prev"]
    if not isinstance(prev, str) or _DIGEST.fullmatch(prev) is None:
        raise UnreadableOutput(f"line {number}: prev is {str(prev)[:70]!r}, wanted a SHA-256")
    return prev


def _line(record: Mapping[str, Any], number: int) -> Line:
    kind, stream, tick, mono = record["kind"], record["stream"], record["tick"], record["mono"]
    if kind not in _KINDS:
        raise UnreadableOutput(f"line {number}: kind is {str(kind)[:40]!r}, wanted one of {', '.join(sorted(_KINDS))}")
    if not _whole(record["seq"], 1):
        raise UnreadableOutput(f"line {number}: seq is {record['seq']!r:.40}, wanted a number from 1")
    if not isinstance(stream, str) or bool(stream) != (kind in ("sample", "event")):
        raise UnreadableOutput(f"line {number}: stream of {kind} is {str(stream)[:40]!r}")
    if not (_whole(tick, 0) if kind == "sample" else tick is None):
        raise UnreadableOutput(f"line {number}: tick of {kind} is {tick!r:.40}")
    if isinstance(mono, bool) or not isinstance(mono, (int, float)) or not 0 <= mono < 1e10:
        raise UnreadableOutput(f"line {number}: mono is {mono!r:.40}, wanted seconds")
    for key, form in (("utc", _UTC), ("boot", _BOOT)):
        if not isinstance(record[key], str) or form.fullmatch(record[key]) is None:
            raise UnreadableOutput(f"line {number}: {key} is {str(record[key])[:40]!r}")
    return Line(
        record["seq"], kind, stream, tick, record["utc"], float(mono), record["boot"], _values(record["values"], number)
    )


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63


def _values(found: Any, number: int) -> Mapping[str, Fields]:
    if not isinstance(found, dict):
        raise UnreadableOutput(f"line {number}: values is no object")
    for subject, fields in found.items():
        if not isinstance(fields, dict):
            raise UnreadableOutput(f"line {number}: values of {subject[:40]!r} are no object")
        if not {*map(type, fields.values())} - _PLAIN:
            continue
        for field, value in fields.items():
            if value is not None and not isinstance(value, (int, float, str, bool)):
                raise UnreadableOutput(f"line {number}: {subject[:40]!r} {field[:40]!r} is no number or text")
            if isinstance(value, float) and not abs(value) < _LARGEST:
                raise UnreadableOutput(f"line {number}: {subject[:40]!r} {field[:40]!r} is no finite number")
    return found
