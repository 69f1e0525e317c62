"""Sentences wrap to the width of the terminal in every language."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from kvgate.reports.wrapping import Sentence

CONSOLE = Console(file=io.StringIO(), width=40)


def wrapped(text: str, width: int) -> list[str]:
    return [line.plain for line in Sentence(text).wrap(CONSOLE, width)]


def test_chinese_breaks_between_characters() -> None:
    assert wrapped("请供应商更换硬盘：新盘不应有介质错误", 16) == ["请供应商更换硬", "盘：新盘不应有介", "质错误"]


def test_no_line_begins_with_a_closing_mark() -> None:
    for width in range(12, 40):
        lines = wrapped("检查风扇（前后）、挡板；然后，重新读取。重启（reboot），再看。", width)
        assert not [line for line in lines if line[0] in "，。；：、）"], width


def test_words_stay_whole() -> None:
    assert wrapped("用 nvme device-self-test 自检", 12) == ["用 nvme", "device-self-", "test 自检"]
    assert wrapped("clean both fibre ends", 10) == ["clean both", "fibre ends"]


@pytest.mark.parametrize("text", ["", "a\n\nb", " x "])
def test_edges(text: str) -> None:
    assert "".join(wrapped(text, 10)).strip() == text.replace("\n", "").strip()


@given(st.text(alphabet="ab 通道，。（）x-", max_size=60), st.integers(4, 30))
@settings(max_examples=80)
def test_nothing_is_lost_and_nothing_is_too_wide(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cell_len(line) <= width for line in lines)
