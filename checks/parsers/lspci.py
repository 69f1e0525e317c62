"""``lspci -D -vvv``: what PCI Express links can do, what they trained to, and how they are set. Read as root.

pciutils 3.6 and 3.7 print ``(ok)`` behind a good value, later ones nothing; all print ``(downgraded)``. Judge the endpoint:
a switch port above a healthy disk of an older generation says ``(downgraded)`` too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "lspci"

_HEAD = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (\S.*)", re.ASCII)
_LINK = re.compile(
    r"\s+Lnk(Cap|Sta):\s+(?:Port #\d+, )?Speed ([\d.]+GT/s|unknown)(?: \((ok|downgraded|overdriven|strange)\))?,"
    r" Width x(\d{1,2})(?: \((ok|downgraded|overdriven|strange)\))?(?:,.*)?",
    re.ASCII,
)
_PAYLOAD = re.compile(r"\s+MaxPayload (\d{2,5}) bytes, MaxReadReq (\d{2,5}) bytes", re.ASCII)
_NODE = re.compile(r"\s+NUMA node: (\d{1,4})", re.ASCII)


@dataclass(frozen=True, slots=True)
class PciEndpoint:
    """One device. None where the output has no such line; ``downgraded`` lists the words lspci marked so."""

    bdf: str | None
    title: str | None
    capable_gts: float | None
    capable_lanes: int | None
    trained_gts: float | None
    trained_lanes: int | None
    downgraded: tuple[str, ...]
    max_payload: int | None
    max_read_request: int | None
    numa_node: int | None


def parse(text: str) -> tuple[PciEndpoint, ...]:
    """Read every device; text without a single link line, and one that a plain user asked for, are refused."""
    blocks: list[list[str]] = []
    for line in lines(text):
        if _HEAD.fullmatch(line) or not blocks:
            blocks.append([])
        blocks[-1].append(line)
    if "<access denied>" in text:
        raise UnreadableOutput("Capabilities: <access denied>: lspci must be run as root")
    found = tuple(_device(block) for block in blocks if any(line.strip() for line in block))
    if not any(one.trained_lanes or one.capable_lanes or one.max_payload for one in found):
        raise UnreadableOutput(f"found no link line, wanted LnkCap and LnkSta; the output begins {text.strip()[:60]!r}")
    return found


def _device(block: list[str]) -> PciEndpoint:
    head = _HEAD.fullmatch(block[0])
    links: dict[str, re.Match[str]] = {}
    payload: re.Match[str] | None = None
    node: re.Match[str] | None = None
    for line in block[1:] if head else block:
        if link := _LINK.fullmatch(line):
            if link[1] in links:
                raise UnreadableOutput(f"Lnk{link[1]} stands twice in one device")
            links[link[1]] = link
        elif re.match(r"\s+Lnk(Cap|Sta):", line):
            raise UnreadableOutput(f"found {line.strip()[:80]!r}, wanted speed and width")
        elif found := _PAYLOAD.fullmatch(line):
            if payload is not None:
                raise UnreadableOutput("MaxPayload stands twice in one device")
            payload = found
        elif found := _NODE.fullmatch(line):
            node = found
    marks = [(word, links["Sta"][at]) for word, at in (("speed", 3), ("width", 5))] if "Sta" in links else []
    return PciEndpoint(
        bdf=head[1] if head else None,
        title=head[2] if head else None,
        capable_gts=_speed(links.get("Cap")),
        capable_lanes=_lanes(links.get("Cap")),
        trained_gts=_speed(links.get("Sta")),
        trained_lanes=_lanes(links.get("Sta")),
        downgraded=tuple(word for word, mark in marks if mark == "downgraded"),
        max_payload=int(payload[1]) if payload else None,
        max_read_request=int(payload[2]) if payload else None,
        numa_node=int(node[1]) if node else None,
    )


def _speed(link: re.Match[str] | None) -> float | None:
    if link is None or link[2] == "unknown":
        return None
    found = re.fullmatch(r"(\d{1,3}(?:\.\d)?)GT/s", link[2], re.ASCII)
    if found is None:
        raise UnreadableOutput(f"link speed {link[2]!r}, wanted such as 16GT/s")
    return float(found[1])


def _lanes(link: re.Match[str] | None) -> int | None:
    return int(link[4]) if link and int(link[4]) in (1, 2, 4, 8, 12, 16, 32) else None
