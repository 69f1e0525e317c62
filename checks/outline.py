"""Indented outlines (``KEY: value`` under headings) and the per-card records that amd-smi prints as such or as JSON."""

from __future__ import annotations

import re
from typing import Any

from checks.lexing import NOT_GIVEN, SENTINELS, json_documents, lines
from checks.probe import UnreadableOutput

_COLON = re.compile(r"\s*:(?:\s+|$)")
_AMOUNT = re.compile(r"(-?\d{1,20}(?:\.\d{1,20})?)(?:\s+(\S{1,16}))?", re.ASCII)
_DEEPEST = 12
_LARGEST = 2**64


def outline(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Every line as (headings down to its key, value); a heading has the value ``""``.

    A colon counts only before a blank or the line's end, so PCI addresses and times stay whole. A list in brackets may
    wrap over lines. Raises UnreadableOutput for empty or cut text and for nesting deeper than any tool prints.
    """
    found: list[tuple[tuple[str, ...], str]] = []
    above: list[tuple[int, str]] = []
    for raw in lines(text):
        line = raw.expandtabs(8).rstrip()
        if not line:
            continue
        if found and (value := found[-1][1]).startswith("[") and "]" not in value:
            found[-1] = (found[-1][0], f"{value} {line.strip()}")
            continue
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        key, *rest = _COLON.split(line.strip(), maxsplit=1)
        above.append((depth, key))
        if len(above) > _DEEPEST:
            raise UnreadableOutput(f"{len(above)} levels of indentation at {key[:40]!r}")
        found.append((tuple(name for _, name in above), rest[0] if rest else ""))
    return found


def card_records(text: str) -> list[tuple[int, dict[str, Any]]]:
    """amd-smi's cards as (number, nested record), in order; keys in lower case, whatever version and format printed them.

    Accepts a bare list (to 6.x), ``{"gpu_data": [...]}`` (7.x), several documents after one another, and text blocks under
    ``GPU: N``. Warnings before the first card are skipped. Raises UnreadableOutput when no card is described or one twice.
    """
    if re.search(r"^[ \t]*[\[{]", text, re.MULTILINE):
        rows = [row for document in json_documents(text) for row in _rows(document)]
        found = [(row["gpu"], row) for row in rows if type(row.get("gpu")) is int]
    else:
        found = _blocks(text)
    if not found:
        raise UnreadableOutput(f"no card in the output, which begins {text.strip()[:80]!r}")
    numbers = [number for number, _ in found]
    if len(set(numbers)) != len(numbers):
        raise UnreadableOutput(f"a card is described twice: {numbers}")
    return found


def _rows(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict) and isinstance(document.get("gpu_data"), list):
        document = document["gpu_data"]
    rows = document if isinstance(document, list) else [document]
    return [row for row in rows if isinstance(row, dict)]


def _blocks(text: str) -> list[tuple[int, dict[str, Any]]]:
    found: list[tuple[int, dict[str, Any]]] = []
    for path, value in outline(text):
        if path[0] == "GPU" and len(path) == 1:
            if re.fullmatch(r"\d{1,4}", value, re.ASCII) is None:
                raise UnreadableOutput(f"found card number {value[:20]!r}, wanted digits")
            found.append((int(value), {}))
        elif path[0] == "GPU":
            _put(found[-1][1], [name.lower() for name in path[1:]], value)
    return found


def _put(record: dict[str, Any], path: list[str], value: str) -> None:
    for name in path[:-1]:
        below = record.get(name)
        if not isinstance(below, dict):
            if below not in ("", None):
                raise UnreadableOutput(f"{name!r} has both a value and entries below it")
            below = record[name] = {}
        record = below
    if path[-1] in record:
        raise UnreadableOutput(f"{'.'.join(path)!r} stands twice")
    record[path[-1]] = value


def part(record: dict[str, Any], *names: str) -> Any:
    """The value under these keys, or None where one of them is absent or holds no table (``"N/A"``)."""
    found: Any = record
    for name in names:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found


def amount(value: Any, what: str, *units: str) -> int | float | None:
    """``12``, ``"12"``, ``"12 W"``, ``{"value": 12, "unit": "W"}`` -> 12; absent, N/A and all-bits-set numbers -> None.

    With ``units`` given, another unit than these is refused; a number without any unit is taken.
    """
    unit = ""
    if isinstance(value, dict):
        unit, value = value.get("unit", ""), value.get("value")
    if value is None or (isinstance(value, str) and value.strip() in NOT_GIVEN):
        return None
    if isinstance(value, str):
        if (found := _AMOUNT.fullmatch(value.strip())) is None:
            raise UnreadableOutput(f"{what} is {value[:40]!r}, wanted a number")
        unit = found[2] or unit
        value = float(found[1]) if "." in found[1] else int(found[1])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnreadableOutput(f"{what} is {str(value)[:40]!r}, wanted a number")
    if not abs(value) <= _LARGEST:
        raise UnreadableOutput(f"{what} is {str(value)[:40]}, larger than any counter")
    if units and unit and unit not in units:
        raise UnreadableOutput(f"{what} has the unit {str(unit)[:20]!r}, wanted {' or '.join(units)}")
    return None if value in SENTINELS else value


def count(value: Any, what: str) -> int | None:
    """As :func:`amount`, for what can only be a whole number of at least 0."""
    number = amount(value, what)
    if number is not None and (not isinstance(number, int) or number < 0):
        raise UnreadableOutput(f"{what} is {number!r}, wanted a whole number of at least 0")
    return number


def word(value: Any, what: str) -> str | None:
    """A text; absent, N/A and the like -> None; a table or list where a word belongs is refused."""
    if value is None or (isinstance(value, str) and value.strip() in NOT_GIVEN):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise UnreadableOutput(f"{what} is {str(value)[:40]!r}, wanted a word")
    return str(value).strip()
