"""A probe that cannot be sent is refused where it is written, not on the rack."""

from __future__ import annotations

import pytest

from checks.probe import Probe


@pytest.mark.parametrize("word", ["two\nlines", "carriage\rreturn", "nul\0"])
def test_words_that_no_command_line_can_carry_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match="wanted one line"):
        Probe("x", ("sh", "-c", word), str)


@pytest.mark.parametrize(("name", "argv"), [("a name", ("true",)), ("", ("true",)), ("x", ())])
def test_a_probe_has_a_name_and_a_tool(name: str, argv: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"wanted|must be"):
        Probe(name, argv, str)
