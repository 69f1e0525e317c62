"""Samples of a journal as columns: one table a stream, one row a sample and subject. The lines stay the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checks.parsers.soak_journal import Fields, Line
from checks.probe import UnreadableOutput

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


#: What a sample without subjects tells: it was taken.
_NOTHING: Mapping[str, Fields] = {"": {}}

#: The table of what loads wrote line by line.
LINES = "lines"


def written(line: Line) -> bool:
    """Whether a line of the journal is a line that a load wrote; there are many."""
    if line.kind != "event" or line.stream != "load":
        return False
    return "line" in [one.get("event") for one in line.values.values()]


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
    """Microseconds since 1970 of a journal's wall clock. Raises UnreadableOutput for a day that no calendar has."""
    return int(_moments([utc])[0])


def tables(lines: Iterable[Line]) -> dict[str, Table]:
    """Return the samples of some lines by stream, and what loads wrote line by line as stream ``lines``, with tick 0."""
    streams: dict[str, list[Line]] = {}
    for line in lines:
        if line.kind == "sample":  # nearly all of them
            if (mine := streams.get(line.stream)) is None:
                mine = streams[line.stream] = []
            mine.append(line)
        elif written(line):
            streams.setdefault(LINES, []).append(line)
    return {stream: _table(stream, found) for stream, found in streams.items()}


def _table(stream: str, lines: Sequence[Line]) -> Table:
    boots = tuple(dict.fromkeys(line.boot for line in lines))
    codes = {boot: code for code, boot in enumerate(boots)}
    subjects: list[str] = []
    rows: list[Fields] = []
    counts: list[int] = []
    for line in lines:
        # A sample without subjects (no message of the kernel) is a sample all the same: a row about the whole stream.
        values = line.values or _NOTHING
        subjects += values
        rows += values.values()
        counts.append(len(values))
    repeat = np.repeat(np.arange(len(lines)), counts)
    numbers: dict[str, Numbers] = {}
    texts: dict[str, Words] = {}
    for name, found in _columns(rows).items():
        words = str in {*map(type, found)}
        if name not in TEXTS:
            known = [None if isinstance(one, str) else one for one in found] if words else found
            numbers[name] = np.array(known, dtype=np.float64)
        if name in TEXTS or words:
            texts[name] = np.array([one if isinstance(one, str) else None for one in found], dtype=object)
    return Table(
        stream=stream,
        boots=boots,
        seq=np.array([line.seq for line in lines], dtype=np.int64)[repeat],
        tick=np.array([line.tick or 0 for line in lines], dtype=np.int64)[repeat],
        utc=_moments([line.utc for line in lines])[repeat],
        mono=np.array([line.mono for line in lines], dtype=np.float64)[repeat],
        boot=np.array([codes[line.boot] for line in lines], dtype=np.int64)[repeat],
        subject=np.array(subjects, dtype=object),
        numbers=numbers,
        texts=texts,
    )


def _columns(rows: Sequence[Fields]) -> dict[str, Sequence[int | float | str | bool | None]]:
    """Field -> its value in every row, None where a row has none. Rows that all have the same fields are turned at once."""
    forms = list(map(tuple, rows))
    kinds = dict.fromkeys(forms)
    if len(kinds) == 1:
        return dict(zip(forms[0], zip(*(row.values() for row in rows), strict=True), strict=True))
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for form in kinds for name in form)}


def _moments(utcs: Sequence[str]) -> Whole:
    """Microseconds since 1970 of many wall clocks. Raises UnreadableOutput for a day that no calendar has."""
    try:
        return np.array([utc.removesuffix("Z") for utc in utcs], dtype="datetime64[us]").astype(np.int64)
    except ValueError as error:
        raise UnreadableOutput(f"a line of the journal has a time that is none: {error}") from None


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


def said(texts: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Rows in which a text stands; None: none does."""
    return np.array([one is not None for one in texts], dtype=bool)
