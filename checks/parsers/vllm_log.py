"""Log of ``vllm serve``: how long loading the model's weights and the whole model took.

Seen: vLLM 0.9 and 0.10. With several workers each writes its own lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import decimal, lines
from checks.probe import UnreadableOutput

COMMAND = "vllm-log"

_WEIGHTS = re.compile(r".*\] Loading weights took (\S+) seconds")
_MODEL = re.compile(r".*\] Model loading took (\S+) GiB(?: memory)? and (\S+) seconds")


@dataclass(frozen=True, slots=True)
class Load:
    """One worker's whole load: size in GiB, time in seconds."""

    gib: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """All workers: seconds of the weight phase, and the whole loads. Time stamps carry no year and are not read."""

    weight_seconds: tuple[float, ...]
    loads: tuple[Load, ...]


def parse(text: str) -> ModelLoad:
    """Read the two kinds of lines; a log without a finished load is refused."""
    weights: list[float] = []
    loads: list[Load] = []
    for line in lines(text):
        if match := _WEIGHTS.fullmatch(line):
            weights.append(decimal(match[1], "Loading weights took"))
        elif match := _MODEL.fullmatch(line):
            loads.append(Load(decimal(match[1], "model size"), decimal(match[2], "Model loading took")))
    if not loads:
        raise UnreadableOutput("the log has no line 'Model loading took ... GiB and ... seconds'")
    return ModelLoad(tuple(weights), tuple(loads))
