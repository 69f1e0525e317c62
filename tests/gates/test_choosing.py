"""What can be typed to choose a part of a gate: clause ids are meant exactly, and a command line is known early."""

from __future__ import annotations

import pytest

from kvgate.errors import NotAllowed
from kvgate.gate import selection
from kvgate.gate.options import typed

CLAUSES = ("G1.2.1", "G1.2.10", "G1.2.9", "G1.11.1")


def chosen(expression: str) -> set[str]:
    """Clauses whose test pytest's own matcher chooses."""
    from _pytest.mark import KeywordMatcher
    from _pytest.mark.expression import Expression

    compiled = Expression.compile(selection.exact(expression, CLAUSES))
    names = {clause: {f"test_it[node-01:{clause[-1]}]", *selection.keywords(clause)} for clause in CLAUSES}
    return {clause for clause in CLAUSES if compiled.evaluate(KeywordMatcher(names[clause]))}


@pytest.mark.parametrize(
    ("expression", "clauses"),
    [
        ("G1.2.1", {"G1.2.1"}),
        ("g1.2.10", {"G1.2.10"}),
        ("G1.2", {"G1.2.1", "G1.2.10", "G1.2.9"}),
        ("G1.1", None),
        ("G1.11", {"G1.11.1"}),
        ("G1.2.1 or G1.11.1", {"G1.2.1", "G1.11.1"}),
        ("G1.2 and not G1.2.9", {"G1.2.1", "G1.2.10"}),
        ("not (G1.2.1)", {"G1.2.10", "G1.2.9", "G1.11.1"}),
        ("test_it", set(CLAUSES)),
        ("[G1.2.9]", {"G1.2.9"}),
        ("no_such_name", set()),
    ],
)
def test_a_clause_id_chooses_its_clause_and_a_section_id_its_section(expression: str, clauses: set[str] | None) -> None:
    if clauses is None:
        with pytest.raises(NotAllowed, match=r"found -k G1\.1, wanted a clause or section"):
            chosen(expression)
    else:
        assert chosen(expression) == clauses


@pytest.mark.parametrize("unknown", ["G1.2.99", "G1.9", "G2.1.1", "G1.2.9 or G1.2.11"])
def test_an_id_that_no_clause_has_is_named_and_not_ignored(unknown: str) -> None:
    with pytest.raises(NotAllowed, match="kvgate explain"):
        selection.exact(unknown, CLAUSES)


@pytest.mark.parametrize(
    ("words", "gate"),
    [
        (("-m", "G1", "--inventory", "x.yaml"), True),
        (("-q", "-mG1"), True),
        (("-m", " G1 "), True),
        (("-m", "not G1"), False),
        (("-m",), False),
        (("tests", "-k", "G1"), False),
        (("judge", "G1"), False),
        ((), False),
    ],
)
def test_a_gate_is_recognised_on_a_command_line(words: tuple[str, ...], gate: bool) -> None:
    assert typed(words) is gate
