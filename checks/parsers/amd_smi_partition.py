"""``amd-smi partition [--current] [--json]``: how cards are split in compute and memory.

Seen: several JSON documents and a legend (7.x); ``{"current_partition": [...]}`` with ``memory``, ``accelerator_type`` and
``gpu_id``. Rows whose card is N/A describe profiles, not cards, and are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import json_documents
from checks.outline import word
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "amd-smi-partition"


@dataclass(frozen=True, slots=True)
class Partition:
    """The current modes of one card; ``None`` where the tool says N/A, as it does for all but a card's first partition."""

    gpu: int
    compute: str | None
    memory: str | None


def parse(text: str) -> tuple[Partition, ...]:
    """Read the current modes of all cards."""
    found = []
    for document in json_documents(text):
        if isinstance(document, dict):
            document = document.get("current_partition", document)
        for row in document if isinstance(document, list) else [document]:
            if isinstance(row, dict) and type(number := row.get("gpu", row.get("gpu_id"))) is int:
                found.append(Partition(number, _mode(row, "accelerator_type", "compute_partition"), _memory(row)))
    if not found:
        raise UnreadableOutput("no card with its partition in the output")
    if len({entry.gpu for entry in found}) != len(found):
        raise UnreadableOutput("a card is described twice")
    return tuple(found)


def _memory(row: dict[str, Any]) -> str | None:
    return _mode(row, "memory", "memory_partition")


def _mode(row: dict[str, Any], *names: str) -> str | None:
    for name in names:
        if name in row:
            mode = word(row[name], name)
            return mode.rstrip("*") if mode is not None else None
    raise UnreadableOutput(f"GPU row has none of {', '.join(names)}")
