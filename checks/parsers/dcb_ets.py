"""``dcb -j ets show dev IF``: traffic class of each priority and how each class is scheduled.

Seen: iproute2 5.11 to 6.x. The recommended values (``reco_...``) are what a peer is told, not what is in force.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "dcb-ets"

_TSA = frozenset({"strict", "cbs", "ets", "vendor"})


@dataclass(frozen=True, slots=True)
class DcbEts:
    """``classes``: traffic class of priority 0..7. ``tsa`` and ``share`` (percent): of traffic class 0..7."""

    classes: tuple[int, ...]
    tsa: tuple[str, ...]
    share: tuple[int, ...]


def parse(text: str) -> DcbEts:
    """Read the three tables; each must have eight values."""
    document = json_document(text)
    classes = _eight(document, "prio_tc", int, range(8))
    tsa = _eight(document, "tc_tsa", str, _TSA)
    return DcbEts(tuple(classes), tuple(tsa), tuple(_eight(document, "tc_bw", int, range(101))))


def _eight(document: Any, key: str, kind: type, allowed: range | frozenset[str]) -> list[Any]:
    values: list[Any] = entry(document, key, list)
    if len(values) != 8 or any(type(value) is not kind or value not in allowed for value in values):
        raise UnreadableOutput(f"{key} is {str(values)[:80]}, wanted eight values of those known")
    return values
