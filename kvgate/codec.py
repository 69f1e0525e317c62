"""How verdicts and their phrases stand in journal and ledger: canonical JSON, written and read back strictly."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from checks.phrase import Phrase, plain, say
from checks.verdict import Outcome, Quantity, Verdict

#: What stands in for characters that no text column and no terminal can hold: NUL and lone surrogates.
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


#: Characters of the longest whole number that is read: more than any counter has.
_DIGITS = 40


class Seal(NamedTuple):
    """What a decision and a certificate carry of the evidence: line count, digest of the last line, root over all blobs."""

    lines: int
    head: str
    root: str


#: Of a decision without evidence.
NO_EVIDENCE = Seal(0, "", "")


def canonical(value: object) -> str:
    """One line of JSON, ASCII only, keys sorted: the same value is always the same text. Raises ValueError for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str | bytes) -> str:
    """SHA-256 of the bytes (of the UTF-8 of a text), in lower-case hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).hexdigest()


def first_bytes(path: Path, most: int) -> bytes:
    """At most ``most`` bytes of a file. A pipe that nobody writes into is at its end, and not waited for. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        os.set_blocking(descriptor, True)
        return file.read(most)


def parse_object(text: str | bytes) -> dict[str, object]:
    """Read one JSON object. Raises ValueError for anything else, for a key that stands twice, and for NaN."""
    found = parse_json(text, _unique, _no_constant)
    if not isinstance(found, dict):
        raise ValueError(f"found {json_kind(found)}, wanted a JSON object")
    return found


def parse_json(
    text: str | bytes, unique: Callable[[list[tuple[str, object]]], object], constant: Callable[[str], object]
) -> object:
    """Read JSON of any kind. Raises ValueError, whose words are ours and not those of a library."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(decoded, object_pairs_hook=unique, parse_constant=constant, parse_int=_bounded)
    except UnicodeDecodeError as error:
        raise ValueError(say("it is no UTF-8 text (byte {number})", number=error.start)) from None
    except json.JSONDecodeError as error:
        raise ValueError(
            say("it is no JSON (line {line}, column {column})", line=error.lineno, column=error.colno)
        ) from None
    except RecursionError:
        raise ValueError(say("it is nested too deep")) from None


def why(error: ValueError) -> Phrase:
    """What a ValueError of this module says, in the reader's language."""
    said = error.args[0] if error.args else ""
    return said if isinstance(said, Phrase) else plain(str(error))


def json_kind(value: object) -> Phrase:
    """What a JSON value is, as a person says it."""
    kinds: tuple[tuple[type | tuple[type, ...], Phrase], ...] = (
        (dict, say("an object")), (list, say("a list")), (str, say("a text")), (bool, say("true or false")),
        ((int, float), say("a number")),
    )  # fmt: skip
    return next((name for kind, name in kinds if isinstance(value, kind)), say("nothing (null)"))


def _bounded(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"found a whole number of {len(digits.lstrip('-'))} digits")
    return int(digits)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(word: str) -> object:
    raise ValueError(f"found {word}, wanted a finite number")


def printable(phrase: Phrase | None) -> str:
    """English text of a phrase for a text column: NUL and lone surrogates are replaced."""
    text = "" if phrase is None else str(phrase)
    return text.replace("\0", _UNPRINTABLE).encode("utf-8", "replace").decode()


def phrase_to_json(phrase: Phrase) -> dict[str, object]:
    """``{"text": template, "values": [[name, value], ...]}``; a value may be a phrase again."""
    return {"text": phrase.template, "values": [[name, _value_to_json(value)] for name, value in phrase.values]}


def phrase_from_json(found: object) -> Phrase:
    """Inverse of :func:`phrase_to_json`. Raises ValueError."""
    record = _record(found, {"text", "values"})
    pairs = []
    for pair in _list(record["values"]):
        name, value = _pair(pair)
        pairs.append((_text(name), _value_from_json(value)))
    return Phrase(_text(record["text"]), tuple(pairs))


def verdict_to_json(verdict: Verdict) -> dict[str, object]:
    """Every field of the verdict; numbers that are not finite become words."""
    found: dict[str, object] = {
        "outcome": verdict.outcome.value,
        "measured": phrase_to_json(verdict.measured),
        "required": phrase_to_json(verdict.required),
        "unit": verdict.unit,
        "note": None if verdict.note is None else phrase_to_json(verdict.note),
        "quantities": [[q.name, _value_to_json(q.value), q.unit] for q in verdict.quantities],
    }
    return {**found, "acceptable": True} if verdict.acceptable else found


def verdict_from_json(found: object) -> Verdict:
    """Inverse of :func:`verdict_to_json`. Raises ValueError."""
    more: set[str] = set()
    if isinstance(found, Mapping) and "acceptable" in found:
        if found["acceptable"] is not True:
            raise ValueError(f"found acceptable {found['acceptable']!r:.80}, wanted true or no such key")
        more = {"acceptable"}
    record = _record(found, {"outcome", "measured", "required", "unit", "note", "quantities", *more})
    quantities = []
    for item in _list(record["quantities"]):
        parts = _list(item)
        if len(parts) != 3:
            raise ValueError(f"found {len(parts)} parts of a quantity, wanted name, value, unit")
        value = _value_from_json(parts[1])
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"found quantity {value!r}, wanted a number")
        quantities.append(Quantity(_text(parts[0]), value, _text(parts[2])))
    return Verdict(
        Outcome(_text(record["outcome"])),
        phrase_from_json(record["measured"]),
        phrase_from_json(record["required"]),
        _text(record["unit"]),
        None if record["note"] is None else phrase_from_json(record["note"]),
        tuple(quantities),
        acceptable=bool(more),
    )


def _value_to_json(value: str | int | float | bool | Phrase) -> object:
    if isinstance(value, Phrase):
        return phrase_to_json(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _value_from_json(found: object) -> str | int | float | bool | Phrase:
    if isinstance(found, (str, int, float, bool)):
        return found
    if isinstance(found, Mapping) and set(found) == {"float"} and found["float"] in ("nan", "inf", "-inf"):
        return float(found["float"])
    return phrase_from_json(found)


def _record(found: object, keys: set[str]) -> Mapping[str, object]:
    if not isinstance(found, Mapping) or set(found) != keys:
        raise ValueError(f"found {found!r:.80}, wanted an object with {sorted(keys)}")
    return found


def _list(found: object) -> Sequence[object]:
    if not isinstance(found, list):
        raise ValueError(f"found {found!r:.80}, wanted a list")
    return found


def _pair(found: object) -> tuple[object, object]:
    parts = _list(found)
    if len(parts) != 2:
        raise ValueError(f"found {len(parts)} parts, wanted name and value")
    return parts[0], parts[1]


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise ValueError(f"found {found!r:.80}, wanted a text")
    return found
