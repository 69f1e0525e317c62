"""``ib_write_bw``, ``ib_read_bw``, ``ib_send_bw``: bandwidth over RDMA, text or ``--out_json`` file.

Seen: perftest 4.5 to 25. The heading said ``[MB/sec]`` until release 24.07 and ``[MiB/sec]`` since: the number was MiB all
along. The JSON states no unit, so the unit is the one that fits message rate x size. ``-D`` prints a peak of 0.00: not
measured. With ``-b`` both directions are summed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import decimal, entry, integer, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "ib_write_bw"

_UNITS = {"Gb/sec": 1e9, "MB/sec": 8 * 2**20, "MiB/sec": 8 * 2**20}
_HEADING = re.compile(r"\s*#bytes\s+#iterations\s+BW peak\[(\S+)\]\s+BW average\[(\S+)\]\s+MsgRate\[Mpps\].*")
_ROW = re.compile(r"\s*(\d{1,12})\s+(\d{1,15})\s+(\d{1,9}\.\d+)\s+(\d{1,9}\.\d+)\s+(\d{1,9}\.\d+)\s*")
_TITLE = re.compile(r"\s*((?:RDMA_Write|RDMA_Read|Send|Atomic\S*)(?: Bidirectional)? BW(?: Multicast)?) Test\s*")
_FAILURE = re.compile(r".*(?:Completion with error|Failed status|[Ss]yndrom).*")
_HALF_STEP = 0.5e-6  # Mpps: the message rate has six decimals


@dataclass(frozen=True, slots=True)
class Row:
    """One result. ``average`` and ``peak`` in bits a second; ``peak`` is None in duration mode; ``message_rate`` in Mpps."""

    size: int
    iterations: int
    peak: float | None
    average: float
    message_rate: float


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A run. ``mtu`` in bytes; ``errors`` are completion errors, which void the rows whatever they say."""

    test: str
    device: str
    mtu: int
    link: str
    gid_index: int | None
    queue_pairs: int
    rows: tuple[Row, ...]
    errors: tuple[str, ...]


def parse(text: str) -> Bandwidth:
    """Read text or JSON; without a result and without a completion error, say what the tool printed."""
    if re.search(r"^\{", text, re.MULTILINE):
        return _from_json(json_document(text))
    return _from_text(lines(text))


def _from_json(document: Any) -> Bandwidth:
    about = entry(document, "test_info", dict, "report")
    results = entry(document, "results", dict, "report")
    size, rate = entry(results, "MsgSize", int, "results"), _number(results, "MsgRate")
    average, peak = _number(results, "BW_average"), _number(results, "BW_peak")
    fits = [factor for factor in (1e9, 8 * 2**20) if _agree(average * factor, rate, size)]
    if len(fits) != 1:
        raise UnreadableOutput(
            f"BW_average {average} is neither Gb/s nor MiB/s at {rate} Mpps of {size} bytes; use --report_gbits text"
        )
    row = Row(
        size, entry(results, "n_iterations", int, "results"), peak * fits[0] if peak else None, average * fits[0], rate
    )
    return Bandwidth(
        test=entry(about, "test", str, "test_info"),
        device=entry(about, "Device", str, "test_info"),
        mtu=entry(about, "Mtu", int, "test_info"),
        link=entry(about, "Link_type", str, "test_info"),
        gid_index=entry(about, "GID_index", int, "test_info") if "GID_index" in about else None,
        queue_pairs=entry(about, "Number_of_qps", int, "test_info"),
        rows=(row,),
        errors=(),
    )


def _number(table: dict[str, Any], key: str) -> float:
    return float(entry(table, key, (int, float), "results"))


def _agree(bits: float, rate: float, size: int) -> bool:
    low, high = ((rate + step) * 1e6 * size * 8 for step in (-_HALF_STEP, _HALF_STEP))
    return low * 0.99 <= bits <= high * 1.01


def _from_text(rows: list[str]) -> Bandwidth:
    factor: float | None = None
    found: list[Row] = []
    errors: list[str] = []
    title: str | None = None
    about: dict[str, str] = {}
    for line in rows:
        if match := _TITLE.fullmatch(line):
            title = match[1]
        elif match := _HEADING.fullmatch(line):
            factor = _unit(match[1], match[2])
        elif _FAILURE.fullmatch(line):
            errors.append(line.strip())
        elif match := _ROW.fullmatch(line):
            found.append(_row(match, factor))
        elif re.match(r"\s*\d+\s+\d+\s", line):
            raise UnreadableOutput(f"found {line.strip()[:80]!r}, wanted a row of five numbers")
        else:
            about |= dict(re.findall(r"(\S[^:\t]*?)\s*: (\S+)", line))
    if not found and not errors:
        first = next(line.strip() for line in rows if line.strip(" *\t"))
        raise UnreadableOutput(f"no result row, the tool says: {_complaint(rows) or first!r}")
    return Bandwidth(
        test=title or _missing("the name of the test"),
        device=about.get("Device") or _missing("the device"),
        mtu=integer(about.get("Mtu", "").removesuffix("[B]"), "Mtu"),
        link=about.get("Link type") or _missing("the link type"),
        gid_index=integer(about["GID index"], "GID index") if "GID index" in about else None,
        queue_pairs=integer(about.get("Number of qps", ""), "Number of qps"),
        rows=tuple(dict.fromkeys(found)),
        errors=tuple(errors),
    )


def _complaint(rows: list[str]) -> str | None:
    for mark in (r"REJECTED", r"Couldn't|Unable|Failed|error|not found|No such"):
        for line in rows:
            if re.search(mark, line):
                return line.strip()[:120]
    return None


def _missing(what: str) -> str:
    raise UnreadableOutput(f"the heading does not give {what}")


def _unit(peak: str, average: str) -> float:
    if peak != average or average not in _UNITS:
        raise UnreadableOutput(f"found units {peak!r} and {average!r}, wanted one of {', '.join(_UNITS)}")
    return _UNITS[average]


def _row(match: re.Match[str], factor: float | None) -> Row:
    if factor is None:
        raise UnreadableOutput("a result row stands before its heading")
    size, iterations = integer(match[1], "#bytes"), integer(match[2], "#iterations")
    peak, average, rate = (decimal(match[i], "bandwidth") for i in (3, 4, 5))
    if not _agree(average * factor, rate, size):
        raise UnreadableOutput(f"BW average {match[4]} does not fit {match[5]} Mpps of {size} bytes")
    return Row(size, iterations, peak * factor if peak else None, average * factor, rate)
