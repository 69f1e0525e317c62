"""The bounds of what can be: on them, one step beyond, absent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checks import physical


@pytest.mark.parametrize(
    ("reading", "good", "bad"),
    [
        (physical.celsius, (0.1, 149.9), (0, 150, -1, float("nan"), None)),
        (physical.percent, (0, 100), (-1, 101, 255, None)),
        (physical.wear, (0, 255), (-1, 256, None)),
        (physical.count, (0, 65535, 2**32 - 2, 2**32, 2**64), (-1, 2**32 - 1, 2**64 - 1, 2**128 - 1, None)),
        (physical.hours, (0, 175_320), (-1, 175_321, None)),
        (physical.card_memory, (2**30, 2**43), (2**30 - 1, 2**43 + 1, 0, None)),
    ],
)
def test_readings(reading: Callable[[object], object], good: tuple[float, ...], bad: tuple[float | None, ...]) -> None:
    assert [reading(value) for value in good] == list(good)
    assert [reading(value) for value in bad] == [None] * len(bad)


def test_what_was_written_is_bounded_by_the_hours_it_took() -> None:
    assert physical.written(3600 * 32 * 10**9, 0) == 3600 * 32 * 10**9
    assert physical.written(3600 * 32 * 10**9 + 1, 0) is None
    assert physical.written(3600 * 32 * 10**9 + 1, 1) is not None
    assert physical.written(-1, 1) is None
    assert physical.written(1, None) is None
    assert physical.written(None, 1) is None
