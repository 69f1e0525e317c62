"""Comparing one measured value with one limit. Missing, NaN or text where a number belongs is UNDECIDED, never a default."""

from __future__ import annotations

from collections.abc import Collection

from checks.phrase import Phrase, say
from checks.verdict import Quantity, Verdict, number

#: Units that are words of a language; symbols (B, GT/s, %) are the same in all.
_UNITS = {
    phrase.template: phrase
    for phrase in (
        say("bytes"), say("descriptors"), say("errors"), say("lanes"), say("packets"), say("shutdowns"),
    )
}  # fmt: skip


def _number_or_why(what: Phrase | str, value: object, required: Phrase) -> Verdict | None:
    if number(value) is not None:
        return None
    if value is None:
        return Verdict.undecided(say("{what} was not given", what=what), required=required)
    return Verdict.undecided(
        say("{what} was not given as a number: {value}", what=what, value=repr(value)), required=required
    )


def _short(value: float) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


def _show(value: float, unit: str, beside: float | None = None) -> Phrase | str:
    # Two numbers that differ must never look alike: a STOP that reads "0, at most 0" helps nobody.
    alike = beside is not None and value != beside and _short(value) == _short(beside)
    shown = repr(value) if alike else _short(value)
    return say("{value} {unit}", value=shown, unit=_UNITS.get(unit, unit)) if unit else shown


def _beside(value: object) -> float | None:
    return value if isinstance(value, (int, float)) else None


def at_most(what: Phrase | str, value: object, limit: float, unit: str = "", note: Phrase | None = None) -> Verdict:
    """PASS when ``value`` <= ``limit``, both in ``unit``."""
    required = say("at most {limit}", limit=_show(limit, unit, _beside(value)))
    if (why := _number_or_why(what, value, required)) is not None:
        return why
    assert isinstance(value, (int, float))  # noqa: S101 - narrowed by _number_or_why
    return Verdict.of(
        value <= limit, _show(value, unit, limit), required, unit, note, (Quantity(str(what), value, unit),)
    )


def at_least(what: Phrase | str, value: object, limit: float, unit: str = "", note: Phrase | None = None) -> Verdict:
    """PASS when ``value`` >= ``limit``, both in ``unit``."""
    required = say("at least {limit}", limit=_show(limit, unit, _beside(value)))
    if (why := _number_or_why(what, value, required)) is not None:
        return why
    assert isinstance(value, (int, float))  # noqa: S101 - narrowed by _number_or_why
    return Verdict.of(
        value >= limit, _show(value, unit, limit), required, unit, note, (Quantity(str(what), value, unit),)
    )


def exactly(what: Phrase | str, value: object, wanted: float, unit: str = "", note: Phrase | None = None) -> Verdict:
    """PASS when the number ``value`` equals ``wanted``."""
    required = say("exactly {wanted}", wanted=_show(wanted, unit, _beside(value)))
    if (why := _number_or_why(what, value, required)) is not None:
        return why
    assert isinstance(value, (int, float))  # noqa: S101 - narrowed by _number_or_why
    return Verdict.of(
        value == wanted, _show(value, unit, wanted), required, unit, note, (Quantity(str(what), value, unit),)
    )


def same_text(what: Phrase | str, value: str | None, wanted: str, note: Phrase | None = None) -> Verdict:
    """PASS when the text equals ``wanted`` exactly; an absent or empty text is UNDECIDED."""
    if value is None or not value.strip():
        return Verdict.undecided(say("{what} was not given", what=what), required=wanted)
    return Verdict.of(value.strip() == wanted.strip(), value.strip(), wanted, note=note)


def one_of(what: Phrase | str, value: str | None, allowed: Collection[str], known_bad: Collection[str] = ()) -> Verdict:
    """PASS for a word in ``allowed``. With ``known_bad`` given, a word in neither list is UNDECIDED; else it is a STOP."""
    required = " / ".join(allowed)
    if value is None or not value.strip():
        return Verdict.undecided(say("{what} was not given", what=what), required=required)
    word = value.strip()
    if word not in allowed and known_bad and word not in known_bad:
        return Verdict.undecided(
            say("{what} reads {word}, a word kvgate does not know", what=what, word=word), required, measured=word
        )
    return Verdict.of(word in allowed, word, required)
