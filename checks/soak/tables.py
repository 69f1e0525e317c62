"""Samples of a journal as columns: one table a stream, one row a sample and subject. The lines stay the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from checks.parsers.soak_journal import Fields, Line

Numbers = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Words = npt.NDArray[np.object_]

#: Fields that are text. Every other field is a number (yes and no are 1 and 0, exact to 2^53); a text in its place is kept as one,
#: and is no number.
TEXTS = frozenset(
    {
        "state", "operstate", "phys_state", "transport", "serial", "address", "subsysnqn", "ana_state", "text", "stdout", "stderr",
        "error", "event", "line", "why", "argv", "model", "firmware_rev", "cntrltype", "duplex",
    }
)  # fmt: skip

#: Kinds of lines that tell the story of a journal; they are few and kept as they are.
STORY = frozenset({"begin", "segment", "resume", "rotate", "end", "event"})


#: The table of what loads wrote line by line.
LINES = "lines"


def written(line: Line) -> bool:
    """Whether a line of the journal is a line that a load wrote; there are many."""
    return (
        line.kind == "event"
        and line.stream == "load"
        and any(one.get("event") == "line" for one in line.values.values())
    )


def tells(line: Line) -> bool:
    """Whether a line belongs to the story of the journal; there are few."""
    return line.kind in STORY and not written(line)


@dataclass(frozen=True)
class Table:
    """One stream of one host. Rows in the journal's order; ``utc`` in microseconds since 1970, ``boot`` indexes ``boots``.

    A number that is not there is NaN, a text that is not there None. A row whose subject is "" is about the whole stream.
    """

    stream: str
    boots: tuple[str, ...]
    seq: Whole
    tick: Whole
    utc: Whole
    mono: Numbers
    boot: Whole
    subject: Words
    numbers: Mapping[str, Numbers]
    texts: Mapping[str, Words]

    def __len__(self) -> int:
        return len(self.seq)


def microseconds(utc: str) -> int:
    """Microseconds since 1970 of a journal's wall clock."""
    return round(datetime.fromisoformat(utc).timestamp() * 1_000_000)


def tables(lines: Iterable[Line]) -> dict[str, Table]:
    """Return the samples of some lines by stream, and what loads wrote line by line as stream ``lines``, with tick 0."""
    streams: dict[str, list[Line]] = {}
    for line in lines:
        if line.kind == "sample":
            streams.setdefault(line.stream, []).append(line)
        elif written(line):
            streams.setdefault(LINES, []).append(line)
    return {stream: _table(stream, found) for stream, found in streams.items()}


def _table(stream: str, lines: Sequence[Line]) -> Table:
    boots = tuple(dict.fromkeys(line.boot for line in lines))
    codes = {boot: code for code, boot in enumerate(boots)}
    heads = [(line.seq, line.tick or 0, microseconds(line.utc), line.mono, codes[line.boot]) for line in lines]
    subjects: list[str] = []
    rows: list[Fields] = []
    counts: list[int] = []
    for line in lines:
        # A sample without subjects (no message of the kernel) is a sample all the same: a row about the whole stream.
        values = line.values or {"": {}}
        subjects += values.keys()
        rows += values.values()
        counts.append(len(values))
    repeat = np.repeat(np.arange(len(lines)), counts)
    columns = list(zip(*heads, strict=True))
    numbers: dict[str, Numbers] = {}
    texts: dict[str, Words] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        found = [row.get(name) for row in rows]
        if name not in TEXTS:
            numbers[name] = np.array([None if isinstance(one, str) else one for one in found], dtype=np.float64)
        if name in TEXTS or any(isinstance(one, str) for one in found):
            texts[name] = np.array([one if isinstance(one, str) else None for one in found], dtype=object)
    return Table(
        stream=stream,
        boots=boots,
        seq=np.array(columns[0], dtype=np.int64)[repeat],
        tick=np.array(columns[1], dtype=np.int64)[repeat],
        utc=np.array(columns[2], dtype=np.int64)[repeat],
        mono=np.array(columns[3], dtype=np.float64)[repeat],
        boot=np.array(columns[4], dtype=np.int64)[repeat],
        subject=np.array(subjects, dtype=object),
        numbers=numbers,
        texts=texts,
    )


def joined(parts: Sequence[Table]) -> Table:
    """Several pieces of one stream as one, in the order given. Raises ValueError for none."""
    if not parts:
        raise ValueError("no table to join")
    if len(parts) == 1:
        return parts[0]
    boots = tuple(dict.fromkeys(boot for part in parts for boot in part.boots))
    codes = [np.array([boots.index(boot) for boot in part.boots], dtype=np.int64) for part in parts]
    return Table(
        stream=parts[0].stream,
        boots=boots,
        seq=np.concatenate([part.seq for part in parts]),
        tick=np.concatenate([part.tick for part in parts]),
        utc=np.concatenate([part.utc for part in parts]),
        mono=np.concatenate([part.mono for part in parts]),
        boot=np.concatenate([code[part.boot] for code, part in zip(codes, parts, strict=True)]),
        subject=np.concatenate([part.subject for part in parts]),
        numbers={
            name: np.concatenate([part.numbers.get(name, np.full(len(part), np.nan)) for part in parts])
            for name in dict.fromkeys(name for part in parts for name in part.numbers)
        },
        texts={
            name: np.concatenate([part.texts.get(name, np.full(len(part), None, dtype=object)) for part in parts])
            for name in dict.fromkeys(name for part in parts for name in part.texts)
        },
    )
