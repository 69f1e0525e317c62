"""``/proc/diskstats``: what each block device moved since boot. Sectors are 512 bytes whatever the device's blocks are.

Seen: 14 fields (before 4.18), 18 (discards), 20 (flushes). Fields that a kernel does not have are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "diskstats"
_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Moved:
    """Counters of one device: operations, bytes, and milliseconds during which it had work."""

    device: str
    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    busy_ms: int


def parse(text: str) -> tuple[Moved, ...]:
    """Read all devices, partitions too."""
    found: list[Moved] = []
    for line in lines(text):
        words = line.split()
        if len(words) not in (14, 18, 20):
            raise UnreadableOutput(f"found {len(words)} fields in {line[:80]!r}, wanted 14, 18 or 20")
        numbers = [integer(word, "field") for word in (*words[:2], *words[3:])]
        if any(number < 0 for number in numbers):
            raise UnreadableOutput(f"found a negative counter in {line[:80]!r}")
        counters = numbers[2:]
        found.append(
            Moved(
                device=words[2],
                reads=counters[0],
                read_bytes=counters[2] * _SECTOR,
                writes=counters[4],
                written_bytes=counters[6] * _SECTOR,
                busy_ms=counters[9],
            )
        )
    if len({one.device for one in found}) != len(found):
        raise UnreadableOutput("a device stands twice")
    if not found:
        raise UnreadableOutput("no device in the output")
    return tuple(found)
