"""``kvgate report``: one page that says what was decided, why, and where the bytes are; it needs no network and no host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.conftest import Run


def text_of(html: str) -> str:
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def reported(run: Run, target: Path, *more: str, lang: str = "en") -> str:
    done = run.site.kvgate("report", run.id, "--html", str(target), "--lang", lang, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return target.read_text("utf-8")


def test_a_stop_says_what_was_measured_what_is_wanted_and_what_to_do(stopped: Run, tmp_path: Path) -> None:
    html = reported(stopped, tmp_path / "g1.html")
    said = text_of(html)
    first = said.index("Verdicts, worst first")
    stop = said.index("STOP", first)
    assert stop < said.index("PASS", first + 30), "worst first"
    for wanted in ("G1 embedded", "SIMULATED", "G1.2.", "media errors", stopped.id, "what to do", "smart-log"):
        assert wanted in said, wanted
    assert re.search(r"E\d+", said)


def test_the_head_says_attempt_start_operator_and_tells_advisory_apart(stopped: Run, tmp_path: Path) -> None:
    html = reported(stopped, tmp_path / "g1.html")
    said = text_of(html)
    assert re.search(r"attempt 1( of \d+)? started \(UTC\) 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d operator \S+", said)
    assert re.search(r"verdicts blocking: PASS \d+, STOP \d+, UNDECIDED \d+; advisory: PASS \d+", said)


def test_what_passed_is_folded_and_empty_columns_are_left_out(stopped: Run, tmp_path: Path) -> None:
    html = reported(stopped, tmp_path / "g1.html")
    folded = html.index("<details><summary>PASS: ")
    assert html.index('<td class="STOP">') < folded < html.index('<td class="PASS">')
    heads = html[folded : html.index("</tr>", folded)]
    assert "what to do" not in heads
    assert "what to do" in html[:folded]
    assert "beforeprint" in html


def test_the_page_asks_nobody_for_anything(stopped: Run, tmp_path: Path) -> None:
    html = reported(stopped, tmp_path / "g1.html")
    assert not re.findall(r"<(?:script|img|iframe)[^>]+src=|<link\b|@import|url\(", html)


def test_the_page_reads_chinese(stopped: Run, tmp_path: Path) -> None:
    said = text_of(reported(stopped, tmp_path / "g1.html", lang="zh"))
    assert "结论（最差在前）" in said
    assert "Verdicts" not in said


def test_several_runs_stand_on_one_page(stopped: Run, passed: Run, tmp_path: Path) -> None:
    target = tmp_path / "both.html"
    folders = [str(run.site.evidence / run.id) for run in (stopped, passed)]
    done = stopped.site.kvgate("report", *folders, "--html", str(target))
    assert done.returncode == 0, done.stdout + done.stderr
    said = text_of(target.read_text("utf-8"))
    assert said.count("G1 embedded") >= 2
    assert stopped.id in said
    assert passed.id in said


@pytest.mark.parametrize("target", ["no/such/folder/g1.html", "."])
def test_a_page_that_cannot_be_written_is_a_refusal(stopped: Run, tmp_path: Path, target: str) -> None:
    done = stopped.site.kvgate("report", stopped.id, "--html", str(tmp_path / target))
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_an_unknown_run_is_a_refusal(stopped: Run, tmp_path: Path) -> None:
    done = stopped.site.kvgate("report", "19990101", "--html", str(tmp_path / "g1.html"))
    assert done.returncode == 4
    assert not (tmp_path / "g1.html").exists()


def test_without_a_file_it_is_shown_in_the_terminal(stopped: Run) -> None:
    done = stopped.site.kvgate("report", stopped.id)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "G1 embedded: STOP" in done.stdout
    assert "G1.2." in done.stdout
    assert "(--all)" in done.stdout
    assert "smart-log" not in done.stdout, "the index of answers is for whoever asks for --all"
