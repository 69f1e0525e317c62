"""Files written, verified, loaded and saved for real: fio and XFS on a loop device of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.block.burst import Watched
from checks.block.patterns import Pattern, Way
from checks.block.trials import on_file
from checks.files import criteria, loading
from checks.files.integrity import Place, by_blocks, by_sums
from checks.files.loading import cold
from checks.files.saving import checkpoint
from checks.probe import Level, Probe
from checks.trial import Step, Trial
from checks.verdict import Outcome
from kvgate.errors import CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from kvgate.transport.local import LocalTransport
from tests.gates.loops import loop_device, needs

pytestmark = pytest.mark.usefixtures("alone")
HOST = "here"
MIB = 2**20


def run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    needs("losetup", "mkfs.xfs", "fio")
    folder = tmp_path_factory.mktemp("volume")
    mount = folder / "mnt"
    mount.mkdir()
    with loop_device(folder / "image", 700 * MIB) as device:
        run("mkfs.xfs", "-q", "-f", device)
        run("mount", device, str(mount))
        try:
            yield Place(HOST, str(mount), "xfs")
        finally:
            subprocess.run(["umount", str(mount)], check=False)


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as found:
        yield found


def make(evidence: Evidence, trial: Trial[Any]) -> Tried:
    return Trials([trial], LocalTransport(), Answers(evidence), "kvgate:files-1", watch=LocalTransport()).run()


def damaging(trial: Trial[Any], file: str) -> Trial[Any]:
    """The same trial with a step that changes one byte of a file on the disk between writing and verifying."""
    script = 'printf X | dd of="$1" bs=1 seek=5000000 conv=notrunc status=none && sync -- "$1"'
    damage = Step("damage", HOST, Probe("damage", ("sh", "-c", script, "sh", file), str, level=Level.LOAD))

    def stages(number: int) -> tuple[tuple[Step, ...], ...]:
        found = trial.stages_of(number)
        place = next(i for i, stage in enumerate(found) if stage[0].name == "drop")
        return (*found[:place], (damage,), *found[place:])

    return replace(trial, stages=stages(1), varied=stages if trial.varied else None)


def test_blocks_come_back_as_they_were_written(volume: Place, evidence: Evidence) -> None:
    trial = by_blocks(volume, volume, 64 * MIB, 3)
    measured = make(evidence, trial).measured(trial)
    assert criteria.intact(measured).outcome is Outcome.PASS
    assert [one.verified for one in measured.facts] == [64 * MIB] * 3
    assert all(one.given >= 64 * MIB for one in measured.facts)
    assert not list(Path(volume.path).iterdir())


def test_one_changed_byte_of_a_block_is_a_stop(volume: Place, evidence: Evidence) -> None:
    trial = damaging(by_blocks(volume, volume, 16 * MIB, 1), f"{volume.folder}/integrity")
    verdict = criteria.intact(make(evidence, trial).measured(trial))
    assert verdict.outcome is Outcome.STOP
    assert "verify failed" in str(verdict.measured)


def test_sums_of_files_come_back_as_they_were_written(volume: Place, evidence: Evidence) -> None:
    trial = by_sums(volume, volume, 3, 8 * MIB, 1)
    measured = make(evidence, trial).measured(trial)
    assert criteria.intact(measured).outcome is Outcome.PASS
    assert measured.facts[0].given >= 24 * MIB


def test_one_changed_byte_of_a_file_is_a_stop(volume: Place, evidence: Evidence) -> None:
    trial = damaging(by_sums(volume, volume, 3, 8 * MIB, 1), f"{volume.folder}/sum-1")
    verdict = criteria.intact(make(evidence, trial).measured(trial))
    assert verdict.outcome is Outcome.STOP
    assert str(verdict.measured).endswith("other contents than written: file 1")


def warm(trial: Trial[Any], name: str) -> Trial[Any]:
    """The same trial without forgetting what memory holds."""
    keep = Probe("keep", ("echo", "dropped"), str, level=Level.LOAD)

    def stages(number: int) -> tuple[tuple[Step, ...], ...]:
        found = trial.stages_of(number)
        return tuple(tuple(replace(s, probe=keep) if s.name == name else s for s in stage) for stage in found)

    return replace(trial, stages=stages(1), varied=stages if trial.varied else None)


def test_files_that_memory_answers_for_are_not_verified(volume: Place, evidence: Evidence) -> None:
    trial = warm(by_sums(volume, volume, 2, 8 * MIB, 1), "drop")
    with pytest.raises(CannotTell, match="memory answered"):
        make(evidence, trial).measured(trial)


def test_a_volume_that_is_not_mounted_is_not_written(volume: Place, evidence: Evidence, tmp_path: Path) -> None:
    elsewhere = replace(volume, path=str(tmp_path))
    trial = by_blocks(elsewhere, elsewhere, MIB, 1)
    with pytest.raises(CannotTell, match="0 filesystems are mounted"):
        make(evidence, trial).measured(trial)
    assert not (tmp_path / ".kvgate-load").exists()


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's small files take less than a second: its clock is coarse, and that is no matter here."""
    monkeypatch.setattr(loading, "SHORTEST", 0.01)
    monkeypatch.setattr("checks.files.saving.SHORTEST", 0.01)


@pytest.mark.usefixtures("coarse")
def test_a_model_is_read_cold_and_wholly(volume: Place, evidence: Evidence) -> None:
    trial = cold(volume, 4, 24 * MIB, 2, 2)
    measured = make(evidence, trial).measured(trial)
    assert [(one.files, one.bytes) for one in measured.facts] == [(4, 96 * MIB)] * 2
    assert all(one.given >= 96 * MIB for one in measured.facts)


@pytest.mark.usefixtures("coarse")
def test_a_model_that_lies_there_is_read_and_left_alone(volume: Place, evidence: Evidence) -> None:
    model = Path(volume.path) / "models/a b"
    model.mkdir(parents=True)
    (model / "one.safetensors").write_bytes(os.urandom(32 * MIB))
    (model / "config.json").write_text("{}")
    trial = cold(volume, 4, MIB, 2, 1, str(model))
    measured = make(evidence, trial).measured(trial)
    assert (measured.facts[0].files, measured.facts[0].bytes) == (2, 32 * MIB + 2)
    assert sorted(path.name for path in model.iterdir()) == ["config.json", "one.safetensors"]
    shutil.rmtree(model.parent)


@pytest.mark.usefixtures("coarse")
def test_a_warm_model_is_not_measured(volume: Place, evidence: Evidence) -> None:
    trial = warm(cold(volume, 2, 16 * MIB, 2, 2), "drop")
    tried = make(evidence, trial)
    with pytest.raises(CannotTell, match="memory answered"):
        tried.measured(trial)


@pytest.mark.usefixtures("coarse")
def test_a_checkpoint_is_durable_and_comes_back(volume: Place, evidence: Evidence) -> None:
    trial = checkpoint(volume, 3, 16 * MIB, 2)
    measured = make(evidence, trial).measured(trial)
    assert [(one.bytes, one.wrong) for one in measured.facts] == [(48 * MIB, "")] * 2
    assert all(one.seconds > 0 for one in measured.facts)


@pytest.mark.usefixtures("coarse")
def test_a_checkpoint_that_changed_on_the_disk_is_told(volume: Place, evidence: Evidence) -> None:
    trial = damaging(checkpoint(volume, 2, 16 * MIB, 1), f"{volume.folder}/checkpoint/shard-1")
    measured = make(evidence, trial).measured(trial)
    assert "failed verify" in measured.facts[0].wrong


@pytest.mark.usefixtures("coarse")
def test_a_checkpoint_that_does_not_fit_is_not_begun(volume: Place, evidence: Evidence) -> None:
    trial = checkpoint(volume, 2, 700 * MIB, 1)
    with pytest.raises(CannotTell, match="free"):
        make(evidence, trial).measured(trial)


def facts_of(trial: Trial[Any]) -> Mapping[str, Step]:
    return {step.name: step for step in trial.everything}


def test_what_is_written_is_told_by_the_plan(volume: Place) -> None:
    steps = facts_of(checkpoint(volume, 2, MIB, 1))
    assert steps["save"].probe.level is Level.LOAD
    assert "sync -f" in steps["save"].probe.command()


READ = Pattern(Way.READ, MIB, 8, 4, jobs=2, ramp=1)


def test_a_file_is_written_whole_and_its_rounds_are_read(volume: Place, evidence: Evidence) -> None:
    needs("iostat")
    trial = on_file(HOST, volume.path, "xfs", READ, 32 * MIB, count=1)
    (found,) = make(evidence, trial).measured(trial).facts[:1]
    assert found.bytes_per_second > 0
    assert found.device_bytes is not None
    assert found.device_bytes >= 0.95 * found.io_bytes
    assert found.before is not None
    assert found.across is not None
    assert isinstance(found.watched, Watched), str(found.watched)
    assert not list(Path(volume.path).iterdir())


def test_a_file_of_holes_is_not_loaded(volume: Place, evidence: Evidence) -> None:
    """The same load on a file that has its length and nothing else: reads of holes are answered by the filesystem alone."""
    trial = on_file(HOST, volume.path, "xfs", READ, 32 * MIB, count=1)
    file = f"{volume.folder}/{READ.name}"
    hollow = Step("hollow", HOST, Probe("hollow", ("truncate", "-s", str(32 * MIB), "--", file), str, level=Level.LOAD))
    empty = Step("empty", HOST, Probe("empty", ("truncate", "-s", "0", "--", file), str, level=Level.LOAD))
    holes = replace(trial, prepare=(*trial.prepare, (empty,), (hollow,)))
    tried = make(evidence, holes)
    with pytest.raises(CannotTell, match="holes are answered by nobody"):
        tried.measured(holes)
