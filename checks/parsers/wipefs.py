"""``wipefs -n -J DEVICE``: signatures of filesystems, arrays and partition tables on a device; nothing is wiped by ``-n``."""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import entry, json_document

COMMAND = "wipefs"


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature: where it stands and what it says."""

    device: str
    offset: str
    type: str
    label: str | None


def parse(text: str) -> tuple[Signature, ...]:
    """Read all signatures; an empty list is the answer of a clean device, an empty output is refused."""
    return tuple(
        Signature(
            device=entry(one, "device", str),
            offset=entry(one, "offset", str),
            type=entry(one, "type", str),
            label=entry(one, "label", (str, type(None))),
        )
        for one in entry(json_document(text), "signatures", list)
    )
