"""G3.3  The first token comes earlier with KV on the array."""

from __future__ import annotations

import pytest

from checks.serving import judging, sensitivity, trials
from gates.g3_benefit.experiment import cells, from_the_array, seen


def _earlier(concurrency, measure, baseline, terms, decide):
    proof = seen(concurrency, terms)
    where, held, trial = cells(concurrency, terms, baseline, proof)
    verdict = sensitivity.backed(judging.ttft(measure(trial), where, held, terms["least"]), proof())
    decide(from_the_array(concurrency, verdict))


@pytest.mark.clause("G3.3.1")
def test_first_token_comes_earlier(concurrency, measure, baseline, terms, decide):
    _earlier(concurrency, measure, baseline, terms, decide)


@pytest.mark.clause("G3.3.2")
def test_first_token_comes_earlier_in_other_shapes(concurrency, measure, baseline, terms, decide):
    _earlier(concurrency, measure, baseline, terms, decide)


@pytest.mark.clause("G3.6.1")
def test_both_arms_beat_computing_anew(concurrency, measure, baseline, terms, decide):
    where, held, trial = cells(concurrency, terms, baseline)
    anew = trials.recomputed(where, where.arm("recompute"), concurrency.level)
    verdict = judging.ceiling(measure(trial), measure(anew), where, concurrency.level, held)
    decide(from_the_array(concurrency, verdict))
