"""A process that dies before its journal has a first line leaves nothing that stands in the way of anybody."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from kvgate.errors import NotAllowed
from kvgate.evidence.store import unbegun
from kvgate.gate.start import begin
from kvgate.gate.stored import running
from tests.campaign.conftest import site
from tests.campaign.sample import Site
from tests.invoking import invoked

__all__ = ["site"]

LEFT = ("blobs", "folder", "empty journal", "half a line")


def died_early(site: Site, left: str) -> Path:
    """Begin a run and leave what a kill -9 leaves between making its folder and the end of its journal's first line."""
    session = begin(site.prepared("G1")).session
    assert session.evidence is not None
    session.evidence.close()
    folder = session.evidence.path
    journal = folder / "journal.jsonl"
    raw = journal.read_bytes()
    journal.unlink()
    if left == "folder":
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    elif left != "blobs":
        journal.write_bytes(raw[: len(raw) // 2] if left == "half a line" else b"")
    return folder


@pytest.mark.parametrize("left", LEFT)
def test_it_is_not_taken_for_running_and_can_be_taken_up_again(site: Site, left: str) -> None:
    died_early(site, left)
    run = site.last()
    assert not running(run)
    again = site.begin("G1", only_stale=True)
    site.judge(again, {})
    again.finish()
    assert again.trouble == []
    assert site.last().id == run.id
    assert site.ledger.outcome(site.last()).decided


@pytest.mark.parametrize("left", LEFT)
def test_it_can_be_closed_by_the_command_that_is_named(site: Site, left: str) -> None:
    died_early(site, left)
    done = invoked("close", site.last().id, "--reason", "killed", "--ledger", site.url)
    assert done.exit_code == 0, done.output
    assert site.why("G1") == []


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    unbegun(tmp_path / "run")
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    unbegun(tmp_path / "no-such-folder")


def test_a_run_that_another_process_is_just_beginning_is_left_alone(site: Site) -> None:
    folder = died_early(site, "empty journal")
    with (folder / "journal.jsonl").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(NotAllowed, match="another process is beginning the run"):
            site.begin("G1", only_stale=True)
    assert (folder / "journal.jsonl").exists()
