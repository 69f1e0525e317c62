"""What a rate is held against: the data sheets, what the array gave by itself, and what the link carries; the least of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.ceiling import Ceiling
from checks.phrase import Phrase, say
from checks.units import show_bytes


@dataclass(frozen=True, slots=True)
class Reference:
    """Bytes a second that can be expected, by ``what`` says so. ``block`` bytes a request, 0 where requests are no matter."""

    rate: float
    what: Phrase
    block: int = 0

    def least(self, share: float, floor: float = 0.0) -> float:
        """Bytes a second that a share of it demands, and no less than ``floor``."""
        return max(self.rate * share, floor)

    def demand(self, share: float, floor: float = 0.0) -> Phrase:
        """The same in words."""
        wanted = self.least(share, floor)
        if floor > self.rate * share:
            return say("at least {wanted}/s, whatever was promised", wanted=show_bytes(int(wanted)))
        if self.block:
            return say(
                "at least {wanted}/s, {iops:,.0f} operations/s ({share:.0%} of {reference}/s: {what})",
                wanted=show_bytes(int(wanted)), iops=wanted / self.block, share=share,
                reference=show_bytes(int(self.rate)), what=self.what,
            )  # fmt: skip
        return say(
            "at least {wanted}/s ({share:.0%} of {reference}/s: {what})",
            wanted=show_bytes(int(wanted)), share=share, reference=show_bytes(int(self.rate)), what=self.what,
        )  # fmt: skip


def lesser(
    promises: Mapping[Phrase, float | None], link: Ceiling | Phrase, block: int, lacking: Phrase
) -> Reference | Phrase:
    """Return the least of what was promised and of what the link carries in requests of ``block`` bytes.

    ``promises`` are bytes a second by who promises; None: not declared. ``lacking`` says what to declare where none is; a
    link of which nothing is declared is said the same way.
    """
    if isinstance(link, Phrase):
        return link
    known = {what: rate for what, rate in promises.items() if rate is not None}
    if not known:
        return lacking
    what, rate = min((*known.items(), (link.what, link.payload(block))), key=lambda one: one[1])
    return Reference(rate, what, block)
