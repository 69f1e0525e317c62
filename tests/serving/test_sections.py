"""Sections: whole or refused, and nothing that a tool prints can begin another one."""

from __future__ import annotations

import subprocess

import pytest

from checks.probe import UnreadableOutput
from checks.serving.sections import SHOW, Section, parse


def test_a_shell_prints_what_is_read_back() -> None:
    script = f"{SHOW} show one printf '== 0 two\\nplain'; show bad sh -c 'echo no >&2; exit 7'; echo '== end'"
    text = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert parse(text) == {"one": Section(0, "== 0 two\nplain\n"), "bad": Section(7, "no\n")}


@pytest.mark.parametrize(
    "text",
    [
        "", "== 0 one\n| x\n", "== end extra\n", "loose\n== end\n", "== 0 a\n| x\n== 0 a\n| y\n== end\n", "== 0 a\nbare\n== end\n",
        "| before any section\n== end\n",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UnreadableOutput):
        parse(text)


def test_a_tool_that_says_nothing_is_not_good() -> None:
    assert not parse("== 0 a\n== end\n")["a"].good
    assert not parse("== 1 a\n| x\n== end\n")["a"].good
    assert parse("== 0 a\n| x\n== end\n")["a"].good
