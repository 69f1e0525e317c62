"""``nvme id-ns DEVICE -o json``: size and format of one namespace."""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import entry, json_document, whole
from checks.probe import UnreadableOutput

COMMAND = "nvme-id-ns"


@dataclass(frozen=True, slots=True)
class IdNs:
    """The format in use: bytes a logical block, metadata bytes beside each, size and capacity in logical blocks."""

    block_bytes: int
    metadata_bytes: int
    size_blocks: int
    capacity_blocks: int


def parse(text: str) -> IdNs:
    """Read the format that ``flbas`` points at: bits 3:0, with bits 6:5 above them when there are more than 16 formats."""
    table = json_document(text)
    formats = entry(table, "lbafs", list)
    flbas = whole(table, "flbas")
    index = flbas & 0xF | ((flbas >> 5 & 0x3) << 4 if len(formats) > 16 else 0)
    if index >= len(formats):
        raise UnreadableOutput(f"format {index} is in use, but only {len(formats)} are listed")
    shift = whole(formats[index], "ds", "lbafs")
    if not 9 <= shift <= 16:
        raise UnreadableOutput(f"a logical block of 2^{shift} bytes, wanted 2^9 to 2^16")
    return IdNs(
        block_bytes=1 << shift,
        metadata_bytes=whole(formats[index], "ms", "lbafs"),
        size_blocks=whole(table, "nsze"),
        capacity_blocks=whole(table, "ncap"),
    )
