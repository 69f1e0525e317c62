"""Reading shapes that many tools share: complete lines, JSON documents in noise, ``label: value``, ``path:value``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any

from checks.probe import NothingPrinted, UnreadableOutput

#: Values that tools print for "I do not know"; never a number, never zero.
NOT_GIVEN = frozenset(
    {"", "-", "N/A", "[N/A]", "n/a", "[Not Supported]", "Not Supported", "not supported", "Unknown!", "Unknown", "NA"}
)
#: Numbers that drivers print for "not implemented" (all bits set).
SENTINELS = frozenset({4294967295, 65535, 18446744073709551615, 2147483647, -1})


def lines(text: str) -> list[str]:
    """Split into lines; refuses empty text and a last line without its newline, which may be cut in the middle."""
    if not text.strip():
        raise NothingPrinted("the output is empty")
    if not text.endswith("\n"):
        raise UnreadableOutput(f"the last line has no newline, the output may be cut: {text.splitlines()[-1][-60:]!r}")
    return text.splitlines()


def json_documents(text: str, placeholders: Collection[str] = ()) -> list[Any]:
    """Every JSON document that starts at a line's beginning, in order; text around them is skipped.

    Duplicate keys, NaN, infinite numbers and whole numbers beyond 128 bits are refused. ``placeholders`` are keys that a
    tool is known to repeat without meaning; they are dropped. Raises UnreadableOutput when there is none or one is cut.
    """

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return _unique([pair for pair in pairs if pair[0] not in placeholders] if placeholders else pairs)

    decoder = json.JSONDecoder(
        object_pairs_hook=table, parse_constant=_no_constant, parse_float=_finite, parse_int=_bounded
    )
    found: list[Any] = []
    position = 0
    for start in re.finditer(r"^[ \t]*[\[{]", text, re.MULTILINE):
        if start.start() < position:
            continue
        try:
            document, position = decoder.raw_decode(text, start.end() - 1)
        except (ValueError, RecursionError) as error:
            raise UnreadableOutput(f"JSON cannot be read: {error}") from None
        found.append(document)
    if not found:
        raise UnreadableOutput(f"no JSON document in the output, which begins {text.strip()[:80]!r}")
    return found


def json_document(text: str) -> Any:
    """Return the one JSON document of the output; more than one is refused."""
    found = json_documents(text)
    if len(found) != 1:
        raise UnreadableOutput(f"{len(found)} JSON documents, wanted one")
    return found[0]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return table


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is too large")
    return value


def _bounded(digits: str) -> int:
    if len(digits) > 39:  # 2^128 has 39 digits: the widest counter of NVMe
        raise ValueError(f"{digits[:40]} is too large")
    return int(digits)


def entry(table: Any, key: str, kind: type | tuple[type, ...], where: str = "object") -> Any:
    """``table[key]`` if it is there and of ``kind`` (a bool is no int), else UnreadableOutput."""
    if not isinstance(table, dict) or key not in table:
        raise UnreadableOutput(f"{where} has no {key!r}")
    value = table[key]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise UnreadableOutput(f"{where}: {key!r} is {value!r}, wanted {' or '.join(k.__name__ for k in kinds)}")
    return value


def array(table: Any, key: str, kind: type | tuple[type, ...], length: int | None = None) -> list[Any]:
    """``table[key]`` as a list whose items are all of ``kind`` (a bool is no int); with ``length``, of exactly so many."""
    items = entry(table, key, list)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for item in items:
        if not isinstance(item, kinds) or (isinstance(item, bool) and bool not in kinds):
            raise UnreadableOutput(f"{key!r} holds {str(item)[:40]!r}, wanted {' or '.join(k.__name__ for k in kinds)}")
    if length is not None and len(items) != length:
        raise UnreadableOutput(f"{key!r} has {len(items)} items, wanted {length}: one a request")
    return list(items)


def integer(text: str, what: str) -> int:
    """Decimal digits -> int; anything else (blank, N/A, thousands separators, a unit) is refused."""
    if re.fullmatch(r"-?\d{1,20}", text.strip(), re.ASCII) is None:
        raise UnreadableOutput(f"{what} is {text.strip()[:40]!r}, wanted a whole number")
    return int(text)


def decimal(text: str, what: str) -> float:
    """Digits with an optional decimal point -> float; anything else is refused."""
    if re.fullmatch(r"[-+]?\d{1,20}(\.\d{1,20})?", text.strip(), re.ASCII) is None:
        raise UnreadableOutput(f"{what} is {text.strip()[:40]!r}, wanted a number")
    return float(text)


def tree(text: str) -> dict[str, str]:
    """``grep -s '' FILES`` output, one ``/path:value`` a line -> path to value; a path seen twice keeps all its lines."""
    found: dict[str, str] = {}
    for line in lines(text):
        path, colon, value = _split_path(line)
        if not colon:
            raise UnreadableOutput(f"found {line[:80]!r}, wanted /path:value")
        found[path] = f"{found[path]}\n{value}" if path in found else value
    return found


def _split_path(line: str) -> tuple[str, str, str]:
    # PCI addresses hold colons (0000:41:00.0), so the value starts at the first colon not inside such an address.
    # The group is atomic: a line whose every colon could belong to an address is refused, never split at random.
    found = re.match(
        r"(/(?>(?:[^:\n]|(?<=[0-9a-f]{4}):(?=[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])|(?<=[0-9a-f]{4}:[0-9a-f]{2}):(?=[0-9a-f]{2}\.[0-7]))*)):(.*)$",
        line,
    )
    return (found[1], ":", found[2]) if found else (line, "", "")


def link_speed(text: str) -> float | None:
    """``16.0 GT/s PCIe`` (older kernels ``16 GT/s``) -> GT/s; ``Unknown`` -> None."""
    if text.strip() in ("Unknown", "Unknown speed"):
        return None
    found = re.fullmatch(r"(\d{1,3}(?:\.\d)?) GT/s(?: PCIe)?", text.strip(), re.ASCII)
    if found is None:
        raise UnreadableOutput(f"found link speed {text.strip()[:40]!r}, wanted such as 16.0 GT/s PCIe")
    return float(found[1])


def link_width(text: str) -> int | None:
    """Lanes of a PCI Express link; None for a number that no link can have (0, 63 and 255 mean unknown or gone)."""
    lanes = integer(text, "link width")
    return lanes if lanes in (1, 2, 4, 8, 12, 16, 32) else None


def aer_total(text: str, name: str) -> int:
    """Sum that the kernel prints below an ``aer_dev_*`` table, such as ``TOTAL_ERR_FATAL 0``; without it the table is cut."""
    found = re.findall(rf"^{name} (\d{{1,20}})$", text, re.MULTILINE | re.ASCII)
    if len(found) != 1:
        raise UnreadableOutput(f"found {len(found)} lines {name}, wanted one: the counter table may be cut")
    return int(found[0])


def whole(table: Any, key: str, where: str = "object") -> int:
    """``table[key]`` as a number of at most 128 bits, written as a JSON number or as digits in quotes."""
    value = entry(table, key, (int, str), where)
    if isinstance(value, str):
        if re.fullmatch(r"\d{1,39}", value, re.ASCII) is None:
            raise UnreadableOutput(f"{where}: {key!r} is {value[:40]!r}, wanted a whole number")
        value = int(value)
    if not 0 <= value < 2**128:
        raise UnreadableOutput(f"{where}: {key!r} is out of the range of 128 bits")
    return int(value)


def count_cpus(cpus: str) -> int:
    """``0-63,128-191`` (a list that its parser has checked) -> 128."""
    total = 0
    for part in cpus.split(","):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total
