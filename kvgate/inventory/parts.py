"""What a rack is made of, by what names each part once in the world: host keys, serials of disks, MAC addresses of ports.

Two inventories that have one of them in common are about the same rack, or about two that exchanged parts; names of racks,
campaigns and hosts, addresses and roles are no part of it, for anybody can write others.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kvgate.inventory import strict_yaml
from kvgate.inventory.reader import leaves
from kvgate.inventory.relations import same_thing

#: One part: its kind as the inventory names it, and its identity in one spelling.
Part = tuple[str, str]

_KINDS = ("host_key", "serial", "mac")


def part(kind: str, value: str) -> Part:
    """Return a part in the spelling in which it is compared."""
    return kind, same_thing(kind, value.strip())


@lru_cache(maxsize=64)
def parts(text: str) -> frozenset[Part]:
    """Every part that an inventory orders, whatever version of kvgate it was written for: only these keys are looked at."""
    found = strict_yaml.parse(text, "inventory").data
    below = [found.get(name) for name in ("hosts", "profiles")] if isinstance(found, dict) else []
    return frozenset(
        part(str(path[-1]), value)
        for data in below
        for path, value in leaves(data)
        if path and path[-1] in _KINDS and isinstance(value, str)
    )


def names(text: str, wanted: Iterable[Part]) -> frozenset[Part]:
    """Which of these parts an inventory orders. Reading YAML takes long, so a text in which no such word stands is not read."""
    wanted = frozenset(wanted)
    folded = text.casefold()
    # Its last word: in YAML a value may be folded over lines, a word may not.
    if "\\" not in text and not any(value.casefold().split()[-1] in folded for _, value in wanted if value.split()):
        return frozenset()
    return wanted & parts(text)
