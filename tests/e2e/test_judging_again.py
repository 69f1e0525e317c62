"""A stored run is judged again from its evidence alone: the same verdict for every clause, the same exit status, no host."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Run
from tests.e2e.site import Site, clauses, judged, outcomes

STATUS = {"passed": 0, "stopped": 1, "undecided": 6}


@pytest.mark.parametrize("which", list(STATUS))
def test_judging_again_by_id_gives_the_same_verdict_for_every_clause(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run: Run = request.getfixturevalue(which)
    again = tmp_path / "again.xml"
    ended = run.site.kvgate("judge", run.id, "--junitxml", str(again))
    assert ended.returncode == run.ended.returncode == STATUS[which], ended.stdout + ended.stderr
    assert judged(again) == judged(run.report) == outcomes(run.site.show(run.id))
    assert len(run.site.runs()) == 1


@pytest.mark.parametrize("which", list(STATUS))
def test_replaying_a_copied_folder_without_a_ledger_gives_the_same(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run: Run = request.getfixturevalue(which)
    journal = run.site.journal()
    assert journal is not None
    copy = shutil.copytree(journal.parent, tmp_path / "sent by mail" / "a run")
    again = tmp_path / "again.xml"
    nothing = ("--ledger", f"sqlite:///{tmp_path}/none.db", "--evidence", str(tmp_path / "none"))
    ended = run.site.pytest("-m", "G1", "--replay", str(copy), *nothing, "--junitxml", str(again), cwd=tmp_path)
    assert ended.returncode == STATUS[which], ended.stdout + ended.stderr
    assert judged(again) == judged(run.report)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.xml", "sent by mail"]


def test_a_changed_byte_of_evidence_is_never_judged(stopped: Run, tmp_path: Path) -> None:
    journal = stopped.site.journal()
    assert journal is not None
    copy = shutil.copytree(journal.parent, tmp_path / "copy")
    text = (copy / "journal.jsonl").read_text("utf-8")
    (copy / "journal.jsonl").write_text(text.replace('"status":0', '"status":1', 1), "utf-8")
    for ended in (
        stopped.site.kvgate("judge", str(copy)),
        stopped.site.pytest("-m", "G1", "--replay", str(copy), cwd=tmp_path),
    ):
        assert ended.returncode in (4, 6), ended.stdout
        assert "line" in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_changed_blob_decides_nothing_that_stood_on_it(passed: Run, tmp_path: Path) -> None:
    journal = passed.site.journal()
    assert journal is not None
    copy = shutil.copytree(journal.parent, tmp_path / "copy")
    for blob in (copy / "blobs").glob("*/*.gz"):
        raw = bytearray(blob.read_bytes())
        raw[-6] ^= 1  # a bit of its checksum
        blob.write_bytes(raw)
    ended = passed.site.kvgate("judge", str(copy), KVGATE_LEDGER=f"sqlite:///{tmp_path}/none.db")
    assert ended.returncode in (4, 6), ended.stdout
    assert "PASS ─" not in ended.stdout


def test_a_run_that_is_not_there_is_refused(passed: Run) -> None:
    ended = passed.site.kvgate("judge", "20200101T000000-00000000")
    assert ended.returncode == 4
    assert "wanted a run below" in ended.stderr


def test_runs_and_show_tell_the_same_story(stopped: Run) -> None:
    listed = stopped.site.kvgate("runs")
    assert listed.returncode == 0
    assert stopped.id in listed.stdout
    assert "STOP" in listed.stdout
    assert "(simulated)" in listed.stdout
    shown = stopped.site.kvgate("show", stopped.id[:17])
    assert "G1.2.9" in shown.stdout
    assert clauses(outcomes(stopped.site.show(stopped.id)), "STOP") == {"G1.2.9"}


def test_a_passed_run_whose_end_was_cut_off_does_not_pass_again(serve: Callable[..., Site]) -> None:
    site = serve()
    assert site.gate().returncode == 0
    (folder,) = site.evidence.iterdir()
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if b'"kind":"decision"' not in line))
    assert len(journal.read_bytes().splitlines()) < len(lines)
    again = site.kvgate("judge", str(folder), "--ledger", f"sqlite:///{site.folder}/none.db")
    assert again.returncode == 6
    assert "no decision" in again.stdout + again.stderr
