"""Rounding as the published reports print it: decimal, to whole percent, a half away from zero.

Python's own ``round`` takes a half to the even neighbour and works on binary fractions; 28.5 would print as 28.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from checks.verdict import number

#: A quotient of two floats is exact to about 1e-15 of its size; what lies nearer than this to a half is that half.
_NOISE = Decimal("1e-9")


def half_up(value: float | Decimal, decimals: int = 0) -> Decimal:
    """``value`` rounded to ``decimals`` places, halves away from zero. Raises ValueError for what is no finite number."""
    if isinstance(value, Decimal):
        exact = value
        if not exact.is_finite():
            raise ValueError(f"found {value}, wanted a finite number")
    else:
        if number(value) is None:
            raise ValueError(f"found {value!r}, wanted a finite number")
        exact = Decimal(repr(float(value))).quantize(_NOISE, ROUND_HALF_UP) if abs(value) < 1e15 else Decimal(value)
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def drop_percent(before: float | Decimal, after: float | Decimal) -> Decimal:
    """By how many percent ``after`` lies below ``before``, exactly, from the decimal digits given.

    Raises ValueError unless both are positive finite numbers.
    """
    first, second = _positive(before), _positive(after)
    return (first - second) / first * 100


def gain_percent(before: float | Decimal, after: float | Decimal) -> Decimal:
    """By how many percent ``after`` lies above ``before``; raises as :func:`drop_percent`."""
    return -drop_percent(before, after)


def _positive(value: float | Decimal) -> Decimal:
    exact = value if isinstance(value, Decimal) else None
    if exact is None and number(value) is not None:
        exact = Decimal(repr(value))
    if exact is None or not exact.is_finite() or exact <= 0:
        raise ValueError(f"found {value!r}, wanted a positive number")
    return exact
