"""``ib_write_lat``, ``ib_read_lat``, ``ib_send_lat``: latency over RDMA in microseconds, text or ``--out_json`` file.

By iterations the row holds minimum to 99.9 %; in duration mode (``-D``) only the mean and the rate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import decimal, entry, integer, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "ib_write_lat"

_FULL = ("t_min[usec]", "t_max[usec]", "t_typical[usec]", "t_avg[usec]", "t_stdev[usec]", "99% percentile[usec]",
         "99.9% percentile[usec]")  # fmt: skip
_HEADING = re.compile(r"\s*#bytes\s+#iterations\s+(.*?)\s*")
_DURATION = re.compile(r"t_avg\[usec\]\s+tps average")
_ROW = re.compile(r"\s*(\d{1,12})\s+(\d{1,15})((?:\s+\d{1,9}(?:\.\d+)?)+)\s*")
_FAILURE = re.compile(r".*(?:Completion with error|Failed status|[Ss]yndrom).*")


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """One result, times in microseconds; only ``mean`` is there in duration mode."""

    size: int
    iterations: int
    minimum: float | None
    maximum: float | None
    typical: float | None
    mean: float
    p99: float | None
    p999: float | None


@dataclass(frozen=True, slots=True)
class LatencyRun:
    """All rows of a run; ``errors`` are completion errors, which void them."""

    rows: tuple[LatencyRow, ...]
    errors: tuple[str, ...]


def parse(text: str) -> LatencyRun:
    """Read text or JSON; without a result, say what the tool printed."""
    if re.search(r"^\{", text, re.MULTILINE):
        return _from_json(entry(json_document(text), "results", dict, "report"))
    return _from_text(lines(text))


def _from_json(table: dict[str, Any]) -> LatencyRun:
    def given(key: str) -> float | None:
        return float(entry(table, key, (int, float), "results")) if key in table else None

    return LatencyRun(
        (
            LatencyRow(
                entry(table, "MsgSize", int, "results"),
                entry(table, "n_iterations", int, "results"),
                given("t_min"),
                given("t_max"),
                given("t_typical"),
                float(entry(table, "t_avg", (int, float), "results")),
                given("percentile_99"),
                given("percentile_99.9"),
            ),
        ),
        (),
    )


def _from_text(rows: list[str]) -> LatencyRun:
    columns: int | None = None
    found: list[LatencyRow] = []
    errors: list[str] = []
    for line in rows:
        if match := _HEADING.fullmatch(line):
            columns = _columns(match[1])
        elif _FAILURE.fullmatch(line):
            errors.append(line.strip())
        elif match := _ROW.fullmatch(line):
            found.append(_row(match, columns))
    if not found and not errors:
        raise UnreadableOutput(f"no result row, the tool says: {_complaint(rows)!r}")
    return LatencyRun(tuple(dict.fromkeys(found)), tuple(errors))


def _complaint(rows: list[str]) -> str:
    said = [line.strip()[:120] for line in rows if line.strip(" *\t-")]
    for mark in (r"REJECTED", r"Couldn't|Unable|Failed|error|not found|No such", r""):
        for line in said:
            if re.search(mark, line):
                return line
    return "nothing"


def _columns(heading: str) -> int:
    if _DURATION.fullmatch(heading):
        return 2
    wanted = r"\s+".join(re.escape(name) for name in _FULL)
    if re.fullmatch(wanted, heading) is None:
        raise UnreadableOutput(f"found columns {heading[:100]!r}, wanted {' '.join(_FULL)}")
    return len(_FULL)


def _row(match: re.Match[str], columns: int | None) -> LatencyRow:
    values = [decimal(word, "latency") for word in match[3].split()]
    if len(values) != columns:
        raise UnreadableOutput(f"found {len(values)} values in a row, wanted {columns or 'a heading first'}")
    size, iterations = integer(match[1], "#bytes"), integer(match[2], "#iterations")
    if columns == 2:
        return LatencyRow(size, iterations, None, None, None, values[0], None, None)
    low, high, typical, mean, _, p99, p999 = values
    return LatencyRow(size, iterations, low, high, typical, mean, p99, p999)
