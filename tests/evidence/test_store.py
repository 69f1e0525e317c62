"""What was kept comes back, from this process and from a folder alone."""

from __future__ import annotations

import shutil
import stat
import threading
from pathlib import Path

import pytest

import kvgate.errors
from checks.phrase import say
from checks.verdict import Verdict
from kvgate.codec import verdict_from_json
from kvgate.errors import CannotTell, Damaged, HostKeyRefused, NotAllowed, TimedOut
from kvgate.evidence import AskedProbe, Evidence, StoredAnswer, StoredFailure, label, seq_of
from kvgate.transport.base import Answer, Batch
from tests.evidence.sample import RUN, START, asked, batch


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    with Evidence.create(tmp_path, RUN, START) as evidence:
        kept = evidence.keep(batch(), asked(), 1)
        assert list(kept) == ["q0", "q1", "q2", "slow", "key"]
        found = evidence.answer(kept["q2"])
        assert (found.stdout, found.stderr, found.status, found.truncated) == (b"node-01 says 2\n", b"", 0, False)
        assert (found.host, found.key, found.probe, found.line) == ("node-01", "q2", "probe-q2", "nvme q2")
        assert (found.host_key, found.boot_id, found.sample, found.asked_at) == ("SHA256:def", "1f-2e", 1, 12.5)


def test_a_reason_comes_back_as_its_exception(tmp_path: Path) -> None:
    with Evidence.create(tmp_path, RUN, START) as evidence:
        kept = evidence.keep(batch(), asked(), 1)
        slow, key = evidence.answer(kept["slow"]), evidence.answer(kept["key"])
        assert isinstance(slow, StoredFailure)
        assert isinstance(key, StoredFailure)
        with pytest.raises(TimedOut, match="nvme list took more than 10 s"):
            raise slow.error()
        with pytest.raises(HostKeyRefused) as caught:
            raise key.error()
        assert caught.value.presented == "SHA256:abc"


@pytest.mark.parametrize(
    "reason", [k for k in vars(kvgate.errors).values() if isinstance(k, type) and issubclass(k, CannotTell)]
)
def test_every_reason_survives_the_folder(reason: type[CannotTell], tmp_path: Path) -> None:
    error = HostKeyRefused("m", "SHA256:x") if reason is HostKeyRefused else reason("m")
    with Evidence.create(tmp_path, RUN, START) as evidence:
        evidence.keep(Batch("h", {"k": error}), {"k": AskedProbe("p", "l", "passive")}, 1)
        (found,) = evidence.answers()
    assert isinstance(found, StoredFailure)
    assert type(found.error()) is reason


def test_a_reason_of_a_newer_version_is_still_a_reason(folder: Path) -> None:
    failure = next(f for f in Evidence.open(folder).answers() if isinstance(f, StoredFailure))
    newer = StoredFailure(**{**vars(failure), "reason": "Evaporated"})
    assert type(newer.error()) is CannotTell
    assert "Evaporated" in str(newer.error())
    assert type(StoredFailure(**{**vars(failure), "reason": "Unwritable"}).error()) is CannotTell


def test_a_folder_moved_to_another_machine_holds_everything(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    with Evidence.open(moved) as evidence:
        assert evidence.run == RUN
        start = evidence.start.fields
        assert {name: start[name] for name in START} == START
        assert "python" in start["surroundings"]
        assert evidence.start.inventory == START["inventory"]
        with pytest.raises(Damaged, match="field 'simulated'"):
            _ = evidence.start.simulated
        assert len(evidence.answers()) == 10
        assert evidence.index()["fx100-a", "q1", 1].stdout == b"fx100-a says 1\n"
        assert [b.host for b in evidence.batches()] == ["node-01", "fx100-a"]
        assert evidence.batches()[0].clock.low == -0.01
        assert evidence.verify().problems == ()


def test_the_same_question_asked_twice_is_told_apart(tmp_path: Path) -> None:
    with Evidence.create(tmp_path, RUN, START) as evidence:
        evidence.keep(batch(), asked(), 1)
        evidence.keep(batch(), asked(), 2)
        assert {(found.key, found.sample) for found in evidence.answers()} >= {("q0", 1), ("q0", 2)}
        assert evidence.index()["node-01", "q0", 2].seq > evidence.index()["node-01", "q0", 1].seq


def test_equal_outputs_are_stored_once(folder: Path) -> None:
    check = Evidence.open(folder).verify()
    assert (
        check.blobs == len(list(folder.glob("blobs/*/*.gz"))) == 6 + 1 + 1
    )  # six texts, one empty stderr, the inventory
    assert check.strays == 0


def test_notes_hold_long_texts_bytes_phrases_and_verdicts(tmp_path: Path) -> None:
    verdict = Verdict.of(True, say("x{n}", n=4), "x4")
    with Evidence.create(tmp_path, RUN, START) as evidence:
        seq = evidence.note(
            "verdict", text="a\nb", raw=b"\0\xff", many=[1, 2.5, None, True], verdict=verdict, phrase=say("hi")
        )
        (found,) = evidence.notes("verdict")
    assert (found["seq"], found["text"], found["raw"], found["many"]) == (seq, "a\nb", b"\0\xff", [1, 2.5, None, True])
    assert verdict_from_json(found["verdict"]) == verdict


def test_a_note_cannot_pose_as_something_else(tmp_path: Path) -> None:
    with Evidence.create(tmp_path, RUN, START) as evidence:
        for kind in ("start", "answer", "failure", "batch"):
            with pytest.raises(ValueError, match="not notes"):
                evidence.note(kind)
        with pytest.raises(ValueError, match="belong to the journal"):
            evidence.note("note", seq=4)
        with pytest.raises(ValueError, match="belongs to the store"):
            evidence.note("note", x={"$blob": "0" * 64})
        with pytest.raises(TypeError):
            evidence.note("note", x=object())
        with pytest.raises(ValueError, match="JSON"):
            evidence.note("note", x=float("nan"))
        assert evidence.verify().lines == 1


def test_a_key_that_was_not_asked_is_an_error_and_keeps_nothing(tmp_path: Path) -> None:
    with Evidence.create(tmp_path, RUN, START) as evidence:
        with pytest.raises(KeyError):
            evidence.keep(Batch("h", {"other": Answer("other", b"", b"", 0, 0.0)}), asked(), 1)
        assert evidence.verify().lines == 1


def test_a_run_is_never_begun_over_another(folder: Path) -> None:
    with pytest.raises(NotAllowed, match="already"):
        Evidence.create(folder.parent, RUN, START)
    with pytest.raises(ValueError, match="run id"):
        Evidence.create(folder.parent, "../x", START)


def test_two_writers_cannot_interleave(folder: Path) -> None:
    with Evidence.open(folder, write=True):
        with pytest.raises(NotAllowed, match="another process is writing"):
            Evidence.open(folder, write=True)
        assert len(list(Evidence.open(folder).lines())) == 14  # a reader is not kept out
    Evidence.open(folder, write=True).close()


def test_a_reader_cannot_write(folder: Path) -> None:
    with pytest.raises(NotAllowed, match="reading only"):
        Evidence.open(folder).note("note")


def test_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="no evidence"):
        Evidence.open(tmp_path / "nothing")


def test_others_on_the_machine_cannot_read_it(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o600}


def test_threads_may_keep_at_once(tmp_path: Path) -> None:
    with Evidence.create(tmp_path, RUN, START) as evidence:
        threads = [threading.Thread(target=evidence.keep, args=(batch(f"n{n}"), asked(), 1)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(evidence.answers()) == 40
        assert evidence.verify().ok


def test_evidence_ids_are_line_numbers(folder: Path) -> None:
    found = Evidence.open(folder).answers()[0]
    assert label(found.seq) == "E3"
    assert seq_of("E3") == 3
    raw = (folder / "journal.jsonl").read_bytes().splitlines()[2]
    assert b'"key":"q0"' in raw
    for wrong in ("3", "E0", "E03", "e3", "E3x", ""):
        with pytest.raises(ValueError, match="evidence id"):
            seq_of(wrong)


def test_a_line_that_is_no_answer_is_no_answer(folder: Path) -> None:
    evidence = Evidence.open(folder)
    for seq in (0, 1, 2, 999, -1):
        with pytest.raises(KeyError):
            evidence.answer(seq)


def test_a_large_output_is_kept_whole(tmp_path: Path) -> None:
    big = bytes(range(256)) * 40_000
    with Evidence.create(tmp_path, RUN, START) as evidence:
        kept = evidence.keep(
            Batch("h", {"k": Answer("k", big, b"", 0, 1.0, truncated=True)}), {"k": AskedProbe("p", "l", "passive")}, 1
        )
        found = evidence.answer(kept["k"])
        assert isinstance(found, StoredAnswer)
        assert found.stdout == big
        assert found.truncated


def test_an_answer_changed_on_the_disk_is_never_handed_out(folder: Path) -> None:
    for path in folder.glob("blobs/*/*.gz"):
        path.write_bytes(b"")
    with pytest.raises(Damaged, match="was changed"):
        _ = Evidence.open(folder).answers()[0].stdout


def test_nine_hosts_of_ninety_answers_are_kept_in_one_go(tmp_path: Path) -> None:
    text = b"Temperature: 300 K\n" * 60
    many = {f"k{n}": AskedProbe("p", "l", "passive") for n in range(90)}
    batches = [
        Batch(f"h{h}", {f"k{n}": Answer(f"k{n}", b"%d %d\n" % (h, n) + text, b"", 0, 0.1) for n in range(90)})
        for h in range(9)
    ]
    with Evidence.create(tmp_path, RUN, START) as evidence:
        for one in batches:
            evidence.keep(one, many, 1)
        evidence.sync()
        assert len(evidence.answers()) == 810
