"""What a reading can physically be. Beyond that the unit is another than the tool says, or nothing was measured: not told."""

from __future__ import annotations

from checks.verdict import number

#: A chip under power is warmer than 0 and dead above 150 degrees Celsius; Kelvin read as Celsius lies outside, and so does
#: the 0 of a sensor that is not there.
_CELSIUS = (0, 150)
#: All bits set, in the widths of NVMe and PCI counters: firmware's word for not counted.
_ALL_ONES = frozenset({2**32 - 1, 2**64 - 1, 2**128 - 1})
#: Hours of twenty years; NVMe disks are sold since 2011. Minutes and seconds of a used disk lie beyond.
_HOURS = 175_320
#: Bytes a second of PCI Express 6.0 with four lanes: no disk was ever written faster.
_FASTEST = 32 * 10**9
#: Bytes of one accelerator's memory: MiB read as bytes lie below, bytes read as MiB above.
_CARD = (2**30, 2**43)


def celsius(value: float | None) -> float | None:
    """Degrees Celsius of a powered chip, else None."""
    return value if number(value) is not None and value is not None and _CELSIUS[0] < value < _CELSIUS[1] else None


def percent(value: int | None) -> int | None:
    """A share of a whole, 0 to 100, else None."""
    return value if value is not None and 0 <= value <= 100 else None


def wear(value: int | None) -> int | None:
    """Percent of the rated life, which may be exceeded; NVMe ends at 255, else None."""
    return value if value is not None and 0 <= value <= 255 else None


def count(value: int | None) -> int | None:
    """A counter, else None: negative or all bits set."""
    return value if value is not None and value >= 0 and value not in _ALL_ONES else None


def hours(value: int | None) -> int | None:
    """Hours under power, else None."""
    return value if value is not None and 0 <= value <= _HOURS else None


def written(value: int | None, powered: int | None) -> int | None:
    """Bytes written in ``powered`` hours (begun ones count whole), else None: more than a link can carry in that time."""
    if value is None or powered is None or not 0 <= value <= (powered + 1) * 3600 * _FASTEST:
        return None
    return value


def card_memory(value: int | None) -> int | None:
    """Bytes of an accelerator's memory, else None."""
    return value if value is not None and _CARD[0] <= value <= _CARD[1] else None
