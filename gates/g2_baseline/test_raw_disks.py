"""G2.1.13  What a raw disk carries when it is no longer fresh: behind the guard, on disks that may be destroyed."""

from __future__ import annotations

from functools import partial

import pytest

from checks.block import criteria
from checks.block.patterns import Pattern, Way
from checks.block.raw import steady_writes
from checks.block.validity import Held
from checks.ceiling import through_slots
from checks.phrase import say
from gates.g2_baseline.loads import KIB, settling
from kvgate.inventory import references


@pytest.mark.clause("G2.1.13")
def test_raw_disk_comes_to_a_steady_state(disk, measure, terms, decide):
    rule = settling(terms)
    pattern = Pattern(Way.RANDWRITE, 4 * KIB, terms["depth"], terms["seconds"], int(terms["jobs"]))
    enough = partial(criteria.steady, rule=rule)
    trial = steady_writes(disk.host, disk.serial, disk.capacity, pattern, terms["window"], terms["most_rounds"], enough)
    slot = through_slots(say("the slot of the disk"), [(disk.pcie.gen, disk.pcie.lanes)])
    promised = references.alone(disk.ordered, "random_write")
    held = Held(0.0, 0.0, 0.0, slot, 4 * KIB)
    decide(criteria.carries_settled(measure(trial), promised, terms["share"], held, rule))
