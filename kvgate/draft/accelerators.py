"""Accelerators of one node, as seen on the PCI bus and by the tool of their platform."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from checks.accelerator import pci
from checks.accelerator.facts import GTS, Card, Cards, Question
from checks.accelerator.probes import BUS, PLATFORMS
from checks.probe import Probe
from checks.units import show_bytes
from kvgate.draft.form import AGREED, Entry, Known, Leaf, Open, Remark
from kvgate.draft.look import Looked
from kvgate.errors import CannotTell

_GENERATION = {rate: generation for generation, rate in GTS.items()}


def first() -> Iterator[Probe[Any]]:
    """Questions that need no earlier answer."""
    yield BUS


def then(looked: Looked) -> Iterator[Probe[Any]]:
    """Questions to the tool of the platform that the bus shows."""
    if (platform := platform_of(looked)) is not None:
        known = PLATFORMS[platform]
        for question in (known.identity, known.firmware, known.link, known.memory, known.partition, known.fabric):
            yield from question.probes
            if question.otherwise is not None:
                yield question.otherwise
        yield from (probe for probe in (known.runtime, known.runtime_otherwise) if probe is not None)


def platform_of(looked: Looked) -> str | None:
    """Platform of the cards that the PCI bus shows; None for none, or for cards of two makers."""
    bus = looked.may(BUS)
    found = [name for name in PLATFORMS if bus is not None and pci.bus_cards(bus, name, frozenset())]
    return found[0] if len(found) == 1 else None


def entries(looked: Looked) -> Iterator[Entry | Remark]:
    """The ``accelerators`` mapping of a node."""
    try:
        bus = looked.fact(BUS)
    except CannotTell as error:
        yield Entry("accelerators", Open("platform, model, count ... or delete the line", str(error)))
        return
    platform = platform_of(looked)
    if platform is None:
        makers = [name for name in PLATFORMS if pci.bus_cards(bus, name, frozenset())]
        if makers:
            yield Entry(
                "accelerators", Open("those of one platform", f"the PCI bus shows cards of {' and '.join(makers)}")
            )
        else:
            yield Remark("accelerators: the PCI bus shows none that kvgate knows")
        return
    yield Entry("accelerators", list(_cards(looked, platform, pci.bus_cards(bus, platform, frozenset()))))


def _cards(looked: Looked, platform: str, seen: tuple[pci.Function, ...]) -> Iterator[Entry | Remark]:
    known = PLATFORMS[platform]

    def same(
        wanted: str, question: Question, take: Callable[[Card], Any], remark: str = "compare with the order"
    ) -> Leaf:
        try:
            cards = _told(looked, question)
        except CannotTell as error:
            return Open(wanted, str(error))
        values = {take(card) for card in cards.cards}
        if len(values) != 1 or None in values:
            return Open(wanted, f"seen {', '.join(sorted(map(str, values))) or 'no card'}")
        return Known(values.pop(), remark)

    yield Entry("platform", Known(platform, "seen on the PCI bus"))
    yield Entry("model", same("model", known.identity, lambda card: card.model))
    yield Entry("count", Known(len(seen), "cards on the PCI bus; compare with the order"))
    yield Entry(
        "memory",
        same(
            "memory of a card such as 192 GB",
            known.memory,
            lambda card: f"{card.memory} B" if card.memory else None,
            _memory(looked, known.memory),
        ),
    )
    yield Entry("driver", same("version", known.identity, lambda card: card.driver, AGREED))
    yield Entry("runtime", _runtime(looked, platform))
    yield Entry("firmware", same("version, or delete the line", known.firmware, lambda card: card.firmware, AGREED))
    generation = same("as ordered", known.link, _generation, "what the cards can; compare with the order")
    lanes = same("as ordered", known.link, lambda card: card.lanes, "as trained; compare with the order")
    yield Entry("pcie", [Entry("gen", generation), Entry("lanes", lanes)])
    if known.partition.probes:
        yield Entry(
            "compute_partition",
            same("SPX, or delete the line", known.partition, lambda card: card.compute_partition, AGREED),
        )
        yield Entry(
            "memory_partition",
            same("NPS1, or delete the line", known.partition, lambda card: card.memory_partition, AGREED),
        )
    if known.partition.probes or known.fabric.probes:
        yield Entry(
            "peer_direct", Open("true or false: may network cards read and write the cards' memory by themselves")
        )
    if known.fabric.probes:
        yield Entry("gds", Open("true or false: was GPUDirect Storage ordered"))
        yield Entry(
            "nvswitch",
            same(
                "true or false",
                known.fabric,
                lambda card: card.fabric_state is not None,
                "true: the cards tell the state of their NVSwitch fabric",
            ),
        )


def _generation(card: Card) -> int | None:
    return _GENERATION.get(card.capable_speed or card.speed or 0)


def _told(looked: Looked, question: Question) -> Cards:
    if len(question.probes) == 1:
        found: Cards = looked.first(*question.probes, *([question.otherwise] if question.otherwise else []))
        return found
    cards, *others = [looked.fact(probe) for probe in question.probes]
    return cards.joined(*others)


def _memory(looked: Looked, question: Question) -> str:
    try:
        sizes = {card.memory for card in _told(looked, question).cards if card.memory}
    except CannotTell:
        sizes = set()
    return f"{', '.join(map(show_bytes, sorted(sizes)))} of each card as its tool counts; compare with the order"


def _runtime(looked: Looked, platform: str) -> Leaf:
    known = PLATFORMS[platform]
    probes = [probe for probe in (known.runtime, known.runtime_otherwise) if probe is not None]
    try:
        release = looked.first(*probes)
    except CannotTell as error:
        return Open("version of the runtime", str(error))
    return (
        Known(release.version, AGREED)
        if release.version
        else Open("version of the runtime", "the tool does not tell it")
    )
