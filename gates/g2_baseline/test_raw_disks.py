"""G2.1.13  What a raw disk carries when it is no longer fresh: behind the guard, on disks that may be destroyed."""

from __future__ import annotations

from functools import partial

import pytest

from checks.block import criteria
from checks.block.patterns import Pattern, Way
from checks.block.raw import steady_writes


@pytest.mark.clause("G2.1.13")
def test_raw_disk_comes_to_a_steady_state(disk, measure, terms, decide):
    rule = {"range_percent": terms["range"], "rise_percent": terms["rise"], "window": terms["window"]}
    pattern = Pattern(Way.RANDWRITE, 4096, 32, terms["seconds"])
    trial = steady_writes(
        disk.host,
        disk.serial,
        disk.capacity,
        pattern,
        terms["window"],
        terms["most_rounds"],
        partial(criteria.steady, **rule),
    )
    decide(criteria.settled(measure(trial), **rule))
