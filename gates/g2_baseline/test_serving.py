"""G2.6  What the engine gives on one node alone: cold KV from the local disk, and no KV at all; the baseline of the main gate."""

from __future__ import annotations

import pytest

from checks.serving import standing
from checks.serving.baseline import alone
from checks.serving.limits import alone as held_alone
from kvgate.inventory.experiment import site


def _rounds(concurrency, role, terms):
    where = site(concurrency.rack, concurrency.shape)
    side = where.arm(role)
    return (
        where,
        held_alone(terms, where, bool(side.store)),
        alone(
            where,
            side,
            concurrency.level,
            int(terms["rounds"]),
            terms["drift"],
            int(terms["one_void_in"]),
            sure=terms.get("sure", 0.0),
            at_most=int(terms.get("most_rounds", 0)),
        ),
    )


@pytest.mark.clause("G2.6.1")
def test_local_disk_gives_a_baseline(concurrency, measure, terms, decide):
    where, held, trial = _rounds(concurrency, "local", terms)
    decide(standing.stands(measure(trial), where, held))


@pytest.mark.clause("G2.6.2")
def test_computing_anew_gives_a_baseline(concurrency, measure, terms, decide):
    where, held, trial = _rounds(concurrency, "recompute", terms)
    decide(standing.stands(measure(trial), where, held))


@pytest.mark.clause("G2.6.3")
def test_rounds_to_come_can_be_told_apart(concurrency, measure, terms, decide):
    where, held, trial = _rounds(concurrency, "local", terms)
    reach = (terms["width"], terms["least"], terms["high"], int(terms["rounds_compared"]))
    decide(standing.precise(measure(trial), where, held, *reach))
