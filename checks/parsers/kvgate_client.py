"""``kvgate client``: what every request took, from kvgate's own client on the load host; one JSON document.

Seen: version 1. Times are seconds of the load host's monotonic clock since the run began. A request that failed, stayed empty
or was not finished has no times that count; the rows of all that were begun are there, or the document is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import array, entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "kvgate-client"

VERSION = 1
_COLUMNS = (
    "index", "status", "waited", "sent", "first", "last", "tokens_in", "tokens_out", "cached", "events", "finish", "output",
    "error",
)  # fmt: skip
_NUMBER = (int, float)
_STATUSES = ("completed", "empty", "failed", "unfinished")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """One request; times in seconds since the run began. None: never reached, or not told by the server.

    ``events`` carried output. ``output`` is the SHA-256 of the answer's text, of canaries the text itself.
    """

    index: int
    status: str
    waited_s: float | None
    sent_s: float | None
    first_s: float | None
    last_s: float | None
    tokens_in: int | None
    tokens_out: int | None
    cached: int | None
    events: int
    finish: str | None
    output: str | None
    error: str


@dataclass(frozen=True, slots=True)
class ClientRun:
    """One run. ``prompts`` is the SHA-256 of all prompts in order; ``ends`` are (wall, monotonic) before and after, in seconds.

    ``cpu_s`` is processor time of the client within the run, ``lag_p99_s`` and ``lag_max_s`` how late it came to what was due.
    """

    mode: str
    endpoints: tuple[str, ...]
    model: str
    seed: int
    prompt_set: str
    count: int
    tokens: int
    ids: tuple[int, int]
    out: int
    concurrency: int
    shift: int
    prompts: str
    ends: tuple[tuple[float, float], tuple[float, float]]
    cpu_s: float
    lag_p99_s: float
    lag_max_s: float
    requests: tuple[ClientRequest, ...]

    @property
    def seconds(self) -> float:
        """Length of the run by the monotonic clock."""
        return self.ends[1][1] - self.ends[0][1]

    @property
    def cpu_percent(self) -> float:
        """Share of one core that the client took."""
        return self.cpu_s / self.seconds * 100


def parse(text: str) -> ClientRun:
    """Read the document, or raise UnreadableOutput."""
    table = json_document(text)
    if (version := entry(table, "kvgate_client", int)) != VERSION:
        raise UnreadableOutput(f"the document has version {version}, wanted {VERSION}")
    if entry(table, "complete", bool) is not True:
        raise UnreadableOutput("the client did not complete its document")
    asked, cpu = entry(table, "options", dict), entry(table, "cpu", dict)
    if tuple(array(table, "columns", str)) != _COLUMNS:
        raise UnreadableOutput(f"columns {entry(table, 'columns', list)}, wanted {list(_COLUMNS)}")
    count = _positive(asked, "count")
    before, after = (_instant(one) for one in array(table, "ends", list, 2))
    if after[1] <= before[1]:
        raise UnreadableOutput("the run ends before it begins")
    low, high = array(asked, "ids", int, 2)
    rows = array(table, "requests", list, count)
    prompts = entry(table, "prompts", str)
    if _HASH.fullmatch(prompts) is None:
        raise UnreadableOutput(f"prompts is {prompts[:40]!r}, wanted a SHA-256")
    keeps = entry(asked, "mode", str) == "canaries"
    return ClientRun(
        mode=entry(asked, "mode", str),
        endpoints=tuple(array(asked, "endpoints", str)),
        model=entry(asked, "model", str),
        seed=entry(asked, "seed", int),
        prompt_set=entry(asked, "set", str),
        count=count,
        tokens=_positive(asked, "tokens"),
        ids=(low, high),
        out=_positive(asked, "out"),
        concurrency=_positive(asked, "concurrency"),
        shift=entry(asked, "shift", int),
        prompts=prompts,
        ends=(before, after),
        cpu_s=_seconds(cpu, "seconds"),
        lag_p99_s=_seconds(cpu, "lag_p99"),
        lag_max_s=_seconds(cpu, "lag_max"),
        requests=tuple(_request(index, row, after[1] - before[1], keeps) for index, row in enumerate(rows)),
    )


def _positive(table: Any, key: str) -> int:
    found: int = entry(table, key, int)
    if found < 1:
        raise UnreadableOutput(f"{key!r} is {found}, wanted at least 1")
    return found


def _seconds(table: Any, key: str) -> float:
    found = float(entry(table, key, _NUMBER))
    if found < 0 and key == "seconds":
        raise UnreadableOutput(f"{key!r} is {found}, wanted no less than 0")
    return found


def _instant(pair: list[Any]) -> tuple[float, float]:
    wall, monotonic = array({"ends": pair}, "ends", _NUMBER, 2)
    return float(wall), float(monotonic)


def _request(index: int, row: list[Any], seconds: float, keeps: bool) -> ClientRequest:
    if len(row) != len(_COLUMNS):
        raise UnreadableOutput(f"request {index} has {len(row)} values, wanted {len(_COLUMNS)}")
    table = dict(zip(_COLUMNS, row, strict=True))
    where = f"request {index}"

    def time(key: str) -> float | None:
        found = entry(table, key, (int, float, type(None)), where)
        if found is not None and not 0 <= found <= seconds + 1e-3:
            raise UnreadableOutput(f"{where}: {key!r} is {found}, outside the run of {seconds:.3f} s")
        return None if found is None else float(found)

    def count(key: str) -> int | None:
        found: int | None = entry(table, key, (int, type(None)), where)
        if found is not None and found < 0:
            raise UnreadableOutput(f"{where}: {key!r} is {found}, wanted no less than 0")
        return found

    status = entry(table, "status", str, where)
    if entry(table, "index", int, where) != index or status not in _STATUSES:
        raise UnreadableOutput(f"row {index} is request {table['index']} with status {status!r}")
    found = ClientRequest(
        index=index,
        status=status,
        waited_s=time("waited"),
        sent_s=time("sent"),
        first_s=time("first"),
        last_s=time("last"),
        tokens_in=count("tokens_in"),
        tokens_out=count("tokens_out"),
        cached=count("cached"),
        events=count("events") or 0,
        finish=entry(table, "finish", (str, type(None)), where),
        output=entry(table, "output", (str, type(None)), where),
        error=entry(table, "error", str, where),
    )
    _consistent(found, where, keeps)
    return found


def _consistent(one: ClientRequest, where: str, keeps: bool) -> None:
    if one.status == "completed":
        if one.sent_s is None or one.first_s is None or one.last_s is None or not one.events or one.error:
            raise UnreadableOutput(f"{where} is completed without times or with an error")
        if not one.sent_s < one.first_s <= one.last_s:
            raise UnreadableOutput(f"{where}: sent {one.sent_s}, first {one.first_s}, last {one.last_s}")
        if one.output is None or not (keeps or _HASH.fullmatch(one.output)):
            raise UnreadableOutput(f"{where} is completed without the hash of its answer")
    elif one.status == "failed" and not one.error:
        raise UnreadableOutput(f"{where} failed without a reason")
    elif one.status == "empty" and one.events:
        raise UnreadableOutput(f"{where} is empty with {one.events} events that carry output")
