"""The judgement is shown to see before its verdict counts, and what makes it blind is not passed over."""

from __future__ import annotations

from dataclasses import replace

from checks.phrase import say
from checks.serving import sensitivity
from checks.verdict import Outcome, Verdict
from tests.serving.experiment import held, site, terms


def test_too_small_a_drop_is_stopped_and_a_large_one_passes_at_every_concurrency() -> None:
    for concurrency in (8, 16, 32):
        found = sensitivity.sees(site(), concurrency, held(), 20.0, 30.0, 25.0)
        assert found.outcome is Outcome.PASS, found.note


def test_the_agreed_numbers_lie_on_both_sides_of_the_agreed_drop() -> None:
    assert terms()["small"] < terms()["least"] < terms()["large"]


def test_limits_that_let_nothing_decide_make_the_clause_undecided() -> None:
    found = sensitivity.sees(site(), 8, held(width=0.001), 20.0, 30.0, 25.0)
    assert found.outcome is Outcome.UNDECIDED
    assert "points wide" in str(found.note)


def test_a_judgement_that_passes_a_small_drop_is_no_judgement() -> None:
    assert sensitivity.sees(site(), 8, held(), 26.5, 30.0, 25.0).outcome is Outcome.UNDECIDED


def test_a_verdict_counts_only_where_the_judgement_sees() -> None:
    good = Verdict.of(True, "-27 %", "-25 %")
    blind = Verdict.undecided(say("blind"))
    assert sensitivity.backed(good, Verdict.of(True, "seen", "")).outcome is Outcome.PASS
    assert sensitivity.backed(good, blind).outcome is Outcome.UNDECIDED
    assert sensitivity.backed(Verdict.of(False, "-1 %", "-25 %"), blind).outcome is Outcome.UNDECIDED


def test_an_inventory_cannot_ask_for_fewer_rounds_than_agreed() -> None:
    where = site(rounds=1)
    assert held(where).rules.rounds == terms()["rounds"]
    assert sensitivity.sees(where, 8, held(where), 20.0, 30.0, 25.0).outcome is Outcome.UNDECIDED
    assert held(replace(where, rounds=7)).rules.rounds == 7
