"""``ethtool <interface>``: what the link runs at and whether it is up.

Seen: ethtool 5.x (mlx4, 40G fibre), 6.1 (virtio: ``Speed: Unknown!``). Newer versions add ``Lanes:`` and say why a link
is down: ``Link detected: no (No cable)``. Old ones print the sentinel itself (``Speed: 65535Mb/s``) for unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import SENTINELS, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "ethtool"

_SPEED = re.compile(r"(\d{1,10})Mb/s", re.ASCII)
_LINK = re.compile(r"(yes|no)(?: \((.+)\))?")
_WANTED = ("Speed", "Duplex", "Auto-negotiation", "Port", "Lanes", "Link detected")


@dataclass(frozen=True, slots=True)
class Settings:
    """One Ethernet link. ``speed_mbps`` and ``duplex`` are None where the driver says that it does not know."""

    interface: str
    speed_mbps: int | None
    duplex: str | None
    autonegotiation: str | None
    port: str | None
    lanes: int | None
    link: bool
    why_down: str | None


def parse(text: str) -> Settings:
    """Read the settings block of one interface; a missing speed, duplex or link line is refused."""
    rows = lines(text)
    heads = [head[1] for row in rows if (head := re.fullmatch(r"Settings for (\S+):", row))]
    if len(heads) != 1:
        raise UnreadableOutput(f"{len(heads)} lines 'Settings for ...', wanted one")
    found = _labels(rows)
    for label in ("Speed", "Duplex", "Link detected"):
        if label not in found:
            raise UnreadableOutput(f"no line {label!r}")
    link = _LINK.fullmatch(found["Link detected"])
    if link is None:
        raise UnreadableOutput(f"Link detected is {found['Link detected'][:40]!r}, wanted yes or no")
    return Settings(
        interface=heads[0],
        speed_mbps=_speed(found["Speed"]),
        duplex=_known(found["Duplex"]),
        autonegotiation=_known(found.get("Auto-negotiation", "")),
        port=_known(found.get("Port", "")),
        lanes=integer(found["Lanes"], "Lanes") if _known(found.get("Lanes", "")) else None,
        link=link[1] == "yes",
        why_down=link[2],
    )


def _labels(rows: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows:
        label, colon, value = row.strip().partition(":")
        if not colon or label not in _WANTED:
            continue
        if label in found:
            raise UnreadableOutput(f"{label!r} stands twice")
        found[label] = value.strip()
    return found


def _known(word: str) -> str | None:
    return None if not word or word.startswith("Unknown") else word


def _speed(word: str) -> int | None:
    if _known(word) is None:
        return None
    found = _SPEED.fullmatch(word)
    if found is None:
        raise UnreadableOutput(f"Speed is {word[:40]!r}, wanted a number of Mb/s or Unknown!")
    value = integer(found[1], "Speed")
    return None if value in SENTINELS else value
