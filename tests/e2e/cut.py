"""A run's evidence cut off after so many lines, as a process that died leaves it, judged again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from checks.verdict import Outcome
from kvgate.cli.again import session_again


def nothing_stops_early(folder: Path, places: int, scratch: Path) -> dict[tuple[str, str], str]:
    """Assert that no clause comes to STOP by a part of the evidence that passes by the whole; return what stops by the whole."""
    found = list(stops_when_cut(folder, places, scratch))
    whole = found[-1][1]
    for place, stops in found:
        assert not stops.keys() - whole.keys(), f"{folder.name} cut after line {place}: {stops}"
    return whole


def stops_when_cut(folder: Path, places: int, scratch: Path) -> Iterator[tuple[int, dict[tuple[str, str], str]]]:
    """Yield, for about so many ends, the line number of each and what comes to STOP there: clause and subject -> measured."""
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    copy = scratch / folder.name
    shutil.copytree(folder, copy)
    for place in sorted({round(len(lines) * part / places) or 1 for part in range(1, places + 1)}):
        (copy / "journal.jsonl").write_bytes(b"".join(lines[:place]))
        judged = session_again(copy).judged
        yield (
            place,
            {
                item[:2]: f"{one.verdict.measured}; {one.verdict.note}"
                for item, one in judged.items()
                if one.verdict.outcome is Outcome.STOP
            },
        )
    shutil.rmtree(copy)
