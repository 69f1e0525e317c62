"""A limit decides at the bound, one step below and one above; what is no number decides nothing."""

from __future__ import annotations

import math

import pytest

from checks import bounds
from checks.verdict import Outcome, Quantity, Verdict

NO_NUMBERS = (None, math.nan, math.inf, -math.inf, "7", "", True, False, [7], 7j)


def outcome(verdict: Verdict) -> str:
    return verdict.outcome.value


@pytest.mark.parametrize(
    ("value", "wanted"), [(6, "PASS"), (7, "PASS"), (8, "STOP"), (7.001, "STOP"), (-1, "PASS"), (0, "PASS")]
)
def test_at_most(value: float, wanted: str) -> None:
    assert outcome(bounds.at_most("errors", value, 7)) == wanted


@pytest.mark.parametrize(("value", "wanted"), [(6, "STOP"), (7, "PASS"), (8, "PASS"), (6.999, "STOP"), (0, "STOP")])
def test_at_least(value: float, wanted: str) -> None:
    assert outcome(bounds.at_least("spare", value, 7)) == wanted


@pytest.mark.parametrize(("value", "wanted"), [(6, "STOP"), (7, "PASS"), (7.0, "PASS"), (8, "STOP"), (0, "STOP")])
def test_exactly(value: float, wanted: str) -> None:
    assert outcome(bounds.exactly("lanes", value, 7)) == wanted


@pytest.mark.parametrize("compare", [bounds.at_most, bounds.at_least, bounds.exactly])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_decides_nothing(compare: object, value: object) -> None:
    verdict = compare("errors", value, 0)  # type: ignore[operator]
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.quantities == ()
    assert "errors" in str(verdict.note)
    assert "0" in str(verdict.required)


def test_the_measured_number_is_kept_with_its_unit() -> None:
    verdict = bounds.at_most("temperature", 71.5, 70, "C")
    assert verdict.quantities == (Quantity("temperature", 71.5, "C"),)
    assert (str(verdict.measured), str(verdict.required)) == ("71.5 C", "at most 70 C")


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (0.0, "0"), (1000, "1,000"), (1000.0, "1,000"), (0.5, "0.5"), (100, "100")]
)
def test_numbers_are_shown_whole(value: float, shown: str) -> None:
    assert str(bounds.at_most("x", value, 10**9).measured) == shown


def test_two_different_numbers_are_never_shown_alike() -> None:
    verdict = bounds.at_most("ratio", 0.0004, 0.0003)
    assert outcome(verdict) == "STOP"
    assert str(verdict.measured) not in str(verdict.required)


def test_text_is_compared_whole() -> None:
    assert outcome(bounds.same_text("firmware", " GDC5902Q ", "GDC5902Q")) == "PASS"
    assert outcome(bounds.same_text("firmware", "GDC5902", "GDC5902Q")) == "STOP"
    assert outcome(bounds.same_text("firmware", "gdc5902q", "GDC5902Q")) == "STOP"


@pytest.mark.parametrize("value", [None, "", "  ", "\n"])
def test_text_that_is_absent_decides_nothing(value: str | None) -> None:
    assert outcome(bounds.same_text("firmware", value, "GDC5902Q")) == "UNDECIDED"
    assert outcome(bounds.one_of("state", value, ("up",))) == "UNDECIDED"


def test_a_word_that_is_neither_good_nor_bad_decides_nothing() -> None:
    assert outcome(bounds.one_of("state", "up", ("up",), ("down",))) == "PASS"
    assert outcome(bounds.one_of("state", "down", ("up",), ("down",))) == "STOP"
    assert outcome(bounds.one_of("state", "sideways", ("up",), ("down",))) == "UNDECIDED"
    assert outcome(bounds.one_of("state", "sideways", ("up",))) == "STOP"
    assert outcome(bounds.one_of("state", "u", ("up",))) == "STOP"
