"""What a card is, whatever its maker: one type for all platforms, and how answers of several tools become one card."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from checks.probe import Probe

#: Named counters; ``None`` = the tool has this counter and does not tell its value.
Counters = tuple[tuple[str, int | None], ...]

#: Transfer rate of each PCI Express generation in GT/s.
GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


@dataclass(frozen=True, slots=True)
class Card:
    """One card. ``None`` or empty: not told by what was asked. Memory in bytes, rates in GT/s, degrees Celsius."""

    name: str
    bdf: str | None = None
    model: str | None = None
    driver: str | None = None
    firmware: str | None = None
    firmware_part: str | None = None  # the part number of AMD firmware, which some orders name instead of the version
    memory: int | None = None
    memory_used: int | None = None
    ecc: str | None = None
    uncorrectable: Counters = ()
    correctable: Counters = ()
    bad_pages: Counters = ()
    lanes: int | None = None
    speed: float | None = None
    capable_speed: float | None = None
    link_errors: Counters = ()
    temperatures: tuple[tuple[str, float | None], ...] = ()
    thermal: Counters = ()
    slowed: str | None = None
    health: str | None = None
    compatibility: str | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    fabric_state: str | None = None
    fabric_status: str | None = None

    @property
    def label(self) -> str:
        """Name with PCI address, as a person looks for it."""
        return f"{self.name} ({self.bdf})" if self.bdf else self.name


@dataclass(frozen=True, slots=True)
class Cards:
    """All cards that one or several tools told of, in their order."""

    cards: tuple[Card, ...]

    def joined(self, *others: Cards) -> Cards:
        """The same cards with what ``others`` know of them filled in, by name; a card that only another knows is added."""
        known = {card.name: card for card in self.cards}
        for other in others:
            for card in other.cards:
                known[card.name] = _filled(known[card.name], card) if card.name in known else card
        return Cards(tuple(known.values()))


def _filled(card: Card, other: Card) -> Card:
    missing: dict[str, Any] = {
        item.name: getattr(other, item.name) for item in fields(Card) if getattr(card, item.name) in (None, ())
    }
    return replace(card, **missing)


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask for one aspect of all cards; ``otherwise`` may answer when the only probe cannot be told."""

    probes: tuple[Probe[Cards], ...]
    otherwise: Probe[Cards] | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A version of the runtime (ROCm, CANN, CUDA); ``None`` where the tool says N/A."""

    version: str | None


#: What a platform cannot be asked; the clauses select only platforms that can.
NOT_ASKABLE = Question(())


@dataclass(frozen=True, slots=True)
class Platform:
    """How one maker's cards are asked, aspect by aspect."""

    identity: Question
    firmware: Question
    ecc_errors: Question
    bad_pages: Question
    link: Question
    temperature: Question
    memory: Question
    runtime: Probe[Release]
    runtime_otherwise: Probe[Release] | None = None
    ecc_mode: Question = NOT_ASKABLE
    link_errors: Question = NOT_ASKABLE
    throttle: Question = NOT_ASKABLE
    health: Question = NOT_ASKABLE
    partition: Question = NOT_ASKABLE
    fabric: Question = NOT_ASKABLE


def short_bdf(address: str | None) -> str | None:
    """``00000000:83:00.0`` -> ``0000:83:00.0``, lower case."""
    if address is None:
        return None
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:]}:{rest}"
