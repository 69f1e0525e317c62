"""G3.8  What one instance stored, another reads from the array."""

from __future__ import annotations

import pytest

from checks.serving import share, trials
from kvgate.inventory.experiment import site


@pytest.mark.clause("G3.8.1")
def test_one_instance_reads_what_another_stored(shape, measure, terms, decide):
    found = measure(trials.shared(site(shape.rack, shape.id)))
    decide(share.reads(found.facts[-1], terms["hit"], terms["device_more"]))
