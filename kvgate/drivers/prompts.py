"""Prompts and clocks of a load host, the same for every driver: token ids of a logged seed, and both clocks read at once.

First part of every program that is sent to a load host: nothing but Python 3.8's standard library.
"""

from __future__ import annotations

import hashlib
import json
import struct
import time
from typing import Any, Dict, List


def prompt(seed: int, name: str, index: int, tokens: int, low: int, high: int) -> List[int]:
    """Token ids of one prompt, each from [low, high): the same on every machine and version of Python."""
    raw = hashlib.shake_256(f"{seed}\0{name}\0{index}".encode()).digest(4 * tokens)
    return [low + number % (high - low) for number in struct.unpack(f"<{tokens}I", raw)]


def given(text: str, kinds: Dict[str, type]) -> Dict[str, Any]:
    """Read options: exactly these names, each of its kind, a whole number for a float too. Raises ValueError with what is wrong."""
    table = json.loads(text)
    if not isinstance(table, dict) or set(table) != set(kinds):
        raise ValueError(f"options {sorted(table)}, wanted {sorted(kinds)}")
    for name, kind in kinds.items():
        value = table[name]
        if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
            raise ValueError(f"{name} is {value!r}")
    return table


def rounded(seconds: float) -> float:
    """Seconds to the microsecond."""
    return round(seconds, 6)


def instant() -> List[float]:
    """Both clocks at once: the pair with the least time between two readings of the monotonic one, of a few tries."""
    tries = []
    for _ in range(5):
        before, wall, after = time.monotonic(), time.time(), time.monotonic()
        tries.append((after - before, wall, before))
    return list(min(tries)[1:])
