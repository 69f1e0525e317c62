"""``amd-smi list [--json]``: which cards the driver of AMD shows, with PCI address and partition.

Seen: ROCm 6.3 text. JSON is a bare list to 6.x and ``{"gpu_data": [...]}`` in 7.x; both are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.outline import card_records, count, word
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "amd-smi-list"


@dataclass(frozen=True, slots=True)
class ListedCard:
    """One card as listed; a partition other than 0 is a part of a card, not a card."""

    gpu: int
    bdf: str
    uuid: str | None
    node_id: int | None
    partition_id: int | None


def parse(text: str) -> tuple[ListedCard, ...]:
    """Read the list; a card without PCI address is refused."""
    return tuple(_card(gpu, record) for gpu, record in card_records(text))


def _card(gpu: int, record: dict[str, object]) -> ListedCard:
    if (bdf := word(record.get("bdf"), "bdf")) is None:
        raise UnreadableOutput(f"GPU {gpu} has no PCI address (bdf)")
    return ListedCard(
        gpu=gpu,
        bdf=bdf,
        uuid=word(record.get("uuid"), "uuid"),
        node_id=count(record.get("node_id"), "node_id"),
        partition_id=count(record.get("partition_id"), "partition_id"),
    )
