"""``ethtool -i <interface>``: driver and firmware of one port.

Seen: ethtool 6.1 (virtio_net: the firmware line is empty). mlx5 adds the board id: ``22.39.2048 (MT_0000000359)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import NOT_GIVEN, lines
from checks.probe import UnreadableOutput

COMMAND = "ethtool-i"

_LABELS = ("driver", "version", "firmware-version", "expansion-rom-version", "bus-info")


@dataclass(frozen=True, slots=True)
class DriverInfo:
    """Who drives the port; None for what the driver leaves empty."""

    driver: str
    version: str | None
    firmware: str | None
    bus: str | None


def parse(text: str) -> DriverInfo:
    """Read the block; driver, firmware and bus lines must be there, though the last two may be empty."""
    found: dict[str, str] = {}
    for row in lines(text):
        label, colon, value = row.partition(":")
        if not colon:
            raise UnreadableOutput(f"found {row[:80]!r}, wanted 'label: value'")
        if label in found:
            raise UnreadableOutput(f"{label!r} stands twice")
        if label in _LABELS:
            found[label] = value.strip()
    for label in ("driver", "firmware-version", "bus-info"):
        if label not in found:
            raise UnreadableOutput(f"no line {label!r}")
    driver = _given(found["driver"])
    if driver is None:
        raise UnreadableOutput("the driver line is empty")
    return DriverInfo(
        driver, _given(found.get("version", "")), _given(found["firmware-version"]), _given(found["bus-info"])
    )


def _given(word: str) -> str | None:
    return None if word in NOT_GIVEN else word
