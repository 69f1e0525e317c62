"""What speaks of the computer is skipped in the short form; what the rack says wrongly fails, however slow the computer is."""

from __future__ import annotations

import ast
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kvgate
from lab.vm.rack import NoRack, Rack
from tests.rack import computer
from tests.rack.computer import TooSlow, excused, held_up, late, of_the_computer, until, upset

STARVED = {"G1.1.50": "a processor was stopped", "G1.3.9": "an answer came late"}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer, "SHORT_FORM", True)


def _texts(module: ast.Module) -> Iterator[str]:
    """Every text that a limit that ran out, or a lost connection, is told with in a module."""
    functions = {one.name: one for one in ast.walk(module) if isinstance(one, ast.FunctionDef)}
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("TimedOut", "LinkLost"):
            told = call.args[0]
            named = functions.get(getattr(told.func, "id", "")) if isinstance(told, ast.Call) else None
            given = [one.value for one in ast.walk(named) if isinstance(one, ast.Return)] if named else [told]
            for one in given:
                assert isinstance(one, ast.Call), ast.dump(call)
                assert isinstance(one.args[0], ast.Constant), ast.dump(call)
                yield str(one.args[0].value)


def test_every_reason_of_a_limit_that_ran_out_or_a_lost_connection_is_known() -> None:
    files = Path(kvgate.__file__).parent.rglob("*.py")
    said = [text for file in files for text in _texts(ast.parse(file.read_text("utf-8")))]
    assert len(said) > 10
    assert [text for text in said if not late(text)] == []


@pytest.mark.parametrize(
    ("error", "ended", "why"),
    [
        (TooSlow("a minute"), (), "too slow for the virtual rack now: a minute"),
        (NoRack("array ended"), (), "too slow for the virtual rack now: array ended"),
        (subprocess.TimeoutExpired(["ssh"], 9), (), "timed out after 9 seconds"),
        (AssertionError("PASS, wanted STOP"), ("node",), "node ended while it was tested"),
        (AssertionError("PASS, wanted STOP"), (), None),
        (KeyError("x"), (), None),
    ],
)  # fmt: skip
def test_an_error_speaks_of_the_computer_or_of_what_was_tested(
    error: Exception, ended: tuple[str, ...], why: str | None
) -> None:
    found = of_the_computer(error, ended)
    assert found is None if why is None else why in str(found)


def _failed() -> pytest.TestReport:
    where = ("tests/rack/test_x.py", 3, "test_x")
    return pytest.TestReport("x", where, {}, "failed", "E", "call")


@pytest.mark.usefixtures("short")
def test_in_the_short_form_the_one_is_skipped_and_the_other_fails(tmp_path: Path) -> None:
    for error, outcome in ((TooSlow("a minute"), "skipped"), (AssertionError("wrong"), "failed")):
        report = _failed()
        excused(report, error, Rack.of(tmp_path))
        assert report.outcome == outcome
    report = _failed()
    excused(report, TooSlow("a minute"), Rack.of(tmp_path))
    why = "Skipped: this computer is too slow for the virtual rack now: a minute"
    assert report.longrepr == ("tests/rack/test_x.py", 4, why)


def test_in_the_long_form_nothing_is_excused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer, "SHORT_FORM", False)
    report = _failed()
    excused(report, TooSlow("a minute"), Rack.of(tmp_path))
    assert report.outcome == "failed"
    held_up(["node: fio did not end within 9 s"])
    upset({("G1.3.9", "node"): "found STOP"}, STARVED, lambda place: place[0])


@pytest.mark.usefixtures("short")
def test_only_what_time_alone_can_upset_is_laid_on_the_computer() -> None:
    held_up(["node: fio is not installed"])
    with pytest.raises(TooSlow, match="did not end within 9 s"):
        held_up(["node: fio is not installed", "node: fio did not end within 9 s"])
    upset({}, STARVED, lambda place: place[0])
    upset({("G1.3.9", "node"): "found STOP", ("G1.2.1", "x"): "found STOP"}, STARVED, lambda place: place[0])
    with pytest.raises(TooSlow, match=r"an answer came late \(G1.3.9: found STOP\)"):
        upset({("G1.3.9", "node"): "found STOP"}, STARVED, lambda place: place[0])


def test_what_never_comes_is_wrong_unless_the_machine_is_slow_to_do_nothing() -> None:
    until(lambda: True, 0, lambda: None, "it holds")
    with pytest.raises(AssertionError, match="it holds: not within 0 s"):
        until(lambda: False, 0, lambda: None, "it holds")
    with pytest.raises(TooSlow, match="to do nothing"):
        until(lambda: False, 0, lambda: time.sleep(0.01), "it holds", prompt=0.001)
