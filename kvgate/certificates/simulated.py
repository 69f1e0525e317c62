"""How evidence tells the embedded rack from a real one, whatever the inventory says.

Each of its hosts tells a boot id that begins with "kvgateLa" in hex (a real one is random), and has a host key that anybody can
derive from its name. Both are kept with every answer. Who changes the embedded rack's code can take the marks away; who does
not, cannot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kvgate.certificates.keys import PublicKey
from kvgate.codec import parse_object
from kvgate.evidence.store import Evidence, StoredAnswer

BOOT_ID = "6b766761-7465-4c61-"

#: Probe of a segment of a soak's journal.
SEGMENT = "soak.journal"

#: Names that the embedded rack gives its hosts; the inventory may call them otherwise.
_NAMES = ("fx100-a", *(f"node-{number:02d}" for number in range(1, 17)))


def marked(evidence: Evidence) -> list[str]:
    """Hosts of a run that bear a mark of the embedded rack, sorted. Raises Damaged."""
    hosts: set[str] = set()
    met = {(one.host, one.host_key, one.boot_id) for one in evidence.batches()}
    known = _keys((*_NAMES, *sorted({host for host, _, _ in met})))
    for host, key, boot in met:
        if boot.startswith(BOOT_ID) or key in known:
            hosts.add(host)
    return sorted(hosts | _made_up(evidence, scaled_alone=False))


def scaled(evidence: Evidence) -> list[str]:
    """Hosts whose soak ran at another speed than that of time, sorted. Raises Damaged."""
    return sorted(_made_up(evidence, scaled_alone=True))


def _made_up(evidence: Evidence, *, scaled_alone: bool) -> set[str]:
    """Hosts with a journal of a soak whose hours are no hours, or (unless ``scaled_alone``) that the embedded rack wrote."""
    hosts: set[str] = set()
    for one in evidence.answers():
        if one.probe == SEGMENT and isinstance(one, StoredAnswer):
            first = one.stdout.partition(b"\n")[0]
            try:
                line = parse_object(first)
                values = line.get("values")
                parts = [one for one in values.values() if isinstance(one, dict)] if isinstance(values, dict) else []
                scales = [one["scale"] for one in parts if "scale" in one]
                real = scales == [1] and (scaled_alone or not str(line.get("boot")).startswith(BOOT_ID))
            except ValueError:
                real = True  # it cannot be read, and nothing that rests on it passes
            if not real:
                hosts.add(one.host)
    return hosts


@cache
def _keys(names: Iterable[str]) -> frozenset[str]:
    return frozenset(fingerprint(name, generation) for name in names for generation in (0, 1))


def fingerprint(name: str, generation: int = 0) -> str:
    """Fingerprint of the key that the embedded rack derives for a host name."""
    seed = hashlib.sha256(f"kvgate embedded rack {name} {generation}".encode()).digest()
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    return PublicKey(public.public_bytes(Encoding.Raw, PublicFormat.Raw)).fingerprint
