"""G3.9  All nodes read the array at once: it serves them alike, and still sooner than their own disks would."""

from __future__ import annotations

import pytest

from checks.serving import fan_in, standing, trials
from checks.serving.limits import together
from gates.g3_benefit.experiment import from_the_array
from kvgate.gate.ceilings import ceilings
from kvgate.inventory.experiment import site


def _asked(concurrency, measure, baseline, terms):
    where = site(concurrency.rack, concurrency.shape)
    held = together(terms, where, ceilings(where, baseline, terms["beyond"]))
    found = measure(trials.together(where, concurrency.level, int(terms["rounds"])))
    return found, where, fan_in.Limit(held, terms["together"])


@pytest.mark.clause("G3.9.1")
def test_every_node_gets_its_share(concurrency, measure, baseline, terms, decide):
    found, where, limit = _asked(concurrency, measure, baseline, terms)
    decide(from_the_array(concurrency, fan_in.fair(found, where, limit, terms["least"])))


@pytest.mark.clause("G3.9.2")
def test_first_token_comes_no_later_than_from_a_disk(concurrency, measure, baseline, terms, decide):
    found, where, limit = _asked(concurrency, measure, baseline, terms)
    local = standing.told(baseline("G2.6.1", concurrency.id), standing.TTFT)
    verdict = fan_in.soon(found, local, where, limit, terms["most"], terms["alike"])
    decide(from_the_array(concurrency, verdict))
