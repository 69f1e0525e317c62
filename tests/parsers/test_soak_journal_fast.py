"""The short way of reading a journal's line takes nothing that the long way refuses, and reads it to the same line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.parsers.soak_journal import _anyhow, _as_written
from checks.probe import UnreadableOutput
from lab.soak.journal import segments
from lab.soak.plan import plan

LINES = [
    line
    for text in segments(plan("node-01", "node", 0.3, 960, 60), 3)
    for line in text.splitlines()
    if '"kind":"sample"' in line or '"kind":"event"' in line
]


def agree(raw: str) -> bool:
    """Hold the short way to the long one; tells whether it took the line."""
    short = _as_written(raw)
    if short is not None:
        assert short == _anyhow(raw, 1)
    return short is not None


def test_it_takes_every_sample_and_event_that_a_worker_writes() -> None:
    assert len(LINES) > 100
    assert all(map(agree, LINES))


@pytest.mark.parametrize(
    "values",
    [
        '{"a":{"x":1,"x":2}}', '{"a":{"x":1},"a":{"x":2}}', '{"a":{"x":1,"x" :2}}', '{"a":{"x\\\\":1,"x\\\\":2}}',
        '{"a":[1]}', '{"a":{"x":[1]}}',
        '{"a":{"x":NaN}}', '{"a":{"x":1e999}}', '{"a":{"x":1e301}}', '{"a":{"x":{}}}', '[]', '{}},"seq":9,"values":{}', '{"a":1}',
        '{"a":{"x":1}}}', '{"a":{"x":1} ', '{"a":{"x":"\n"}}', '{"a":{"x":"\\ud800"}}',
    ],
)  # fmt: skip
def test_what_the_long_way_refuses_it_does_not_take(values: str) -> None:
    head, _, _ = LINES[0].partition('"values":')
    raw = f'{head}"values":{values}}}'
    try:
        _anyhow(raw, 1)
    except UnreadableOutput:
        assert _as_written(raw) is None
    else:
        agree(raw)


def test_a_text_that_looks_like_keys_is_a_text() -> None:
    head, _, _ = LINES[0].partition('"values":')
    for text in ('{"x":1,"x":2}', 'a\\":b', '\\', '"', '":', '\\\\":', 'é":'):  # fmt: skip
        raw = f'{head}"values":{json.dumps({"a": {"x": text, text: 1}})}}}'.replace('": ', '":').replace(", ", ",")
        if agree(raw):
            assert _as_written(raw)[0].values["a"]["x"] == text


WORDS = st.sampled_from([
    '"', "\\", ":", ",", "{", "}", "null", "1", "-1", "1e5", "0.5", "true", "NaN", "[", "]",
    " ", "\t", "e", '"seq":', '"tick":', "é", "\\u0022",
])  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(LINES), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), WORDS), min_size=1, max_size=4))
def test_however_a_line_is_changed_both_ways_agree(line: str, changes: list[tuple[float, int, str]]) -> None:
    for place, away, word in changes:
        at = int(place * len(line))
        line = line[:at] + word + line[at + away :]
    if _as_written(line) is not None:
        agree(line)


JSON: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=6), st.dictionaries(st.text(max_size=6), JSON, max_size=4), max_size=3))
def test_whatever_values_are_written_both_ways_agree(values: dict[str, dict[str, Any]]) -> None:
    head, _, _ = LINES[0].partition('"values":')
    agree(f'{head}"values":{json.dumps(values, sort_keys=True, separators=(",", ":"))}}}')
