"""Samples of a soak as Parquet, by run, host and stream. Made from the journal, which stays the evidence; can be made again.

Layout: ``<root>/run=<run>/host=<host>/stream=<stream>/part-NNNNNN.parquet``, one part a segment, so that a part is written once.
``stream=story`` holds the few lines that are no samples, as text. Readable by pandas, DuckDB, Dask: columns ``seq tick utc mono
boot subject`` and one a field; numbers are float64, absent ones null.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checks.parsers import soak_journal
from checks.parsers.soak_journal import Line, Segment
from checks.phrase import say
from checks.probe import UnreadableOutput
from checks.soak.facts import HostSoak, condense
from checks.soak.tables import Table, joined, tables, tells
from checks.soak.track import track
from kvgate.errors import Damaged

_STORY = "story"
#: Names of fields that are also names of ours keep apart by this.
_PREFIX = "value."
_OURS = ("seq", "tick", "utc", "mono", "boot", "subject")


def host_folder(root: Path, run: str, host: str) -> Path:
    """Where the samples of one host lie."""
    return root / f"run={run}" / f"host={host}"


def write(root: Path, run: str, host: str, segments: Iterable[bytes | str]) -> int:
    """Write the parts of a host's segments; those that are there and whole are left. Returns how many rows there are.

    Raises UnreadableOutput for a segment that cannot be read or does not follow the one before, and Unwritable.
    """
    rows = after = 0
    for number, raw in enumerate(segments, start=1):
        text = raw if isinstance(raw, str) else raw.decode("utf-8", "surrogateescape")
        segment = soak_journal.parse(text)
        if segment.lines[0].seq != after + 1:
            raise UnreadableOutput(f"segment {number} begins with line {segment.lines[0].seq}, wanted {after + 1}")
        after = segment.lines[-1].seq
        rows += _segment(host_folder(root, run, host), number, segment)
    return rows


def _segment(folder: Path, number: int, segment: Segment) -> int:
    rows = 0
    for stream, table in tables(segment.lines).items():
        rows += len(table)
        _part(folder / f"stream={stream}", number, _arrow(table))
    story = [line for line in segment.lines if tells(line)]
    texts = [json.dumps(dataclasses.asdict(line), sort_keys=True, separators=(",", ":")) for line in story]
    _part(folder / f"stream={_STORY}", number, pa.table({"seq": [line.seq for line in story], "line": texts}))
    return rows


def _part(folder: Path, number: int, table: pa.Table) -> None:
    """Write one part whole or not at all: a reader never meets half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"part-{number:06d}.parquet"
    part = place.with_suffix(f".{os.getpid()}")
    pq.write_table(table, part, compression="zstd")
    part.replace(place)


def _arrow(table: Table) -> pa.Table:
    columns: dict[str, Any] = {
        "seq": table.seq, "tick": table.tick, "utc": pa.array(table.utc, pa.timestamp("us", tz="UTC")), "mono": table.mono,
        "boot": pa.DictionaryArray.from_arrays(pa.array(table.boot, pa.int32()), pa.array(table.boots, pa.string())),
        "subject": pa.array(table.subject, pa.string()).dictionary_encode(),
    }  # fmt: skip
    for name, values in table.numbers.items():
        columns[_named(name)] = pa.array(values, pa.float64(), from_pandas=True)
    for name, words in table.texts.items():
        # A field that is a number in one place and a text in another has a column for each.
        columns[_named(name, text=name in table.numbers)] = pa.array(words, pa.string())
    return pa.table(columns)


def _named(name: str, *, text: bool = False) -> str:
    return f"{_PREFIX}{name}" + (".text" if text else "") if name in _OURS or text else name


def hosts(root: Path, run: str) -> list[str]:
    """Hosts of a run whose samples are there."""
    return sorted(path.name.partition("=")[2] for path in (root / f"run={run}").glob("host=*") if path.is_dir())


def read(root: Path, run: str, host: str) -> HostSoak:
    """Judge-ready facts of one host from its parts. Raises Damaged for parts that are missing or unreadable, UnreadableOutput."""
    folder = host_folder(root, run, host)
    try:
        story = list(_story(folder / f"stream={_STORY}"))
        found = {
            path.name.partition("=")[2]: joined(
                [_table(path.name.partition("=")[2], part) for part in sorted(path.glob("*.parquet"))]
            )
            for path in sorted(folder.glob("stream=*"))
            if path.name != f"stream={_STORY}"
        }
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise Damaged(say("samples below {path} cannot be read: {why}", path=str(folder), why=str(error))) from error
    return condense(track(story, found))


def _story(folder: Path) -> Iterator[Line]:
    for part in sorted(folder.glob("*.parquet")):
        for text in pq.read_table(part, columns=["line"]).column("line").to_pylist():
            yield Line(**json.loads(text))


def _table(stream: str, place: Path) -> Table:
    found = pq.ParquetFile(place).read()
    boot = found.column("boot").combine_chunks()
    numbers: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    for name in found.column_names:
        if name in _OURS:
            continue
        column = found.column(name)
        own = name.removeprefix(_PREFIX)
        if pa.types.is_string(column.type):
            texts[own.removesuffix(".text") if own != name else own] = column.to_numpy().astype(object)
        else:
            numbers[own] = column.to_numpy().astype(np.float64)
    return Table(
        stream=stream,
        boots=tuple(_dictionary(boot).dictionary.to_pylist()),
        seq=found.column("seq").to_numpy(),
        tick=found.column("tick").to_numpy(),
        utc=found.column("utc").cast(pa.int64()).to_numpy(),
        mono=found.column("mono").to_numpy(),
        boot=_dictionary(boot).indices.to_numpy().astype(np.int64),
        subject=_words(found.column("subject")),
        numbers=numbers,
        texts=texts,
    )


def _dictionary(column: Any) -> Any:
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


def _words(column: Any) -> Any:
    """Subjects as one object a name: rows of a dictionary share it, which keeps memory small."""
    whole = _dictionary(column.combine_chunks())
    names = np.array(whole.dictionary.to_pylist(), dtype=object)
    return names[whole.indices.to_numpy()]


# ---- judging a fleet


def read_all(root: Path, run: str, names: Sequence[str], engine: str = "here") -> dict[str, HostSoak]:
    """Facts of several hosts, one after another, or with ``engine`` ``dask`` on the cluster of the current client.

    Hosts are independent until they are judged together, so both give the same. Raises ValueError for another engine.
    """
    if engine == "here":
        return {name: read(root, run, name) for name in names}
    if engine != "dask":
        raise ValueError(f"found engine {engine!r}, wanted here or dask")
    import dask

    jobs = [dask.delayed(read, pure=True)(root, run, name) for name in names]  # type: ignore[attr-defined]
    found = dask.compute(*jobs)  # type: ignore[attr-defined, no-untyped-call]
    return dict(zip(names, found, strict=True))
