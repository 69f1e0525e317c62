"""Weighing one property over all cards of a host: a bad card stops, a silent or missing one leaves it undecided."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from checks.accelerator.facts import Card, Cards, Counters
from checks.phrase import Phrase, joined, say
from checks.probe import Interval
from checks.verdict import Quantity, Verdict

_NAMED = 4  # cards that a verdict names one by one


def each(
    cards: Cards,
    ordered: int,
    what: Phrase,
    required: Phrase | str,
    holds: Callable[[Card], bool | None],
    shown: Callable[[Card], Phrase | str],
) -> Verdict:
    """PASS when ``holds`` is True for at least ``ordered`` cards and for every card told of.

    ``holds`` returns None where the card does not tell. STOP weighs more than what could not be told.
    """
    told = [(card, holds(card)) for card in cards.cards]
    if bad := [card for card, good in told if good is False]:
        return Verdict.of(False, _named(bad, shown), required, quantities=(Quantity("cards failing", len(bad), ""),))
    if silent := [card for card, good in told if good is None]:
        note = say("{cards} does not tell {what}", cards=", ".join(card.label for card in silent[:_NAMED]), what=what)
        if len(silent) > _NAMED:
            note = say("{count} cards do not tell {what}", count=len(silent), what=what)
        return Verdict.undecided(note, required)
    if len(told) < max(ordered, 1):
        note = say("{told} of {ordered} cards told {what}", told=len(told), ordered=ordered, what=what)
        return Verdict.undecided(note, required)
    values = dict.fromkeys(shown(card) for card in cards.cards)
    summary = say("{count} cards: {values}", count=len(told), values=joined(list(values)[:_NAMED]))
    return Verdict.of(True, summary, required)


def _named(bad: Sequence[Card], shown: Callable[[Card], Phrase | str]) -> Phrase:
    cards = joined([say("{card}: {found}", card=card.label, found=shown(card)) for card in bad[:_NAMED]])
    return say("{listed}; and {more} more cards", listed=cards, more=len(bad) - _NAMED) if len(bad) > _NAMED else cards


def none_counted(counters: Counters) -> bool | None:
    """True when all counters are 0, False when one is above, None when one is not told or there are none."""
    if any(value for _, value in counters):
        return False
    return None if not counters or any(value is None for _, value in counters) else True


def counted(counters: Counters) -> str:
    """The counters above 0, or ``0``."""
    return ", ".join(f"{value} {name}" for name, value in counters if value) or "0"


def grown(interval: Interval[Cards], of: Callable[[Card], Counters]) -> Interval[Cards] | Verdict:
    """Refuse an interval in which cards vanished, came, or counted backwards: its difference says nothing."""
    before = {card.name: card for card in interval.before.cards}
    after = {card.name: card for card in interval.after.cards}
    if before.keys() != after.keys():
        changed = ", ".join(sorted(before.keys() ^ after.keys())[:_NAMED])
        return Verdict.undecided(say("cards came or went between two questions: {changed}", changed=changed))
    for name, card in after.items():
        earlier = dict(of(before[name]))
        for counter, value in of(card):
            then = earlier.get(counter)
            if value is not None and then is not None and value < then:
                return Verdict.undecided(
                    say(
                        "{counter} of {name} went backwards: the driver or the card was reset",
                        counter=counter,
                        name=name,
                    )
                )
    return interval


def growth(interval: Interval[Cards], card: Card, of: Callable[[Card], Counters]) -> Counters:
    """Each counter's difference on one card; ``None`` where either reading is not told."""
    earlier = next(dict(of(other)) for other in interval.before.cards if other.name == card.name)
    return tuple(
        (name, None if value is None or (then := earlier.get(name)) is None else value - then)
        for name, value in of(card)
    )
