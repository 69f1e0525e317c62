"""``gdscheck -p``: which storage paths GPUDirect Storage supports on this host, and whether it may fall back to copies.

Seen: GDS 1.0, 1.1 (samples), 1.10, 1.13 (``NVMe P2PDMA`` and ``force_compat_mode`` added). The last line, ``Platform
verification succeeded``, says nothing about NVMe-oF and is kept only as the word it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "gdscheck"
_ENTRY = re.compile(r"\s*(?:--)?(?P<name>[A-Za-z][\w .]*?)\s*:\s*(?P<value>\S.*?)\s*")
_WANTED = frozenset(
    {"GDS release version", "NVMe", "NVMeOF", "NFS", "Mellanox PeerDirect", "IOMMU"}
    | {"properties.use_compat_mode", "properties.force_compat_mode"}
)


@dataclass(frozen=True, slots=True)
class GdsCheck:
    """Words as printed; ``None`` where this release prints no such line."""

    release: str
    nvme: str
    nvmeof: str
    nfs: str | None
    peer_direct: str | None
    use_compat_mode: str | None
    force_compat_mode: str | None
    iommu: str | None
    verification: str | None


def parse(text: str) -> GdsCheck:
    """Read the lines that decide; without release, NVMe or NVMeOF line the output is refused."""
    found: dict[str, str] = {}
    verification = None
    for line in lines(text):
        if "Platform verification" in line:
            verification = line.strip()
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None or entry["name"] not in _WANTED:
            continue
        if found.setdefault(entry["name"], entry["value"]) != entry["value"]:
            raise UnreadableOutput(f"{entry['name']!r} stands twice with different values")
    missing = [name for name in ("GDS release version", "NVMe", "NVMeOF") if name not in found]
    if missing:
        raise UnreadableOutput(f"no line {missing[0]!r} in the output, which begins {text.strip()[:80]!r}")
    return GdsCheck(
        release=found["GDS release version"],
        nvme=found["NVMe"],
        nvmeof=found["NVMeOF"],
        nfs=found.get("NFS"),
        peer_direct=found.get("Mellanox PeerDirect"),
        use_compat_mode=found.get("properties.use_compat_mode"),
        force_compat_mode=found.get("properties.force_compat_mode"),
        iommu=found.get("IOMMU"),
        verification=verification,
    )
