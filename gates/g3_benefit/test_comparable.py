"""G3.1, G3.2  The arms are alike, and what was measured on them is what it seems to be: valid before good."""

from __future__ import annotations

import pytest

from checks.serving import judging, standing, trials
from gates.g3_benefit.experiment import cells
from kvgate.inventory.experiment import site


@pytest.mark.clause("G3.1.1")
def test_arms_differ_in_nothing_but_where_the_kv_lies(shape, measure, decide):
    where = site(shape.rack, shape.id)
    found = {level: measure(trials.paired(where, level)) for level in shape.rack.serving.workload.concurrencies}
    decide(judging.alike(found, where))


@pytest.mark.clause("G3.2.1")
def test_load_was_made_as_planned(concurrency, measure, baseline, terms, decide):
    where, held, trial = cells(concurrency, terms, baseline)
    decide(judging.valid(measure(trial), where, held))


@pytest.mark.clause("G3.2.2")
def test_kv_came_from_the_store_and_from_its_device(concurrency, measure, baseline, terms, decide):
    where, held, trial = cells(concurrency, terms, baseline)
    decide(judging.proven(measure(trial), where, held))


@pytest.mark.clause("G3.2.3")
def test_rounds_repeat(concurrency, measure, baseline, terms, decide):
    where, held, trial = cells(concurrency, terms, baseline)
    decide(judging.steady(measure(trial), where, held))


@pytest.mark.clause("G3.2.4")
def test_local_arm_gives_what_it_gave_alone(concurrency, measure, baseline, terms, decide):
    where, held, trial = cells(concurrency, terms, baseline)
    then = baseline("G2.6.1", concurrency.id)
    decide(standing.reproduced(measure(trial), then, where, held, terms["reproduce"]))
