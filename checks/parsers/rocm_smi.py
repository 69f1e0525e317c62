"""``rocm-smi -a --json``: the older tool of AMD, asked where amd-smi is absent.

Seen: ROCm 6.0.2 JSON. All values are texts; keys carry units (``(C)``, in 2.9 ``(c)``); keys ``"0"``, ``"1"`` collide and
mean nothing; ``system`` stands beside ``cardN``; without support the tool prints only ``WARNING: No JSON data to report``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import json_document
from checks.outline import amount, count, word
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "rocm-smi"


@dataclass(frozen=True, slots=True)
class RocmCard:
    """One card; memory in bytes, temperatures in degrees Celsius, ``None`` where the tool does not tell."""

    card: str
    bdf: str
    series: str | None
    firmware: str | None
    hotspot_c: float | None
    memory_c: float | None
    replay_count: int | None
    memory_total: int | None
    memory_used: int | None
    driver: str | None


def parse(text: str) -> tuple[RocmCard, ...]:
    """Read all cards; a card without PCI bus is refused, and so is output without JSON."""
    if (complaint := re.search(r"^(WARNING: No JSON data to report|ERROR: GPU\[\d+\].*)$", text, re.MULTILINE)) and (
        re.search(r"^[ \t]*[\[{]", text, re.MULTILINE) is None
    ):
        raise UnreadableOutput(f"rocm-smi gives no values: {' '.join(complaint[1].split())[:100]}")
    document = json_document(text)
    cards = sorted(
        ((int(found[1]), name) for name in document if (found := re.fullmatch(r"card(\d{1,4})", name, re.ASCII)))
        if isinstance(document, dict)
        else []
    )
    if not cards:
        raise UnreadableOutput("no card in the output of rocm-smi")
    system = document.get("system")
    driver = word(system.get("Driver version"), "Driver version") if isinstance(system, dict) else None
    return tuple(_card(name, document[name], driver) for _, name in cards)


def _card(name: str, table: Any, driver: str | None) -> RocmCard:
    if not isinstance(table, dict):
        raise UnreadableOutput(f"{name} is no table")
    known = {key.lower(): value for key, value in table.items()}
    if (bdf := word(known.get("pci bus"), f"{name}: PCI Bus")) is None:
        raise UnreadableOutput(f"{name} has no PCI Bus")
    return RocmCard(
        card=name,
        bdf=bdf,
        series=word(known.get("card series"), "Card series"),
        firmware=word(known.get("vbios version"), "VBIOS version"),
        hotspot_c=amount(known.get("temperature (sensor junction) (c)"), "junction temperature"),
        memory_c=amount(known.get("temperature (sensor memory) (c)"), "memory temperature"),
        replay_count=count(known.get("pcie replay count"), "PCIe Replay Count"),
        memory_total=count(known.get("vram total memory (b)"), "VRAM Total Memory"),
        memory_used=count(known.get("vram total used memory (b)"), "VRAM Total Used Memory"),
        driver=driver,
    )
