"""``kvgate launcher``: what a load tool of the host wrote, from kvgate's launcher; one JSON document.

Seen: version 1. What the tool wrote stands in it as text and is read by the tool's own parser. ``status`` is null where the
tool could not be started; ``cut`` says that it was told to end, by a signal or at its limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.lexing import array, entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "kvgate-launcher"

VERSION = 1
_NUMBER = (int, float)
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Launched:
    """One run of a tool. ``prompts`` is the SHA-256 of all prompts in order; ``ends`` are (wall, monotonic) around it, seconds.

    ``tool_version`` is empty where it could not be told; a result that the tool did not write is None. ``lag_p99_s`` is how
    late the launcher came to what was due, ``cpu_s`` the tool's processor time.
    """

    argv: tuple[str, ...]
    seed: int
    prompt_set: str
    count: int
    tokens: int
    ids: tuple[int, int]
    prompts: str
    tool_version: str
    status: int | None
    cut: bool
    said: str
    ends: tuple[tuple[float, float], tuple[float, float]]
    cpu_s: float
    lag_p99_s: float
    results: Mapping[str, str | None]

    @property
    def seconds(self) -> float:
        """Length of the run by the monotonic clock."""
        return self.ends[1][1] - self.ends[0][1]


def parse(text: str) -> Launched:
    """Read the document, or raise UnreadableOutput."""
    table = json_document(text)
    if (version := entry(table, "kvgate_tool", int)) != VERSION:
        raise UnreadableOutput(f"the document has version {version}, wanted {VERSION}")
    if entry(table, "complete", bool) is not True:
        raise UnreadableOutput("the launcher did not complete its document")
    asked, cpu = entry(table, "options", dict), entry(table, "cpu", dict)
    before, after = (_instant(one) for one in array(table, "ends", list, 2))
    if after[1] <= before[1]:
        raise UnreadableOutput("the run ends before it begins")
    low, high = array(asked, "ids", int, 2)
    prompts = entry(table, "prompts", str)
    if _HASH.fullmatch(prompts) is None:
        raise UnreadableOutput(f"prompts is {prompts[:40]!r}, wanted a SHA-256")
    results = entry(table, "results", dict)
    return Launched(
        argv=tuple(array(asked, "argv", str)),
        seed=entry(asked, "seed", int),
        prompt_set=entry(asked, "set", str),
        count=entry(asked, "count", int),
        tokens=entry(asked, "tokens", int),
        ids=(low, high),
        prompts=prompts,
        tool_version=entry(table, "version", str),
        status=entry(table, "status", (int, type(None))),
        cut=entry(table, "cut", bool),
        said=entry(table, "said", str),
        ends=(before, after),
        cpu_s=float(entry(cpu, "seconds", _NUMBER)),
        lag_p99_s=float(entry(cpu, "lag_p99", _NUMBER)),
        results={name: entry(results, name, (str, type(None)), "results") for name in results},
    )


def _instant(pair: list[Any]) -> tuple[float, float]:
    wall, monotonic = array({"ends": pair}, "ends", _NUMBER, 2)
    return float(wall), float(monotonic)
