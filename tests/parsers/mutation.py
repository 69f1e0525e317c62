"""What may be read from a damaged output: every number must stand in it, and nothing turns to zero by going missing."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from typing import Any

#: Factors between what tools print and what facts hold: SI and binary prefixes, bits, sectors, port words, minutes, percent.
FACTORS = sorted(
    {
        base * scale
        for base in (1.0, 8.0, 4.0, 512.0, 60.0, 3600.0, 86400.0, 100.0, 10.0, 512000.0)
        for scale in (1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 2.0**10, 2.0**20, 2.0**30, 2.0**40, 2.0**50)
    }
    | {1 / factor for factor in (8.0, 4.0, 100.0, 60.0, 1e3, 1e6, 1e9, 1e12, 2.0**10, 2.0**20, 2.0**30)}
)
#: Kelvin, and the admin queue that is no I/O queue.
OFFSETS = (0.0, -273.0, 273.0, -273.15, 1.0, -1.0)
#: Numbers that a word stands for.
WORDS = {"off": -1.0, "never": -1.0, "unlimited": -1.0, "infinity": -1.0, "none": -1.0}

_DECIMAL = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]+")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar of a plain fact with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]")
    else:
        yield path, value


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Printed:
    """All numbers that a text can be said to print: decimal, with thousands separators, hexadecimal, in words."""

    def __init__(self, text: str) -> None:
        bare = text.replace(",", "").replace("\u2019", "").replace("_", "")
        found = {float(digits) for source in (text, bare) for digits in _DECIMAL.findall(source) if len(digits) < 60}
        found |= {float(int(digits, 16)) for digits in _HEX.findall(text) if len(digits) < 42}
        found |= {
            float(part) for digits in re.findall(r"\d+\.\d+", text) for part in digits.split(".") if len(part) < 60
        }
        found |= {number for word, number in WORDS.items() if word in text.lower()}
        self.numbers = sorted(number for number in found if number != float("inf"))
        self.words = set(re.findall(r"\w+", text.lower()))
        self.run = re.sub(r"\W+", "", text.lower())
        self.lines = text.count("\n") + 1 + text.count("{") + text.count("[")

    def shows(self, value: float) -> bool:
        """Whether the value is printed, up to a known unit, offset or sign; small counts may count lines or items."""
        if isinstance(value, int) and 0 < value <= self.lines:
            return True
        magnitude = abs(float(value))
        return any(
            self._near((magnitude - offset) / factor)
            for offset in (*OFFSETS, *(-offset for offset in OFFSETS))
            for factor in FACTORS
        )

    def says(self, value: str) -> bool:
        """Whether every word of the value stands in the text, alone or within a run of letters and digits.

        ``-`` and ``_`` both end a word: the kernel calls a module nvme_core whose file is nvme-core.ko.
        """
        return all(word in self.words or word in self.run for word in re.findall(r"[^\W_]+", value.lower()))

    def _near(self, wanted: float) -> bool:
        slack = max(abs(wanted) * 1e-6, 1e-12)
        at = bisect.bisect_left(self.numbers, wanted - slack)
        return at < len(self.numbers) and self.numbers[at] <= wanted + slack


def zeros_in(text: str) -> int:
    """How many numbers of a text are zero."""
    return sum(float(digits) == 0 for digits in _DECIMAL.findall(text) if len(digits) < 60)


def zeros_of(fact: Any) -> int:
    """How many numbers of a plain fact are zero."""
    return sum(is_number(value) and value == 0 for _, value in leaves(fact))
