"""JSON that has one spelling only: what is signed is read back exactly as it was written, by any language's parser."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from checks.phrase import Phrase, say
from kvgate.codec import canonical, json_kind, parse_json
from kvgate.codec import why as told
from kvgate.errors import Unproven

#: Whole numbers that every JSON reader keeps exactly; JavaScript rounds those beyond (RFC 8259, section 6).
_EXACT = 2**53 - 1


def write(value: Mapping[str, object]) -> bytes:
    """Return the one spelling: one line, ASCII, keys sorted. Raises TypeError for a float, ValueError for a huge number."""
    _plain(value)
    return canonical(value).encode("ascii")


def exact(data: bytes, what: str) -> dict[str, object]:
    """Read one object that stands in its one spelling. Raises Unproven saying how it does not."""
    found = parse(data, what)
    try:
        same = write(found) == data
    except (TypeError, ValueError) as error:
        raise Unproven(say("{what}: {error}", what=what, error=str(error))) from None
    if not same:
        raise Unproven(
            say(
                "{what} is not canonical (one line, ASCII, keys sorted, no spaces): it was written by something else",
                what=what,
            )
        )
    return found


def parse(data: bytes, what: Phrase | str) -> dict[str, object]:
    """Read one JSON object in any layout. Raises Unproven for what is none, for a key that stands twice, and for NaN."""
    try:
        found = parse_json(data, _unique, _none)
    except ValueError as error:
        raise Unproven(say("{what} cannot be read: {why:.200}", what=what, why=told(error))) from None
    if not isinstance(found, dict):
        raise Unproven(say("{what} is {kind}, wanted a JSON object", what=what, kind=json_kind(found)))
    return found


def encoded(data: bytes) -> str:
    """Base64 with the standard alphabet and padding, on one line."""
    return base64.b64encode(data).decode("ascii")


def decoded(text: str, what: str) -> bytes:
    """Inverse of :func:`encoded`. Raises Unproven for every other spelling: URL-safe, line breaks, junk, loose last bits."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (ValueError, binascii.Error):
        url_safe = set(text) & set("-_") and not set(text) & set("+/")
        why = "it has the URL-safe alphabet" if url_safe else "it has other characters or a wrong length"
        raise Unproven(say("{what} is not standard base64: {why}", what=what, why=why)) from None
    if encoded(data) != text:
        raise Unproven(
            say("{what} is not canonical base64: two spellings of the same bytes would both be taken", what=what)
        )
    return data


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        raise ValueError(say("the key {name!r:.60} stands twice", name=twice))
    return found


def _none(word: str) -> object:
    raise ValueError(say("found {word}, wanted a number", word=word))


def _plain(value: object) -> None:
    """Raise unless the value holds only what every JSON reader keeps as it is."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise TypeError(f"found key {name!r:.60}, wanted a text")
            _plain(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _plain(inner)
    elif isinstance(value, float):
        raise TypeError(f"found the fraction {value!r}: fractions are written as text with their unit")
    elif isinstance(value, int) and abs(value) > _EXACT:
        raise ValueError(f"found {value:.3e}, a whole number that not every reader keeps exactly")
    elif value is not None and not isinstance(value, (str, int)):
        raise TypeError(f"found {json_kind(value)}")
