"""A load client that asks an engine in the engine's own time: what a host answers to kvgate's client, without waiting."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Sequence
from typing import Any

from lab.engine.core import Ask, Engine, Served
from lab.engine.prompts import of_set

_COLUMNS = [
    "index", "status", "waited", "sent", "first", "last", "tokens_in", "tokens_out", "cached", "events", "finish", "output",
    "error",
]  # fmt: skip
_ERRORS = {
    "429": "HTTP 429: too many requests", "500": "HTTP 500: internal error", "dead": "no connection: Connection refused",
    "dropped": "the connection ended in the middle of the answer", "error": 'error in the stream: {"message": "engine error"}',
}  # fmt: skip
_PAUSE = 2e-4  # seconds that the client takes from an answer to its next request


def run(options: dict[str, Any], engines: Sequence[Engine | None], began: float) -> tuple[str, float]:
    """Return the document of a run that begins at ``began``, and when it ended. An engine that is None refuses connections."""
    slots = [(began, place) for place in range(options["concurrency"])]
    heapq.heapify(slots)
    rows, ended = [], began
    for index in range(options["count"]):
        at, place = heapq.heappop(slots)
        engine = engines[(index + options["shift"]) % len(engines)]
        served = _serve(options, engine, index, at)
        row, over = _row(options, index, at - began, served, began)
        rows.append(row)
        ended = max(ended, over)
        heapq.heappush(slots, (over + _PAUSE, place))
    document = {
        "kvgate_client": 1,
        "python": "3.12.3",
        "options": options,
        "prompts": hashlib.sha256(_identity(options).encode()).hexdigest(),
        "ends": [[1_795_960_000.0 + began, began], [1_795_960_000.0 + ended + 0.001, ended + 0.001]],
        "cpu": {"seconds": round((ended - began) * 0.03, 6), "beats": 100, "lag_p99": 0.0004, "lag_max": 0.0021},
        "columns": _COLUMNS,
        "requests": rows,
        "complete": True,
    }
    return json.dumps(document, separators=(",", ":")) + "\n", ended + 0.001


def _identity(options: dict[str, Any]) -> str:
    return json.dumps([options[key] for key in ("seed", "set", "count", "tokens", "ids")])


def _serve(options: dict[str, Any], engine: Engine | None, index: int, at: float) -> Served:
    if engine is None:
        return Served(at, 0.0, (), None, None, 0, "dead")
    name, keys = of_set(options["seed"], options["set"], index, options["tokens"], engine.shape.chunk)
    return engine.serve(Ask(name, tuple(keys), options["tokens"], options["out"]), at)


def _row(options: dict[str, Any], index: int, sent: float, served: Served, began: float) -> tuple[list[Any], float]:
    def row(status: str, first: float | None, last: float | None, error: str = "") -> list[Any]:
        text = " ".join(served.words)
        told = (
            [served.tokens_in, served.tokens_out, served.cached or None]
            if status in ("completed", "empty")
            else [None] * 3
        )
        output = text if options["mode"] == "canaries" else hashlib.sha256(text.encode()).hexdigest()
        done = status == "completed"
        return [
            index, status, 0.0, round(sent, 6), first, last, *told, len(served.words) if done else 0,
            "length" if done else None, output if done else None, error,
        ]  # fmt: skip

    if served.trouble in ("429", "500", "dead"):
        return row("failed", None, None, _ERRORS[served.trouble]), began + sent + 0.002
    first, last = round(served.first - began, 6), round(served.last - began, 6)
    if served.trouble == "stalled":
        after = options["stall"]
        return row("failed", None, None, f"no further token for {after:g} s"), served.first + after
    if served.trouble == "empty":
        return row("empty", None, None), served.last
    if served.trouble:
        return row("failed", None, None, _ERRORS[served.trouble]), served.last
    return row("completed", first, last), served.last
