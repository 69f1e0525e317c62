"""``nvme id-ctrl DEVICE -o json``: what a controller says about itself. Strings are padded with blanks.

Capacities are numbers in 1.x and digits in quotes in some 2.x builds; the temperature limits are in Kelvin, 0 = not given.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import entry, json_document, whole
from checks.probe import UnreadableOutput

COMMAND = "nvme-id-ctrl"


@dataclass(frozen=True, slots=True)
class IdCtrl:
    """Identity, temperature limits (Kelvin, None = not given) and capacities (bytes). ``oacs``: optional admin commands."""

    serial: str
    model: str
    firmware: str
    warning_kelvin: int | None
    critical_kelvin: int | None
    total_bytes: int
    unallocated_bytes: int
    oacs: int

    @property
    def manages_namespaces(self) -> bool:
        """Whether namespaces can be made and deleted on this controller (OACS bit 3)."""
        return bool(self.oacs >> 3 & 1)

    @property
    def tests_itself(self) -> bool:
        """Whether the controller offers the device self-test (OACS bit 4)."""
        return bool(self.oacs >> 4 & 1)


def parse(text: str) -> IdCtrl:
    """Read the JSON; a blank identity is refused."""
    table = json_document(text)
    names = {key: entry(table, key, str).strip() for key in ("sn", "mn", "fr")}
    if blank := [key for key, value in names.items() if not value]:
        raise UnreadableOutput(f"{', '.join(blank)} is blank")
    return IdCtrl(
        serial=names["sn"],
        model=names["mn"],
        firmware=names["fr"],
        warning_kelvin=whole(table, "wctemp") or None,
        critical_kelvin=whole(table, "cctemp") or None,
        total_bytes=whole(table, "tnvmcap"),
        unallocated_bytes=whole(table, "unvmcap"),
        oacs=whole(table, "oacs"),
    )
