"""``nvme discover -t <transport> -a <address> -s <port> -o json``: the subsystems that a target offers.

Seen: nvme-cli 1.x and 2.x, with and without the key ``device``. An unknown transport is printed as a word too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document

COMMAND = "nvme-discover"


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the discovery log; texts without the padding that some targets leave."""

    transport: str
    subtype: str
    nqn: str
    address: str
    service: str


def parse(text: str) -> tuple[Record, ...]:
    """Read the discovery log; an empty list is a target that offers nothing to this host."""
    records = entry(json_document(text), "records", list, "discovery log")
    return tuple(_record(record) for record in records)


def _record(item: Any) -> Record:
    return Record(
        transport=_text(item, "trtype"),
        subtype=_text(item, "subtype"),
        nqn=_text(item, "subnqn"),
        address=_text(item, "traddr"),
        service=_text(item, "trsvcid"),
    )


def _text(item: Any, key: str) -> str:
    return str(entry(item, key, str, "record")).strip()
