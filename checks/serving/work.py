"""What one run of kvgate's own client is asked to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """What a run is for. Canaries keep the text of their answers."""

    POPULATE = "populate"
    WARM = "warm"
    MEASURE = "measure"
    CANARIES = "canaries"


@dataclass(frozen=True, slots=True)
class Work:
    """One run of the client. Prompts are made of ``seed`` and ``prompt_set``: the same two are the same prompts, anywhere.

    ``count`` prompts of exactly ``tokens_in`` token ids from ``ids`` [low, high); every answer has ``tokens_out`` tokens.
    Request i goes to endpoint (i + ``shift``) modulo their number: another shift asks another instance for the same prompt.
    Seconds: ``connect`` for a connection, ``first`` for the first token, ``stall`` for the next one, ``limit`` for the run.
    """

    mode: Mode
    endpoints: tuple[str, ...]
    model: str
    seed: int
    prompt_set: str
    count: int
    tokens_in: int
    tokens_out: int
    concurrency: int
    ids: tuple[int, int]
    shift: int = 0
    connect: float = 10.0
    first: float = 1800.0
    stall: float = 300.0
    limit: float = 7200.0

    @property
    def options(self) -> str:
        """The client's options as JSON."""
        table = {
            "mode": self.mode.value, "endpoints": list(self.endpoints), "model": self.model, "seed": self.seed,
            "set": self.prompt_set, "count": self.count, "tokens": self.tokens_in, "ids": list(self.ids), "out": self.tokens_out,
            "concurrency": self.concurrency, "shift": self.shift, "connect": self.connect, "first": self.first,
            "stall": self.stall, "limit": self.limit,
        }  # fmt: skip
        return json.dumps(table, separators=(",", ":"), sort_keys=True)


def ordinary(vocabulary: int) -> tuple[int, int]:
    """Token ids [low, high) that are words in any vocabulary of this size: special ids and bytes stand at either end.

    Raises ValueError for a vocabulary of fewer than 1024 ids, which has no such middle.
    """
    if vocabulary < 1024:
        raise ValueError(f"a vocabulary of {vocabulary} ids, wanted at least 1024")
    return vocabulary // 8, vocabulary * 3 // 4
