"""Long work tells how far it is: rewritten on a terminal, whole lines elsewhere, and never more often than people read."""

from __future__ import annotations

import io

import pytest

from kvgate.reports.steps import Steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_LANG", "en")


def test_elsewhere_each_telling_is_a_line_with_what_is_left() -> None:
    stream = io.StringIO()
    steps = Steps(stream, every=0.0)
    steps.total = 4
    for done in (1, 2):
        steps("evidence", done)
    steps.end()
    first, second = stream.getvalue().splitlines()
    assert first.startswith("evidence: 1 of 4, ")
    assert second.startswith("evidence: 2 of 4, ")
    assert second.endswith(" s left")


def test_without_a_total_nothing_is_promised() -> None:
    stream = io.StringIO()
    Steps(stream, every=0.0)("certificates", 3)
    assert stream.getvalue().startswith("certificates: 3, ")
    assert "left" not in stream.getvalue()


def test_a_terminal_keeps_one_line_and_no_half_of_it() -> None:
    stream = Terminal()
    steps = Steps(stream, every=0.0)
    steps("ledger", 1)
    steps.end()
    assert stream.getvalue().startswith("\r\x1b[Kledger: 1")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_it_is_silent_where_the_work_is_short() -> None:
    stream = io.StringIO()
    steps = Steps(stream)
    for done in range(1000):
        steps("ledger", done)
    steps.end()
    assert stream.getvalue() == ""
