"""G3.5  Restored KV gives the same answers as computed KV."""

from __future__ import annotations

import pytest

from checks.serving import answers, trials
from kvgate.inventory.experiment import site


@pytest.mark.clause("G3.5.1")
def test_restored_kv_gives_the_same_answers(arm, measure, terms, decide):
    shape = arm.id.partition("/")[0]
    where = site(arm.rack, shape)
    side = where.arm(arm.role)
    found = measure(trials.canaries(where, side, where.canaries, max(terms["tokens"], 2 * where.chunk), terms["out"]))
    given = found.facts[-1].canaries
    decide(answers.same_answers(given, int(terms["least"]), terms["noise"], terms["significance"]))
