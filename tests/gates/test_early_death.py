"""A process that dies before its journal has a first line leaves nothing that stands in the way of anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate.evidence.store import unbegun
from kvgate.gate.stored import running
from tests.campaign.conftest import site
from tests.campaign.sample import Site
from tests.invoking import invoked

__all__ = ["site"]


def died_early(site: Site, *, blobs: bool) -> Path:
    """Begin a run and leave what a kill -9 leaves between making its folder and its journal."""
    session = site.begin("G1")
    assert session.evidence is not None
    session.evidence.close()
    folder = session.evidence.path
    (folder / "journal.jsonl").unlink()
    if not blobs:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    return folder


@pytest.mark.parametrize("blobs", [True, False])
def test_it_is_not_taken_for_running_and_can_be_taken_up_again(site: Site, blobs: bool) -> None:
    died_early(site, blobs=blobs)
    run = site.last()
    assert not running(run)
    again = site.begin("G1", only_stale=True)
    site.judge(again, {})
    again.finish()
    assert again.trouble == []
    assert site.last().id == run.id
    assert site.ledger.outcome(site.last()).decided


@pytest.mark.parametrize("blobs", [True, False])
def test_it_can_be_closed_by_the_command_that_is_named(site: Site, blobs: bool) -> None:
    died_early(site, blobs=blobs)
    done = invoked("close", site.last().id, "--reason", "killed", "--ledger", site.url)
    assert done.exit_code == 0, done.output
    assert site.why("G1") == []


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    unbegun(tmp_path / "run")
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    unbegun(tmp_path / "no-such-folder")
