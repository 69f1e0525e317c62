"""Verdicts and phrases go through JSON unchanged; what is not one is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.phrase import Phrase, say
from checks.verdict import Outcome, Quantity, Verdict
from kvgate.codec import (
    canonical,
    digest,
    parse_object,
    phrase_from_json,
    phrase_to_json,
    printable,
    verdict_from_json,
    verdict_to_json,
)  # fmt: skip

_plain = st.one_of(st.text(max_size=8), st.integers(), st.floats(), st.booleans())
_names = st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=4)


def phrases(depth: int = 1) -> st.SearchStrategy[Phrase]:
    value = st.one_of(_plain, phrases(depth - 1)) if depth else _plain
    return st.builds(Phrase, st.text(max_size=12), st.lists(st.tuples(_names, value), max_size=3).map(tuple))


VERDICTS = st.builds(
    Verdict,
    st.sampled_from(Outcome),
    phrases(),
    phrases(),
    st.text(max_size=4),
    st.none() | phrases(),
    st.lists(
        st.builds(Quantity, st.text(max_size=4), st.floats() | st.integers(), st.text(max_size=4)), max_size=3
    ).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(VERDICTS)
def test_a_verdict_comes_back_as_it_was(verdict: Verdict) -> None:
    text = canonical(verdict_to_json(verdict))
    again = verdict_from_json(parse_object(text))
    assert repr(again) == repr(verdict)
    assert canonical(verdict_to_json(again)) == text
    assert text.isascii()


def test_canonical_does_not_depend_on_order_and_refuses_what_is_no_json() -> None:
    assert canonical({"b": 1, "a": [True, None, "é"]}) == '{"a":[true,null,"\\u00e9"],"b":1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical(float("nan"))


@pytest.mark.parametrize(
    "text", ["", "[]", "4", '{"a":1,"a":2}', '{"a":NaN}', '{"a":Infinity}', "{", "[" * 100_000, '{"a":' * 100_000]
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any reason will do
        parse_object(text)


GOOD = verdict_to_json(Verdict.of(True, say("x{n}", n=4), "x4", quantities=(Quantity("n", 4, ""),)))


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "pass"}, {"outcome": None}, {"measured": "x4"}, {"measured": {"text": 4, "values": []}}, {"unit": 4},
        {"measured": {"text": "", "values": [["n"]]}}, {"measured": {"text": "", "values": [[4, 4]]}},
        {"measured": {"text": "", "values": [["n", None]]}}, {"measured": {"text": "", "values": [["n", {"float": "4"}]]}},
        {"measured": {"text": "", "values": {}}}, {"quantities": [["n", "4", ""]]}, {"quantities": [["n", True, ""]]},
        {"quantities": [["n", 4]]}, {"more": 1},
    ],
)  # fmt: skip
def test_what_is_no_verdict_is_refused(change: dict[str, object]) -> None:
    assert verdict_from_json(json.loads(json.dumps(GOOD))).outcome is Outcome.PASS
    with pytest.raises(ValueError):  # noqa: PT011 - any reason will do
        verdict_from_json({**GOOD, **change})


def test_a_missing_field_is_refused() -> None:
    for name in GOOD:
        with pytest.raises(ValueError, match="wanted an object"):
            verdict_from_json({key: value for key, value in GOOD.items() if key != name})


def test_a_phrase_keeps_its_template_for_translation() -> None:
    phrase = say("{count} of {what}", count=2, what=say("links"))
    again = phrase_from_json(json.loads(json.dumps(phrase_to_json(phrase))))
    assert again.render({"links": "链路", "{count} of {what}": "{what}: {count}"}.__getitem__) == "链路: 2"


def test_text_for_columns_has_no_character_that_a_database_refuses() -> None:
    assert printable(say("{x}", x="a\0b\ud800c")) == "a\N{REPLACEMENT CHARACTER}b?c"
    assert printable(None) == ""
    assert digest("é") == digest("é".encode())
