"""Restored answers against computed ones: noise is allowed to be noise, corruption never, silence decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checks.serving.answers import Canary, corrupt, same_answers
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
TEXT = "the quick brown fox jumps over the lazy dog and runs away"


def canaries(
    count: int = 32, noise: int = 0, restored: int = 0, stored: int = 0, corrupted: Sequence[str] = ()
) -> list[Canary]:
    """The first so many of each kind differ late in the answer; every kind on other prompts."""
    found = []
    for number in range(count):
        text = f"{TEXT} {number}"
        again = f"{text} today" if number < noise else text
        late = noise <= number < noise + restored
        late_stored = noise + restored <= number < noise + restored + stored
        found.append(
            Canary(
                prompt=f"p{number}", computed=text, computed_again=again,
                stored=f"{text} hence" if late_stored else text, restored=f"{text} gladly" if late else text,
                restored_hits=1024,
            )
        )  # fmt: skip
    for place, text in enumerate(corrupted, start=1):
        found[-place] = replace(found[-place], restored=text)
    return found


@pytest.mark.parametrize(
    "noise, restored, stored, outcome",
    [
        (0, 0, 0, PASS), (3, 0, 0, PASS), (3, 3, 0, PASS), (3, 0, 3, PASS), (3, 3, 3, PASS),
        (3, 4, 0, UNDECIDED), (0, 1, 0, UNDECIDED), (0, 4, 0, UNDECIDED), (0, 5, 0, STOP), (0, 0, 5, STOP), (2, 12, 0, STOP),
        (6, 0, 0, PASS), (7, 0, 0, UNDECIDED),
    ],
)  # fmt: skip
def test_mismatches_against_the_engines_own_noise(noise: int, restored: int, stored: int, outcome: Outcome) -> None:
    verdict = same_answers(canaries(noise=noise, restored=restored, stored=stored))
    assert verdict.outcome is outcome, f"{verdict.measured} {verdict.note}"
    assert f"{restored} differ when restored" in str(verdict.measured)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   ",
        "a quick brown fox",
        "the \ufffd\ufffd brown fox",
        "the the the the the the the the the",
        "other request's text",
    ],
)
def test_one_corrupt_answer_stops_it(answer: str) -> None:
    verdict = same_answers(canaries(count=64, noise=6, corrupted=[answer]))
    assert verdict.outcome is STOP
    assert "1 of 64 restored answers corrupt: p63" in str(verdict.measured)


def test_many_corrupt_answers_are_counted() -> None:
    assert "9 of 32 restored answers corrupt" in str(same_answers(canaries(corrupted=[""] * 9)).measured)
    assert "and 5 more" in str(same_answers(canaries(corrupted=[""] * 9)).measured)


@pytest.mark.parametrize(
    "canary, is_corrupt",
    [
        (Canary("p", "a b c", "a b c", "a b c", "a b d", 1), False),
        (Canary("p", "a b c", "x b c", "a b c", "x b d", 1), False),  # the second computation began so as well
        (Canary("p", "a b c", "a b c", "a b c", None, 1), False),
        (Canary("p", None, None, None, "x", 1), False),
        (Canary("p", "", "", "", "", 1), False),
        (Canary("p", "", "", "", "x y", 1), False),
        (Canary("p", "no " * 9, "no " * 9, "no " * 9, "no " * 10, 1), False),  # the model is stuck by itself
        (Canary("p", "a b", "a b", "a b", "b a", 1), True),
        (Canary("p", "a \ufffd", "a \ufffd", "a", "a \ufffd", 1), False),
    ],
)
def test_what_counts_as_corrupt(canary: Canary, is_corrupt: bool) -> None:
    assert corrupt(canary) is is_corrupt


@pytest.mark.parametrize("field", ["computed", "computed_again", "stored", "restored"])
def test_a_canary_that_was_not_answered_decides_nothing(field: str) -> None:
    found = canaries()
    found[4] = replace(found[4], **{field: None})
    verdict = same_answers(found)
    assert verdict.outcome is UNDECIDED
    assert "1 of 32 canaries were not answered each time: p4" in str(verdict.note)


@pytest.mark.parametrize("hits", [0, None])
def test_an_answer_that_did_not_come_from_the_store_proves_nothing(hits: int | None) -> None:
    found = canaries()
    found[4] = replace(found[4], restored_hits=hits)
    verdict = same_answers(found)
    assert verdict.outcome is UNDECIDED
    assert "not shown to come from the store: p4" in str(verdict.note)


@pytest.mark.parametrize("count, outcome", [(32, PASS), (31, UNDECIDED), (0, UNDECIDED)])
def test_enough_canaries_are_needed(count: int, outcome: Outcome) -> None:
    assert same_answers(canaries(count=count)).outcome is outcome


def test_one_prompt_asked_often_is_one_canary() -> None:
    assert same_answers([canaries()[0]] * 40).outcome is UNDECIDED
