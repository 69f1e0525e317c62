"""Whatever a crash leaves behind is repaired and said, or refused by name; never read as if it were whole."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kvgate.evidence.journal
from kvgate.errors import Damaged, Unwritable
from kvgate.evidence import Evidence, check_folder
from kvgate.transport.base import Answer, Batch
from tests.evidence.sample import RUN, START, asked, batch

REUSED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def copy(folder: Path) -> Path:
    place = Path(tempfile.mkdtemp(dir=folder.parent)) / RUN
    shutil.copytree(folder, place)
    return place


@REUSED
@given(st.data())
def test_a_journal_cut_at_any_byte_keeps_every_whole_line(folder: Path, data: st.DataObject) -> None:
    raw = (folder / "journal.jsonl").read_bytes()
    ends = [place for place, byte in enumerate(raw) if byte == 10]
    near = [place + step for place in ends for step in (-1, 0, 1, 2)]
    cut = data.draw(
        st.one_of(st.integers(0, len(raw)), st.sampled_from([place for place in near if place <= len(raw)]))
    )
    broken = copy(folder)
    os.truncate(broken / "journal.jsonl", cut)
    whole = raw[:cut].count(b"\n")
    rest = cut - (raw[:cut].rfind(b"\n") + 1)
    try:
        if whole == 0:
            with pytest.raises(Damaged, match="never began"):
                Evidence.open(broken, write=True)
            return
        assert len(list(Evidence.open(broken).lines())) == whole
        assert bool(rest) == any("has no end" in problem for problem in check_folder(broken).problems)
        with Evidence.open(broken, write=True) as evidence:
            assert evidence.repaired == rest
            evidence.note("note", text="going on")
        assert (broken / "journal.jsonl").read_bytes().startswith(raw[:cut][: cut - rest])
        assert check_folder(broken).problems == ()
        if rest:
            assert (broken / "journal.cut-1").read_bytes() == raw[cut - rest : cut]
            (said,) = Evidence.open(broken).notes("repaired")
            assert (said["seq"], said["cut"], said["bytes"]) == (whole + 1, "journal.cut-1", rest)
    finally:
        shutil.rmtree(broken.parent)


def test_an_end_of_zeros_is_repaired_as_a_cut_line(folder: Path) -> None:
    with (folder / "journal.jsonl").open("ab") as stream:
        stream.write(b"\0" * 4096)
    with Evidence.open(folder, write=True) as evidence:
        assert evidence.repaired == 4096
        assert evidence.verify().ok


def test_two_crashes_leave_two_cuts(folder: Path) -> None:
    for number in (1, 2):
        with (folder / "journal.jsonl").open("ab") as stream:
            stream.write(b'{"half')
        Evidence.open(folder, write=True).close()
        assert (folder / f"journal.cut-{number}").read_bytes() == b'{"half'
    assert len(Evidence.open(folder).notes("repaired")) == 2


def test_reading_repairs_nothing(folder: Path) -> None:
    with (folder / "journal.jsonl").open("ab") as stream:
        stream.write(b'{"half')
    before = (folder / "journal.jsonl").read_bytes()
    assert len(Evidence.open(folder).answers()) == 10
    assert "line 15 has no end" in Evidence.open(folder).verify().problems[0]
    assert (folder / "journal.jsonl").read_bytes() == before


def test_a_blob_torn_by_a_crash_is_written_again(folder: Path) -> None:
    text = b"node-01 says 1\n"
    seq = next(found.seq for found in Evidence.open(folder).answers() if getattr(found, "stdout", b"") == text)
    victim = next(path for path in folder.glob("blobs/*/*.gz") if path.read_bytes() != b"" and _holds(path, text))
    victim.write_bytes(victim.read_bytes()[:10])
    with Evidence.open(folder, write=True) as evidence:
        assert not evidence.verify().ok
        evidence.keep(Batch("node-01", {"q1": Answer("q1", text, b"", 0, 0.1)}), asked(), 2)
        assert evidence.answer(seq).stdout == text
        assert evidence.verify().ok


def _holds(path: Path, text: bytes) -> bool:
    return gzip.decompress(path.read_bytes()) == text


WRITER = """
import sys
from pathlib import Path
from kvgate.evidence import Evidence
from tests.evidence.sample import RUN, START, asked, batch
evidence = Evidence.create(Path(sys.argv[1]), RUN, START)
number = 0
while True:
    number += 1
    evidence.keep(batch(f"host-{number}", count=20), asked(20), 1)
    evidence.sync()
    print(number, flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.013, 0.021])
def test_a_killed_writer_loses_nothing_that_it_synced(tmp_path: Path, delay: float) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(delay)
    writer.kill()
    synced = 1 + sum(1 for _ in writer.stdout)
    writer.wait()
    with Evidence.open(tmp_path / RUN, write=True) as evidence:  # the lock died with its holder
        hosts = {found.host for found in evidence.answers()}
        assert hosts >= {f"host-{number}" for number in range(1, synced + 1)}
        assert all(found.stdout for found in evidence.answers() if hasattr(found, "stdout"))
        assert evidence.verify().problems == ()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for one run and little more."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_says_so_and_nothing_half_written_counts(small: Path) -> None:
    evidence = Evidence.create(small, RUN, START)
    big = Batch("h", {"q0": Answer("q0", os.urandom(400_000), b"", 0, 0.1), "q1": Answer("q1", b"new\n", b"", 0, 0.1)})
    before = evidence.keep(batch(), asked(), 1)
    with pytest.raises(Unwritable, match=f"could not be written to {small}.*No space left.*free space"):
        evidence.keep(big, asked(), 1)
    assert not list(small.rglob(".*-*"))  # no temporary file is left
    assert len(evidence.answers()) == len(before)
    assert evidence.verify().problems == ()
    evidence.keep(batch("other"), asked(), 1)  # there is room for this one
    evidence.close()
    assert check_folder(small / RUN).ok


def test_a_disk_that_fills_up_in_the_journal_takes_the_line_back(small: Path) -> None:
    evidence = Evidence.create(small, RUN, START)
    (small / "ballast").write_bytes(b"x" * (shutil.disk_usage(small).free - 4096))
    lines = 1 + sum(1 for _ in range(3) if evidence.note("note", text="x" * 900))
    many = [("note", {"text": "x" * 900})] * 20
    with pytest.raises(Unwritable, match=r"journal.*No space left"):
        evidence.append_many(many)
    assert len(list(evidence.lines())) == lines
    assert check_folder(small / RUN).problems == ()
    (small / "ballast").unlink()
    evidence.note("note", text="there is room again")
    evidence.close()
    assert check_folder(small / RUN).lines == lines + 1


def test_no_room_for_the_start_leaves_no_folder(small: Path) -> None:
    (small / "ballast").write_bytes(b"x" * shutil.disk_usage(small).free)
    with pytest.raises(Unwritable, match="No space left"):
        Evidence.create(small, RUN, START)
    assert not (small / RUN).exists()


def test_a_read_only_place_says_what_to_do(small: Path) -> None:
    Evidence.create(small, RUN, START).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    with pytest.raises(Unwritable, match="read-only"):
        Evidence.create(small, "other", START)
    with pytest.raises(Unwritable, match="read-only"):
        Evidence.open(small / RUN, write=True)
    with Evidence.open(small / RUN) as evidence:
        assert evidence.verify().ok


def test_a_flush_that_fails_ends_the_evidence_for_good(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed flush nobody knows what is on the disk; a later one that succeeds says nothing about it."""

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    evidence = Evidence.open(folder, write=True)
    evidence.note("note")
    with monkeypatch.context() as patch:
        patch.setattr(kvgate.evidence.journal, "flush", fail)
        with pytest.raises(Unwritable, match=r"Input/output error.*another disk"):
            evidence.sync()
    for again in (evidence.sync, lambda: evidence.note("note"), evidence.close):
        with pytest.raises(Unwritable, match="earlier flush failed"):
            again()
    Evidence.open(folder, write=True).close()  # the lock was let go all the same


@pytest.mark.parametrize("how", ["deleted", "replaced", "written by someone else", "shortened"])
def test_a_journal_lost_under_the_run_is_noticed_before_the_verdict(folder: Path, how: str) -> None:
    path = folder / "journal.jsonl"
    evidence = Evidence.open(folder, write=True)
    if how == "written by someone else":
        with path.open("ab") as stream:
            stream.write(b"{}\n")
        with pytest.raises(Unwritable, match="something else wrote"):
            evidence.note("note")
        return
    evidence.note("note")
    if how == "shortened":
        os.truncate(path, path.stat().st_size - 20)
    else:
        path.unlink()
    if how == "replaced":
        path.write_bytes(b"{}\n")
    with pytest.raises(Unwritable, match=r"replaced|No such file|does not read back"):
        evidence.sync()


def test_a_file_size_limit_is_a_reason_too(folder: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from kvgate.evidence import Evidence\n"
        "evidence = Evidence.open(Path(sys.argv[1]), write=True)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (evidence._journal._size + 10,) * 2)\n"
        "try:\n    evidence.note('note', text='x' * 500)\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Unwritable")
    assert "ulimit" in done.stdout
    assert check_folder(folder).ok
