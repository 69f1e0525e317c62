"""The page of results is written as it goes, survives a line that was cut short, and says what a run that goes on may leave out."""

from __future__ import annotations

from pathlib import Path

from tests.rack.report import Part, Report


def test_the_last_word_on_each_test_counts_and_only_what_passed_is_left_out(tmp_path: Path) -> None:
    report = Report(tmp_path / "kept")
    report.begin()
    for part in (
        Part("a", "failed", 3.4, ()),
        Part("b", "passed", 61.0, ("two\nlines",)),
        Part("c", "skipped", 0.1, ()),
    ):
        report.add(part)
    assert report.passed() == {"b"}
    report.add(Part("a", "passed", 5.0, ("well",)))
    assert report.passed() == {"a", "b"}
    page = (tmp_path / "kept" / "report.md").read_text("utf-8").splitlines()
    assert page[4:] == ["| a | passed | 5 s | well |", "| b | passed | 61 s | two lines |", "| c | skipped | 0 s |  |"]


def test_a_line_that_was_cut_short_is_a_test_that_is_run_again(tmp_path: Path) -> None:
    report = Report(tmp_path)
    report.add(Part("a", "passed", 1.0, ()))
    with (tmp_path / "parts.jsonl").open("a") as file:
        file.write('{"name": "b", "outcome": "pas')
    assert report.passed() == {"a"}
    report.add(Part("c", "passed", 1.0, ()))
    assert report.passed() == {"a", "c"}
    report.begin()
    assert report.parts() == ()
