"""When the cards of a host are good enough: the same rules for every maker."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from checks import physical
from checks.accelerator.facts import GTS, Card, Cards, Counters, Release
from checks.accelerator.pci import Bus, bus_cards
from checks.accelerator.weighing import counted, each, grown, growth, none_counted
from checks.phrase import Phrase, joined, say
from checks.probe import Interval
from checks.units import show_bytes
from checks.verdict import Quantity, Verdict

_MAKERS = frozenset({"nvidia", "amd", "instinct", "huawei", "ascend", "radeon", "oam", "tesla"})
_ON = frozenset({"ENABLED", "ON"})
_OFF = frozenset({"DISABLED", "OFF"})


def all_there(cards: Cards, bus: Bus, ordered: int, platform: str) -> Verdict:
    """The tool lists exactly the cards ordered, and the bus holds no card that the tool does not list."""
    listed = frozenset(card.bdf for card in cards.cards if card.bdf is not None)
    on_bus = bus_cards(bus, platform, listed)
    required = say("{ordered} cards, each one on the bus listed by the tool", ordered=ordered)
    dropped = [entry for entry in on_bus if entry.bdf not in listed]
    measured = say("{listed} listed, {on_bus} on the bus", listed=len(cards.cards), on_bus=len(on_bus))
    quantities = (Quantity("cards", len(cards.cards), ""), Quantity("cards on the bus", len(on_bus), ""))
    if dropped and len(listed) == len(cards.cards):
        addresses = [
            say("{bdf} (driver {driver})", bdf=entry.bdf, driver=entry.driver or say("none")) for entry in dropped[:8]
        ]
        note = say("on the bus but not listed: {addresses}", addresses=joined(addresses))
        return Verdict.of(False, measured, required, note=note, quantities=quantities)
    if len(cards.cards) != ordered:
        return Verdict.of(False, measured, required, quantities=quantities)
    if len(listed) != len(cards.cards) or not on_bus:
        return Verdict.undecided(
            say("the cards listed could not be found on the PCI bus, so none can be ruled out as dropped"),
            required,
            measured,
        )
    return Verdict.of(True, measured, required, quantities=quantities)


def of_model(cards: Cards, model: str, ordered: int) -> Verdict:
    """Every card is of the model ordered, whatever words of its maker stand around it."""
    return each(
        cards,
        ordered,
        say("its model"),
        model,
        lambda card: None if card.model is None else same_model(card.model, model),
        lambda card: card.model or "",
    )


def same_model(found: str, ordered: str) -> bool:
    """``NVIDIA H200`` is an H200; ``H200 NVL`` is none; ``910B3`` is a 910B, whose last digit is a bin of the same chip."""
    seen, wanted = _bare(found), _bare(ordered)
    return seen == wanted or (
        len(seen) == len(wanted) == 1 and re.fullmatch(r"\d+[a-z]", wanted[0]) is not None and seen[0][:-1] == wanted[0]
        and seen[0][-1].isdigit()
    )  # fmt: skip


def _bare(model: str) -> list[str]:
    inner = re.search(r"\[([^\]]*)\]", model)
    words = (inner[1] if inner else model).lower().split()
    stripped = [word.removeprefix("ascend") if word != "ascend" else word for word in words]
    return [word for word in stripped if word and word not in _MAKERS]


def on_driver(cards: Cards, version: str, ordered: int) -> Verdict:
    """Every card runs on exactly the driver ordered."""
    return each(
        cards,
        ordered,
        say("its driver version"),
        version,
        lambda card: None if card.driver is None else card.driver == version,
        lambda card: card.driver or "",
    )


def on_release(release: Release, ordered: str) -> Verdict:
    """The runtime is the release ordered; further numbers of the same release (7.2 -> 7.2.0-43) are no difference."""
    if release.version is None:
        return Verdict.undecided(say("the tool does not tell the version of the runtime"), ordered)
    tail = release.version[len(ordered) :] if release.version.startswith(ordered) else None
    same = tail is not None and re.fullmatch(r"(\.\d+)*(-\d+)?", tail) is not None
    return Verdict.of(same, release.version, ordered)


def on_firmware(cards: Cards, version: str, ordered: int) -> Verdict:
    """Every card carries the firmware ordered, named by its version or by its part number."""

    def holds(card: Card) -> bool | None:
        told = [name for name in (card.firmware, card.firmware_part) if name is not None]
        if version in told:
            return True
        return False if card.firmware is not None else None

    return each(cards, ordered, say("its firmware version"), version, holds, _firmware)


def of_one_firmware(cards: Cards, ordered: int) -> Verdict:
    """All cards of the host carry the same firmware; the odd ones out are named."""
    told = [card.firmware for card in cards.cards if card.firmware is not None]
    usual = max(sorted(set(told)), key=told.count, default=None)
    return each(
        cards,
        ordered,
        say("its firmware version"),
        say("the same firmware on all cards"),
        lambda card: None if card.firmware is None else card.firmware == usual,
        _firmware,
    )


def _firmware(card: Card) -> str:
    return card.firmware or card.firmware_part or ""


def of_memory(cards: Cards, memory: int, ordered: int, least: float, most: float) -> Verdict:
    """Every card has the memory ordered; ``least`` and ``most`` are percent of it (reserved part; binary prefixes)."""
    required = say("{least:g} % to {most:g} % (ordered: {memory})", least=least, most=most, memory=show_bytes(memory))
    return each(
        cards,
        ordered,
        say("its memory size"),
        required,
        lambda card: _within(physical.card_memory(card.memory), least * memory, most * memory),
        lambda card: show_bytes(card.memory or 0),
    )


def _within(size: int | None, low: float, high: float) -> bool | None:
    return None if size is None else low <= size * 100 <= high


def ecc_on(cards: Cards, ordered: int) -> Verdict:
    """ECC is on on every card; a word other than on and off is not told."""
    return each(cards, ordered, say("whether ECC is on"), say("ECC enabled"), _ecc, lambda card: card.ecc or "")


def _ecc(card: Card) -> bool | None:
    word = (card.ecc or "").upper()
    return True if word in _ON else False if word in _OFF else None


def no_uncorrectable(cards: Cards, ordered: int) -> Verdict:
    """No card has an uncorrectable or deferred ECC error, of this boot or of its life."""
    return _all_zero(cards, ordered, say("its uncorrectable ECC errors"), lambda card: card.uncorrectable)


def no_bad_pages(cards: Cards, ordered: int) -> Verdict:
    """No card has retired, pending or remapped memory."""
    return _all_zero(cards, ordered, say("its bad pages"), lambda card: card.bad_pages)


def _all_zero(cards: Cards, ordered: int, what: Phrase, of: Callable[[Card], Counters]) -> Verdict:
    return each(cards, ordered, what, "0", lambda card: none_counted(of(card)), lambda card: counted(of(card)))


def at_full_width(cards: Cards, lanes: int, ordered: int) -> Verdict:
    """Every card's link has the lanes ordered, at any time: width does not change with load."""
    return each(
        cards,
        ordered,
        say("its link width"),
        f"x{lanes}",
        lambda card: None if card.lanes is None else card.lanes == lanes,
        lambda card: f"x{card.lanes}",
    )


def capable_of_speed(cards: Cards, generation: int, ordered: int) -> Verdict:
    """Every card's link runs at the generation ordered, or can: an idle card may lower its speed.

    A rate that is no PCI Express rate (some releases print MT/s or sentinels) counts as not told.
    """
    wanted = GTS[generation]

    def holds(card: Card) -> bool | None:
        now, most = _rate(card.speed), _rate(card.capable_speed)
        if now is not None and now >= wanted:
            return True
        return None if most is None else most >= wanted

    return each(
        cards,
        ordered,
        say("its link speed"),
        say(
            "{wanted:g} GT/s (generation {generation}), now or as its maximum",
            wanted=wanted,
            generation=generation,
        ),
        holds,
        lambda card: say("{now} now, {most} at most", now=_show(card.speed), most=_show(card.capable_speed)),
    )


def _rate(speed: float | None) -> float | None:
    return speed if speed in GTS.values() else None


def _show(speed: float | None) -> str:
    return "?" if speed is None else f"{speed:g} GT/s"


def few_more(interval: Interval[Cards], ordered: int, what: Phrase, kind: str, allowed: int) -> Verdict:
    """Between two questions no card counted more than ``allowed`` of ``kind`` (link_errors, correctable)."""

    def of(card: Card) -> Counters:
        counters: Counters = getattr(card, kind)
        return counters

    sound = grown(interval, of)
    if isinstance(sound, Verdict):
        return sound

    def holds(card: Card) -> bool | None:
        steps = growth(interval, card, of)
        if any(step is not None and step > allowed for _, step in steps):
            return False
        return None if not steps or any(step is None for _, step in steps) else True

    return each(
        interval.after,
        ordered,
        what,
        say("at most {allowed} more in {seconds:.0f} s", allowed=allowed, seconds=interval.seconds),
        holds,
        lambda card: counted(growth(interval, card, of)),
    )


def corrects_little(interval: Interval[Cards], ordered: int, allowed: int) -> Verdict:
    """Between two questions no card corrected more than ``allowed`` ECC errors."""
    return few_more(interval, ordered, say("its corrected errors"), "correctable", allowed)


def link_steady(interval: Interval[Cards], ordered: int, allowed: int) -> Verdict:
    """Between two questions no card's link repeated or rejected more than ``allowed`` packets."""
    return few_more(interval, ordered, say("the errors of its link"), "link_errors", allowed)


def not_throttled(interval: Interval[Cards], ordered: int) -> Verdict:
    """No card is slowed by heat now, nor was between two questions; counts since boot say nothing."""
    slowed = [card for card in interval.after.cards if card.slowed not in (None, "no")]
    if slowed:
        return Verdict.of(
            False,
            joined([say("{card}: {found}", card=card.label, found=card.slowed or "?") for card in slowed[:4]]),
            say("no thermal slowdown"),
        )
    if interval.after.cards and all(not card.thermal and card.slowed == "no" for card in interval.after.cards):
        # Drivers without counters still say whether a card is slowed now.
        return each(
            interval.after, ordered, say("whether heat slows it"), say("no"), lambda _: True, lambda _: say("no")
        )
    return few_more(interval, ordered, say("whether heat slowed it"), "thermal", 0)


def cool(cards: Cards, ordered: int, most: float) -> Verdict:
    """Every sensor of every idle card is at most ``most`` degrees Celsius; one sensor told is enough, none is not."""

    def holds(card: Card) -> bool | None:
        told = [value for _, value in card.temperatures if value is not None]
        real = [value for value in map(physical.celsius, told) if value is not None]
        if any(value > most for value in real):
            return False
        return None if not told or len(real) < len(told) else True

    def shown(card: Card) -> str:
        return ", ".join(f"{name} {value:g} °C" for name, value in card.temperatures if value is not None)

    return each(cards, ordered, say("its temperature"), say("at most {most:g} °C", most=most), holds, shown)


def healthy(cards: Cards, ordered: int, good: Collection[str], bad: Collection[str]) -> Verdict:
    """Every NPU calls itself healthy; a word in neither list is not told."""

    def holds(card: Card) -> bool | None:
        return True if card.health in good else False if card.health in bad else None

    return each(cards, ordered, say("a known word of health"), " / ".join(good), holds, lambda card: card.health or "")


def compatible(cards: Cards, ordered: int, good: Collection[str], bad: Collection[str]) -> Verdict:
    """Driver and firmware of every NPU fit together, as npu-smi itself says; an unknown word is not told."""

    def holds(card: Card) -> bool | None:
        return True if card.compatibility in good else False if card.compatibility in bad else None

    what = say("a known word on driver and firmware")
    return each(cards, ordered, what, " / ".join(good), holds, lambda card: card.compatibility or "")


def free(cards: Cards, ordered: int, most: float) -> Verdict:
    """At most ``most`` percent of every card's memory is in use before tests begin."""

    def holds(card: Card) -> bool | None:
        total, used = physical.card_memory(card.memory), card.memory_used
        return None if total is None or used is None or not 0 <= used <= total else used * 100 <= most * total

    def shown(card: Card) -> Phrase:
        used, total = show_bytes(card.memory_used or 0), show_bytes(card.memory or 0)
        return say("{used} of {total} in use", used=used, total=total)

    required = say("in use: at most {most:g} %", most=most)
    return each(cards, ordered, say("its memory in use"), required, holds, shown)


def partitioned(cards: Cards, compute: str, memory: str | None, ordered: int) -> Verdict:
    """Every card is split as ordered."""
    wanted = compute if memory is None else f"{compute}/{memory}"

    def holds(card: Card) -> bool | None:
        pairs = [(card.compute_partition, compute)] + ([] if memory is None else [(card.memory_partition, memory)])
        if any(found is not None and found != word for found, word in pairs):
            return False
        return None if any(found is None for found, _ in pairs) else True

    return each(
        cards,
        ordered,
        say("its partition"),
        wanted,
        holds,
        lambda card: f"{card.compute_partition or '?'}/{card.memory_partition or '?'}",
    )
