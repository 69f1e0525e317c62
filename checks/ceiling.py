"""What a port, a link or a slot can carry at most. A rate beyond that was measured somewhere else: it is not told, whoever gives it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from checks.pcie.criteria import GTS
from checks.phrase import Phrase, say
from checks.units import show_bytes
from checks.verdict import number

#: What a RoCEv2 frame carries beside its payload, in bytes: Ethernet with FCS, preamble and gap, IP, UDP, BTH, RETH, ICRC.
ROCE = 82
#: What an Ethernet frame with TCP carries beside its payload: Ethernet with FCS, preamble and gap 38, IP 20, TCP 20 at least.
TCP = 78
#: IP and TCP within the MTU.
_WITHIN = 40
#: What every NVMe request costs beside its data, at least: the completion of a read, in a frame of its own; a write's command is longer.
_COMPLETION = 16
#: Share of a lane's transfers that is data: 8b/10b up to generation 2, 128b/130b from 3 on.
_CODED = {1: 0.8, 2: 0.8}
#: What a rate may seem to lie above: two clocks that differ, and requests that were under way when measuring began.
_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Bytes a second that ``what`` can carry, in frames of ``frame`` bytes of payload and ``beside`` others.

    ``frame`` 0: no frames that are known; nothing is taken off. ``each`` is what every request costs beside its own frames;
    0: requests share frames, as in a stream.
    """

    what: Phrase
    raw: float
    frame: int = 0
    beside: int = 0
    each: int = 0

    def payload(self, block: int = 0) -> float:
        """Bytes a second of data in requests of ``block`` bytes; 0: one stream of whole frames."""
        if not self.frame:
            return self.raw
        if not block or not self.each:
            return self.raw * self.frame / (self.frame + self.beside)
        return self.raw * block / (block + ceil(block / self.frame) * self.beside + self.each)

    def times(self, directions: int) -> Ceiling:
        """The same in so many directions at once."""
        return replace(self, raw=self.raw * directions)


def over_roce(what: Phrase, bits: float, mtu: int = 4096) -> Ceiling:
    """A port of ``bits`` a second with RoCE packets of ``mtu`` bytes; 4096 is the most that RoCE knows."""
    return Ceiling(what, bits / 8, mtu, ROCE, _COMPLETION + ROCE)


def over_tcp(what: Phrase, bits: float, mtu: int) -> Ceiling:
    """A port of ``bits`` a second with TCP in frames of ``mtu`` bytes."""
    return Ceiling(what, bits / 8, mtu - _WITHIN, TCP)


def through_slots(what: Phrase, slots: Iterable[tuple[int, int]]) -> Ceiling:
    """PCI Express links, each (generation, lanes), together; what packets cost is not taken off. Raises KeyError: unknown."""
    each = (GTS[generation] * 1e9 * _CODED.get(generation, 128 / 130) * lanes / 8 for generation, lanes in slots)
    return Ceiling(what, sum(each))


def narrowest(ceilings: Sequence[Ceiling], block: int = 0) -> Ceiling:
    """Return the one that carries least. Raises ValueError for none."""
    return min(ceilings, key=lambda one: one.payload(block))


def beyond(rates: Sequence[float], ceiling: Ceiling | Phrase, block: int = 0) -> Phrase | None:
    """Say that one of ``rates`` (bytes a second of data) is more than can be carried, or why that cannot be told; None: all can be.

    The one judge of rates that are impossible: everything measured over a port, a link or a slot comes by here.
    ``ceiling`` is a Phrase where nobody declared what carries the data: what to declare.
    """
    if isinstance(ceiling, Phrase):
        return ceiling
    if any(number(rate) is None for rate in rates):
        return say("a rate is no number")
    most = ceiling.payload(block)
    highest = max(rates, default=0.0)
    if highest <= most * (1 + _SLACK):
        return None
    return say(
        "{rate}/s is more than {what} can carry ({most}/s): it was measured elsewhere; a cache answered, it is another device "
        "or port than ordered, or the unit is another",
        rate=show_bytes(int(highest)), what=ceiling.what, most=show_bytes(int(most)),
    )  # fmt: skip


def payload_rate(bits_per_second: float, mtu: int) -> float:
    """Bytes a second that a RoCE port carries at most: its rate times the share of a frame that is payload."""
    return over_roce(say("the port"), bits_per_second, mtu).payload()
