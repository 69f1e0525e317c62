"""Sizes, rates, link speeds and durations with their units: parse and print. A number without its unit is refused."""

from __future__ import annotations

import re
from decimal import Decimal

from checks.phrase import Phrase, plain, say

_BYTES = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "PIB": 2**50,
}  # fmt: skip
_BITS = {"B/S": 1, "KB/S": 10**3, "MB/S": 10**6, "GB/S": 10**9, "TB/S": 10**12}
_OPERATIONS = {"IOPS": 1, "kIOPS": 10**3, "KIOPS": 10**3}
_SECONDS = {"US": Decimal("1e-6"), "MS": Decimal("1e-3"), "S": Decimal(1), "MIN": Decimal(60), "H": Decimal(3600)}
_DAYS = {"d": 1, "day": 1, "days": 1, "week": 7, "weeks": 7}
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ/]+)\s*", re.ASCII)


class UnitError(ValueError):
    """A quantity whose number or unit is missing or unknown: what was found, what was wanted."""

    def __init__(self, found: Phrase | str, wanted: Phrase) -> None:
        self.found, self.wanted = plain(found), wanted
        super().__init__(f"found {found}, wanted {wanted}")


def _split(text: str, units: str) -> tuple[Decimal, str]:
    if not isinstance(text, str) or (found := _QUANTITY.fullmatch(text.replace("µ", "u"))) is None:
        raise UnitError(repr(text), say("a number and a unit ({units})", units=units))
    return Decimal(found[1]), found[2]


def parse_bytes(text: str) -> int:
    """``3.84 TB`` or ``512 KiB`` -> bytes; decimal and binary prefixes are told apart."""
    value, unit = _split(text, "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB")
    if unit.upper() not in _BYTES or unit.endswith("b"):
        raise UnitError(
            say("unit {unit!r}", unit=unit), say("one of {words}", words="B, kB, MB, GB, TB, KiB, MiB, GiB, TiB")
        )
    size = value * _BYTES[unit.upper()]
    if size != int(size):
        raise UnitError(repr(text), say("a whole number of bytes"))
    return int(size)


def parse_rate(text: str) -> int:
    """``100 Gb/s`` -> bits a second; ``GB/s`` (bytes) is refused so that the two are never mixed up."""
    value, unit = _split(text, "Mb/s, Gb/s")
    if unit.upper() not in _BITS or "b" not in unit:
        raise UnitError(say("unit {unit!r}", unit=unit), say("bits a second: kb/s, Mb/s, Gb/s"))
    return int(value * _BITS[unit.upper()])


def parse_byte_rate(text: str) -> int:
    """``6.8 GB/s`` -> bytes a second; ``Gb/s`` (bits) is refused so that the two are never mixed up."""
    value, unit = _split(text, "MB/s, GB/s, GiB/s")
    size, slash, per = unit.partition("/")
    if not slash or per not in ("s", "S") or size.upper() not in _BYTES or "b" in size:
        raise UnitError(say("unit {unit!r}", unit=unit), say("bytes a second: MB/s, GB/s, GiB/s"))
    return int(value * _BYTES[size.upper()])


def parse_operations(text: str) -> int:
    """``180000 IOPS`` or ``180 kIOPS`` -> operations a second."""
    value, unit = _split(text, "IOPS, kIOPS")
    if unit not in _OPERATIONS:
        raise UnitError(say("unit {unit!r}", unit=unit), say("operations a second: IOPS, kIOPS"))
    return int(value * _OPERATIONS[unit])


def parse_seconds(text: str) -> float:
    """``15 s``, ``30 ms`` -> seconds."""
    value, unit = _split(text, "us, ms, s, min, h")
    if unit.upper() not in _SECONDS:
        raise UnitError(say("unit {unit!r}", unit=unit), say("one of {words}", words="us, ms, s, min, h"))
    return float(value * _SECONDS[unit.upper()])


def parse_days(text: str) -> int:
    """``28 d`` or ``4 weeks`` -> days."""
    value, unit = _split(text, "d, weeks")
    if unit not in _DAYS:
        raise UnitError(say("unit {unit!r}", unit=unit), say("one of {words}", words="d, weeks"))
    days = value * _DAYS[unit]
    if days != int(days):
        raise UnitError(repr(text), say("a whole number of days"))
    return int(days)


def show_bytes(size: int) -> str:
    """Bytes -> ``3.84 TB``; decimal prefixes, three significant digits."""
    for unit, factor in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if abs(size) >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} B"


def show_rate(bits: float) -> str:
    """Bits a second -> ``100 Gb/s``."""
    for unit, factor in (("Tb/s", 10**12), ("Gb/s", 10**9), ("Mb/s", 10**6), ("kb/s", 10**3)):
        if abs(bits) >= factor:
            return f"{bits / factor:.4g} {unit}"
    return f"{bits:g} b/s"
