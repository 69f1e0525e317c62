"""``ethtool --show-fec <interface>``, with ``-I`` also its block counts: which error correction the link uses.

Seen: ``Configured FEC encodings`` (ethtool 5.x), ``Supported/Configured FEC encodings`` (6.x), histogram lines below
``Statistics:`` (6.18), JSON. With the link down the active encoding reads ``None`` or ``Off``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, integer, json_document, lines
from checks.probe import UnreadableOutput

COMMAND = "ethtool-show-fec"

_CONFIGURED = re.compile(r"(?:Supported/)?Configured FEC encodings?")
_ACTIVE = re.compile(r"Active FEC encodings?")
_STATISTICS = ("corrected_blocks", "uncorrectable_blocks")


@dataclass(frozen=True, slots=True)
class Fec:
    """Encodings as the tool names them (RS, BaseR, LLRS, Off, None, Auto); block counts None where not given."""

    interface: str
    configured: tuple[str, ...]
    active: tuple[str, ...]
    corrected_blocks: int | None
    uncorrectable_blocks: int | None


def parse(text: str) -> Fec:
    """Read text or JSON; both encoding lines must be there. ``Not reported`` gives no encoding at all."""
    if text.lstrip().startswith("["):
        return _json(json_document(text))
    rows = lines(text)
    heads = [head[1] for row in rows if (head := re.fullmatch(r"FEC parameters for (\S+):", row))]
    if len(heads) != 1:
        raise UnreadableOutput(f"{len(heads)} lines 'FEC parameters for ...', wanted one")
    found: dict[str, str] = {}
    for row in rows:
        label, colon, value = row.strip().partition(":")
        name = "configured" if _CONFIGURED.fullmatch(label) else "active" if _ACTIVE.fullmatch(label) else label
        if not colon or name not in ("configured", "active", *_STATISTICS):
            continue
        if name in found:
            raise UnreadableOutput(f"{label!r} stands twice")
        found[name] = value.strip()
    for name in ("configured", "active"):
        if name not in found:
            raise UnreadableOutput(f"no line for the {name} FEC encoding")
    counts = [integer(found[name].split("[")[0], name) if name in found else None for name in _STATISTICS]
    return Fec(heads[0], _words(found["configured"]), _words(found["active"]), *counts)


def _words(value: str) -> tuple[str, ...]:
    return () if value in ("", "Not reported") else tuple(value.split())


def _json(document: Any) -> Fec:
    if not isinstance(document, list) or len(document) != 1:
        raise UnreadableOutput("the list has not exactly one interface")
    port = document[0]
    encodings = []
    for key in ("config", "active"):
        words = entry(port, key, list)
        if not all(isinstance(word, str) for word in words):
            raise UnreadableOutput(f"{key!r} is not a list of words")
        encodings.append(tuple(words))
    counts = entry(port, "statistics", dict) if isinstance(port, dict) and "statistics" in port else {}
    totals = [entry(entry(counts, name, dict), "total", int) if name in counts else None for name in _STATISTICS]
    return Fec(entry(port, "ifname", str), encodings[0], encodings[1], *totals)
