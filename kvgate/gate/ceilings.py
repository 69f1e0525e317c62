"""What G2 measured as a ceiling of what G3 can have read: by clause and subject, from the baseline of the run."""

from __future__ import annotations

from collections.abc import Callable

from checks.phrase import Phrase, say
from checks.serving.limits import Measured
from checks.serving.site import Site
from checks.serving.standing import fastest
from checks.verdict import Verdict

#: Clauses of G2 that read from a mount (sequentially, and KV chunks at several depths), and the one that reads over a port.
_READS, _LINK = ("G2.1.2", "G2.1.4", "G2.1.5", "G2.1.6"), "G2.2.2"


def ceilings(site: Site, baseline: Callable[[str, str], Verdict | None], percent: float) -> Measured:
    """Rates that G2 measured below each arm and between its host and the array: nothing reads faster than ``percent`` above them."""
    found: list[tuple[str, Phrase, float | None]] = []
    beyond = 1 + percent / 100
    for side in (site.local, site.array):
        reads = fastest((baseline(one, f"{side.host}:{side.mount}") for one in _READS), "bytes per second")
        name = say("the fastest read that G2 measured on {mount}", mount=side.mount)
        found.append((side.role, name, None if reads is None else reads * beyond))
        told = [fastest([baseline(_LINK, f"{side.host}:{port}")], "bits per second") for port in side.ports]
        bits = [one for one in told if one is not None]
        if bits and len(bits) == len(told):  # an array that lets nobody measure has its ports' rate all the same
            found.append((side.role, say("the link as G2 measured it"), sum(bits) / 8 * beyond))
    return tuple(found)
