"""Whole files at the bounds of their criteria, and rounds that may not be believed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.block.rounds import Round
from checks.block.validity import Held
from checks.ceiling import Ceiling
from checks.files import criteria, proof
from checks.files.anew import Anew
from checks.files.integrity import Checked, Place, by_blocks, by_sums, verified, written
from checks.files.loading import Loaded, cold
from checks.files.probes import engine_log
from checks.files.saving import Saved, checkpoint
from checks.parsers.findmnt import Mounted
from checks.parsers.fio import Direction, FioRun, Job
from checks.parsers.vllm_log import Load, ModelLoad
from checks.phrase import say
from checks.probe import UnreadableOutput
from checks.trial import Measured, Trial
from checks.verdict import Outcome

GB = 10**9
HERE = Place("node-01", "/mnt/fx100", "xfs")
GOOD = Checked("node-01", "node-02", GB, GB, "", GB)


def test_what_comes_back_as_it_was_written_is_intact() -> None:
    assert criteria.intact(Measured((GOOD, GOOD))).outcome is Outcome.PASS
    assert criteria.intact(Measured((GOOD, replace(GOOD, wrong="a failed verify")))).outcome is Outcome.STOP
    assert criteria.intact(Measured((replace(GOOD, verified=GB - 1),))).outcome is Outcome.UNDECIDED
    assert criteria.intact(Measured((replace(GOOD, written=0, verified=0),))).outcome is Outcome.UNDECIDED
    assert criteria.intact(Measured(())).outcome is Outcome.UNDECIDED


def test_what_stays_unproven_stands_beside_what_is_intact() -> None:
    assert str(criteria.intact(Measured((GOOD,)), say("not connected anew")).note) == "not connected anew"


@pytest.mark.parametrize(
    ("facts", "fabric", "wanted"),
    [
        ((replace(GOOD, anew=Anew("done", 1)),), True, Outcome.PASS),
        ((replace(GOOD, anew=Anew("done", 0)),), False, Outcome.PASS),
        ((replace(GOOD, anew=Anew("done", 0)),), True, Outcome.UNDECIDED),
        ((replace(GOOD, anew=Anew("done", 1)), GOOD), True, Outcome.UNDECIDED),
        ((replace(GOOD, anew=Anew("done", 1), wrong="a failed verify"),), True, Outcome.STOP),
        ((replace(GOOD, anew=Anew("done", 1), verified=GB - 1),), True, Outcome.UNDECIDED),
        ((), True, Outcome.UNDECIDED),
    ],
)
def test_what_outlives_its_connection_was_let_go_in_every_round(
    facts: tuple[Checked, ...], fabric: bool, wanted: Outcome
) -> None:
    assert criteria.outlives_its_connection(Measured(facts), fabric).outcome is wanted


HELD = Held(10, 0.5, 5, Ceiling(say("the slot"), 100 * GB))
BOTH = {"array": HELD, "nfs": HELD}


def fio_reads(rate: float) -> Measured[Round]:
    one = Round(rate * GB, 1.0, 1, {}, None, "fio-3.33", "nvme1n1", 1, say("not watched"), (None, None))
    return Measured((one, one))


def loaded(*rates: float) -> Measured[Loaded]:
    return Measured(tuple(Loaded(4, int(rate * GB * 10), 10.0, 1) for rate in rates))


@pytest.mark.parametrize(
    ("rates", "wanted"),
    [
        ((8.0, 8.0), Outcome.PASS),
        ((7.999, 7.999), Outcome.STOP),
        ((8.0, 12.0), Outcome.UNDECIDED),
        ((8.0,), Outcome.UNDECIDED),
        ((), Outcome.UNDECIDED),
    ],
)
def test_a_model_is_loaded_at_a_share_of_fios_rate(rates: tuple[float, ...], wanted: Outcome) -> None:
    assert criteria.loads(loaded(*rates), fio_reads(10.0), 0.8, HELD, None).outcome is wanted
    assert criteria.loads(loaded(*rates), Measured(()), 0.8, HELD, None).outcome is Outcome.UNDECIDED
    saved = Measured(tuple(Saved(one.bytes, one.seconds, "") for one in loaded(*rates).facts))
    assert criteria.saves(saved, fio_reads(10.0), 0.8, HELD, None).outcome is wanted


def test_a_checkpoint_that_came_back_otherwise_is_a_stop_however_fast() -> None:
    bad = Measured((Saved(GB, 1.0, ""), Saved(GB, 1.0, "a failed verify")))
    assert criteria.saves(bad, fio_reads(0.001), 0.8, HELD, None).outcome is Outcome.STOP


def test_published_figures_stand_beside_and_decide_nothing() -> None:
    context = say("published: 9.3 times")
    for rate, wanted in ((8.0, Outcome.PASS), (1.0, Outcome.STOP)):
        verdict = criteria.loads(loaded(rate, rate), fio_reads(10.0), 0.8, HELD, context)
        assert (verdict.outcome, verdict.note) == (wanted, context)


@pytest.mark.parametrize(("array", "wanted"), [(2.0, Outcome.PASS), (1.999, Outcome.STOP)])
def test_the_array_against_nfs(array: float, wanted: Outcome) -> None:
    assert criteria.faster_than_nfs(loaded(array, array), loaded(2.0, 2.0), 1.0, BOTH, None).outcome is wanted
    assert criteria.faster_than_nfs(loaded(array, array), loaded(2.0), 1.0, BOTH, None).outcome is Outcome.UNDECIDED


def test_the_slowest_worker_of_the_engine_counts() -> None:
    log = ModelLoad((3.2,), (Load(14.0, 5.0), Load(14.0, 60.0)))
    assert criteria.engine_loaded(log, 60.0, None).outcome is Outcome.PASS
    assert criteria.engine_loaded(log, 59.9, None).outcome is Outcome.STOP
    assert criteria.engine_loaded(ModelLoad((), ()), 60.0, None).outcome is Outcome.UNDECIDED


# ---- fio's words


def fio_run(name: str, size: int, notes: tuple[str, ...] = (), **job: Any) -> FioRun:
    fields: dict[str, Any] = {
        "name": "integrity", "error": 0, "total_errors": None, "first_error": None, "options": (("verify", "crc32c"),),
        "directions": (Direction(name, size, 1, 1, 1.0, 1, None, None),), **job,
    }  # fmt: skip
    return FioRun("fio-3.33", 1, (), (Job(**fields),), notes)


def test_every_byte_must_be_verified() -> None:
    assert verified(fio_run("read", GB), GB) == (GB, "")
    with pytest.raises(UnreadableOutput, match=r"999,999,999 of 1,000,000,000"):
        verified(fio_run("read", GB - 1), GB)
    with pytest.raises(UnreadableOutput, match="verify=crc32c"):
        verified(fio_run("read", GB, options=()), GB)


def test_a_failed_verify_is_an_answer() -> None:
    where = "crc32c: verify failed at file /mnt/fx100/x offset 2424832, length 65536"
    assert verified(fio_run("read", 5, (where,), error=84), GB) == (5, f"a failed verify: {where}")
    assert verified(fio_run("read", 5, total_errors=3, first_error=84), GB)[1] == "a failed verify"
    for error in (5, 61, 121):  # whichever the kernel makes of it: a path given up, a medium, a target
        assert verified(fio_run("read", 5, error=error), GB)[1] == "an input/output error"
    with pytest.raises(UnreadableOutput, match="fio ended with error 28"):  # a full disk tells nothing of data
        verified(fio_run("read", 5, error=28), GB)


@pytest.mark.parametrize(
    ("notes", "job", "why"),
    [
        (("verify: unsupported header version 5, wanted 81. Are you trying to verify across versions of fio?",), {"error": 84}, "versions"),
        (("fio: terminating on signal 15",), {}, "signal"),
        ((), {"error": 2}, "error 2"),
        ((), {"total_errors": 1}, "does not say which"),
    ],
)  # fmt: skip
def test_what_says_nothing_about_the_data(notes: tuple[str, ...], job: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableOutput, match=why):
        verified(fio_run("read", GB, notes, **job), GB)


def test_what_was_not_wholly_written_is_not_verified() -> None:
    assert written(fio_run("write", GB), GB) == GB
    for bad in (
        fio_run("write", GB - 1),
        fio_run("write", GB, error=28),
        fio_run("write", GB, ("fio: terminating on signal 2",)),
    ):
        with pytest.raises(UnreadableOutput):
            written(bad, GB)


# ---- whole rounds


def facts(trial: Trial[Any], **more: Any) -> dict[str, Any]:
    mounts = (Mounted("/mnt/fx100", "/dev/nvme1n1", None, "xfs", ("rw",)),)
    known: dict[str, Any] = {
        "mounts": mounts, "version written": "fio-3.33", "write": fio_run("write", GB), "verify": fio_run("read", GB),
        "given before": proof.Given({"nvme1n1": 0}), "given after": proof.Given({"nvme1n1": GB}),
    }  # fmt: skip
    assert trial.read
    return {**known, **more}


BLOCKS = by_blocks(HERE, HERE, GB, 3)


def test_a_round_of_blocks() -> None:
    assert BLOCKS.read(facts(BLOCKS)).given == GB
    there = by_blocks(HERE, replace(HERE, host="node-02"), GB, 3)
    assert there.hosts == {"node-01", "node-02"}
    with pytest.raises(UnreadableOutput, match="different versions"):
        there.read(facts(there, **{"version verified": "fio-3.42"}))


def test_rounds_use_other_block_sizes() -> None:
    sizes = {step.probe.argv[4] for number in (1, 2, 3) for step in BLOCKS.steps_of(number) if step.name == "write"}
    assert sizes == {"--bs=1048576", "--bs=524288", "--bs=262144"}


@pytest.mark.parametrize(
    ("after", "why"),
    [({"nvme1n1": 950_000_009}, "memory answered"), ({"nvme1n1": 9}, "went backwards"), ({}, "no counter of nvme1n1")],
)
def test_memory_that_answers_verifies_nothing(after: dict[str, int], why: str) -> None:
    with pytest.raises(UnreadableOutput, match=why):
        BLOCKS.read(facts(BLOCKS, **{"given before": proof.Given({"nvme1n1": 10}), "given after": proof.Given(after)}))


def test_a_network_mount_is_counted_at_its_server() -> None:
    nfs = Place("node-01", "/mnt/nfs", "nfs4")
    trial = by_blocks(nfs, nfs, GB, 1)
    mounts = (Mounted("/mnt/nfs", "server:/export", None, "nfs4", ("rw",)),)
    looks = {"given before": proof.Given({"/mnt/nfs": 5}), "given after": proof.Given({"/mnt/nfs": GB + 5})}
    assert trial.read(facts(trial, mounts=mounts, **looks)).given == GB
    step = next(step for step in trial.steps if step.name == "given before")
    assert "mountstats" in step.probe.command()


SUMS = by_sums(HERE, HERE, 2, 100, 1)
TWO = {0: (100, "a" * 64), 1: (100, "b" * 64)}


@pytest.mark.parametrize(
    ("put", "got", "why"),
    [
        (TWO, {0: (100, "a" * 64)}, "1 files were summed, wanted 2"),
        ({**TWO, 1: (99, "b" * 64)}, TWO, "file 1 was written with 99 of 100 bytes"),
    ],
)
def test_sums_that_tell_nothing(put: Any, got: Any, why: str) -> None:
    with pytest.raises(UnreadableOutput, match=why):
        SUMS.read(facts(SUMS, write=put, verify=got))


def test_sums_of_other_contents_are_told_by_file() -> None:
    other = {**TWO, 1: (100, "c" * 64)}
    assert SUMS.read(facts(SUMS, write=TWO, verify=other)).wrong == "other contents than written: file 1"
    assert SUMS.read(facts(SUMS, write=TWO, verify=TWO)).wrong == ""
    parse = next(step.probe.parse for step in SUMS.steps if step.name == "write")
    for text in ("", "file 0 100 abc\n", f"file 0 1 {'a' * 64}\nfile 0 1 {'a' * 64}\n"):
        with pytest.raises(UnreadableOutput):
            parse(text)


def timed(text: str, trial: Trial[Any], name: str) -> Any:
    return next(step.probe.parse for step in trial.steps if step.name == name)(text)


def test_a_cold_load_is_whole_long_enough_and_from_the_device() -> None:
    trial = cold(HERE, 2, GB // 2, 2, 3)
    found = timed("files 2 bytes 1000000000 start 100.00 end 104.00\n", trial, "load")
    assert trial.read(facts(trial, load=found)).seconds == 4.0
    for text, why in (
        ("files 2 bytes 999999999 start 100.00 end 104.00\n", "999,999,999 bytes were read"),
        ("files 2 bytes 1000000000 start 100.00 end 100.99\n", "too short"),
        ("files 0 bytes 0 start 100.00 end 104.00\n", "no file"),
    ):
        with pytest.raises(UnreadableOutput, match=why):
            trial.read(facts(trial, load=timed(text, trial, "load")))
    for text in ("", "dd: error\n", "files 2 bytes 9 start 1 end 2\n"):
        with pytest.raises(UnreadableOutput):
            timed(text, trial, "load")


def test_a_model_that_lies_there_is_neither_laid_out_nor_removed() -> None:
    trial = cold(HERE, 2, GB, 2, 3, "/mnt/fx100/models/x")
    assert not trial.clean
    assert {step.name for step in trial.everything} == {
        "mounts first",
        "mounts",
        "drop",
        "given before",
        "load",
        "given after",
    }


def test_a_model_whose_folder_holds_links_to_its_files_is_read_through_them(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
    for folder in (blobs, snapshot):
        folder.mkdir(parents=True)
    for name in ("model 1.safetensors", "model-2.safetensors"):
        (blobs / name).write_bytes(bytes(2**20))
        (snapshot / name).symlink_to(f"../../blobs/{name}")
    (snapshot / "gone").symlink_to("../../blobs/gone")
    trial = cold(replace(HERE, path=str(tmp_path)), 2, GB, 2, 3, str(snapshot))
    (load,) = (step for step in trial.steps if step.name == "load")
    done = subprocess.run(load.probe.command(), shell=True, capture_output=True, text=True, check=True)
    found = load.probe.parse(done.stdout)
    assert (found.files, found.bytes) == (2, 2 * 2**20)


def test_a_checkpoint_needs_the_time_when_it_was_durable() -> None:
    trial = checkpoint(HERE, 2, GB, 3)
    for text in ("", '{"fio version": "fio-3.33"}', "durable 1.00 2.00\ndurable 1.00 2.00\n"):
        with pytest.raises(UnreadableOutput):
            timed(text, trial, "save")


def test_the_engines_log_is_that_of_its_last_start() -> None:
    unit, container, file = (
        engine_log("vllm.service", None, None), engine_log(None, ("docker", "vllm"), None), engine_log(None, None, "/var/log/v"),
    )  # fmt: skip
    assert unit is not None
    assert container is not None
    assert file is not None
    assert "InvocationID" in unit.command()
    assert container.command().endswith("sh docker vllm")
    assert engine_log(None, None, None) is None


def test_an_engine_that_was_never_started_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "systemctl").write_text("#!/bin/sh\necho\n")
    (tmp_path / "systemctl").chmod(0o755)
    log = engine_log("vllm.service", None, None)
    assert log is not None
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        [str(word) for word in log.argv], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "vllm.service has not been started since this host booted\n"


def test_files_that_come_faster_than_anything_carries_them_were_read_elsewhere() -> None:
    narrow = replace(HELD, ceiling=Ceiling(say("the port"), 9 * GB))
    verdict = criteria.loads(loaded(9.2, 9.2), fio_reads(8.0), 0.8, narrow, None)
    assert (verdict.outcome, "the port can carry" in str(verdict.note)) == (Outcome.UNDECIDED, True)
    sides = {"array": HELD, "nfs": narrow}
    assert criteria.faster_than_nfs(loaded(9.5, 9.5), loaded(9.2, 9.2), 1.0, sides, None).outcome is Outcome.UNDECIDED
    assert criteria.faster_than_nfs(loaded(9.5, 9.5), loaded(9.0, 9.0), 1.0, sides, None).outcome is Outcome.PASS


def test_loads_that_take_longer_each_time_are_not_at_their_level() -> None:
    found = criteria.loads(loaded(10.0, 9.9, 9.8), fio_reads(10.0), 0.8, HELD, None)
    assert (found.outcome, "not at its level" in str(found.note)) == (Outcome.UNDECIDED, True)
