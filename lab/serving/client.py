"""What the load client prints on a simulated host: one request after another in every slot, in made-up time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

COLUMNS = [
    "index", "status", "waited", "sent", "first", "last", "tokens_in", "tokens_out", "cached", "events", "finish", "output",
    "error",
]  # fmt: skip


@dataclass(frozen=True)
class Served:
    """How one request went: seconds to the first token and from there to the last, tokens, and the text."""

    ttft: float
    decode: float
    tokens_in: int
    tokens_out: int
    cached: int | None
    text: str
    status: str = "completed"
    error: str = ""


@dataclass(frozen=True)
class Timed:
    """One request on the run's clock, in seconds since the run began."""

    sent: float
    first: float
    last: float
    served: Served


def timed(count: int, concurrency: int, serve: Callable[[int], Served]) -> tuple[list[Timed], float]:
    """All requests of a run that keeps ``concurrency`` of them under way, and the seconds that it took."""
    slots = [0.0] * concurrency
    found = []
    for index in range(count):
        slot = min(range(len(slots)), key=slots.__getitem__)
        served = serve(index)
        sent = slots[slot] + 0.0002
        found.append(Timed(sent, sent + served.ttft, sent + served.ttft + served.decode, served))
        slots[slot] = found[-1].last
    return found, max(slots) + 0.05


def digest(options: dict[str, Any], order: str = "") -> str:
    """What stands for the SHA-256 of a set of prompts; ``order`` changes it."""
    return hashlib.sha256(f"{options['seed']} {options['set']} {options['count']} {order}".encode()).hexdigest()


def document(
    options: dict[str, Any],
    clock: tuple[float, float],
    serve: Callable[[int], Served],
    lag: float,
    step: float,
    order: str = "",
) -> tuple[str, float]:
    """The document and the seconds that the run took. ``step`` moves the wall clock meanwhile; ``order`` changes the prompts."""
    asked, seconds = timed(options["count"], options["concurrency"], serve)
    rows = [_row(index, options["mode"], one.sent, one.first, one.last, one.served) for index, one in enumerate(asked)]
    wall, monotonic = clock
    text = {
        "kvgate_client": 1,
        "python": "3.11.2",
        "options": options,
        "prompts": digest(options, order),
        "ends": [[wall, monotonic], [wall + seconds + step, monotonic + seconds]],
        "cpu": {"seconds": round(seconds * 0.03, 6), "beats": int(seconds * 50), "lag_p99": lag, "lag_max": lag * 2},
        "columns": COLUMNS,
        "requests": rows,
        "complete": True,
    }
    return json.dumps(text) + "\n", seconds


def _row(index: int, mode: str, sent: float, first: float, last: float, found: Served) -> list[Any]:
    if found.status != "completed":
        reached = [round(sent, 6), None, None] if found.status != "unfinished" else [None, None, None]
        return [index, found.status, 0.0, *reached, None, None, None, 0, None, None, found.error]
    output = found.text if mode == "canaries" else hashlib.sha256(found.text.encode()).hexdigest()
    times = [round(sent, 6), round(first, 6), round(last, 6)]
    tokens = [found.tokens_in, found.tokens_out, found.cached]
    return [index, "completed", 0.0, *times, *tokens, found.tokens_out, "length", output, ""]
