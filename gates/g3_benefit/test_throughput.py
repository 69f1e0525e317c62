"""G3.4  More tokens a second with KV on the array, and not more than can be believed."""

from __future__ import annotations

import pytest

from checks.serving import judging
from gates.g3_benefit.experiment import cells, from_the_array


def _in_band(concurrency, measure, baseline, terms, decide):
    where, held, trial = cells(concurrency, terms, baseline)
    verdict = judging.throughput(measure(trial), where, held, terms["low"], terms["high"], int(terms["decimals"]))
    decide(from_the_array(concurrency, verdict))


@pytest.mark.clause("G3.4.1")
def test_throughput_lies_in_the_band(concurrency, measure, baseline, terms, decide):
    _in_band(concurrency, measure, baseline, terms, decide)


@pytest.mark.clause("G3.4.2")
def test_throughput_of_other_shapes_lies_in_the_band(concurrency, measure, baseline, terms, decide):
    _in_band(concurrency, measure, baseline, terms, decide)
