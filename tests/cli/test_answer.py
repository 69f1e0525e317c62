"""``kvgate show RUN E17``: an evidence id leads to what was asked and what was answered, as kept."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pytest

from kvgate.evidence.record import Stored as Question
from kvgate.evidence.record import StoredAnswer, StoredFailure
from kvgate.evidence.store import Evidence
from kvgate.reports import answer
from kvgate.reports.messages import Reader
from tests.cli.conftest import Kvgate, Stored


def evidence_of(kvgate: Kvgate, stored: Stored, clause: str) -> tuple[str, str]:
    """First evidence id and the subject of a clause's verdict that did not pass."""
    told = json.loads(kvgate("show", stored.run, *stored.words, "--json").stdout)
    row = next(row for row in told["verdicts"] if row["clause"] == clause and row["outcome"] != "PASS")
    return row["evidence"][0], row["subject"]


def kept(stored: Stored, name: str) -> StoredAnswer | StoredFailure:
    with Evidence.open(stored.var / "evidence" / stored.run) as evidence:
        found = evidence.answer(int(name[1:]))
        if isinstance(found, StoredAnswer):
            assert found.stdout is not None  # read while the folder is open
        return found


def test_the_answer_behind_a_stop_is_shown_with_its_command_and_bytes(kvgate: Kvgate, stored: Stored) -> None:
    name, subject = evidence_of(kvgate, stored, "G1.2.9")
    found = kept(stored, name)
    assert isinstance(found, StoredAnswer)
    shown = kvgate("show", stored.run, name, *stored.words)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"{name}: asked of {found.host} at ")
    assert f"command: {found.line}" in shown.stdout
    assert f"exit status {found.status} after {found.seconds:.3f} s" in shown.stdout
    assert f"STOP of G1.2.9 on {subject} rests on it" in shown.stdout
    assert found.stdout.decode().rstrip("\n") in shown.stdout
    assert f"stdout, {len(found.stdout)} bytes as kept" in shown.stdout


def test_programs_get_the_same_bytes_with_their_digest(kvgate: Kvgate, stored: Stored) -> None:
    name, subject = evidence_of(kvgate, stored, "G1.2.9")
    found = kept(stored, name)
    assert isinstance(found, StoredAnswer)
    told = json.loads(kvgate("show", stored.run, name, *stored.words, "--json").stdout)
    assert told["run"] == stored.run
    one = told["answer"]
    assert (one["id"], one["host"], one["command"], one["status"]) == (name, found.host, found.line, found.status)
    assert (one["stdout"].encode(), one["stdout_form"]) == (found.stdout, "text")
    assert one["stdout_sha256"] == hashlib.sha256(found.stdout).hexdigest()
    assert {"clause": "G1.2.9", "subject": subject, "outcome": "STOP"} in one["verdicts"]


@pytest.mark.parametrize("name", ["E1", "E99999", "E0", "17", "e17", "E17x", "G1.2.9"])
def test_an_id_that_leads_to_no_answer_is_refused_with_what_was_found(
    kvgate: Kvgate, stored: Stored, name: str
) -> None:
    refused = kvgate("show", stored.run, name, *stored.words)
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert name in refused.stderr


def test_evidence_that_was_moved_is_found_and_lost_evidence_is_said_to_be_lost(
    kvgate: Kvgate, stored: Stored, tmp_path: Path
) -> None:
    name, _ = evidence_of(kvgate, stored, "G1.2.9")
    moved = Stored(tmp_path / "var", stored.run)
    shutil.copytree(stored.var, moved.var)
    away = stored.var / "evidence" / stored.run
    away.rename(aside := stored.var / "aside")
    try:
        assert kvgate("show", stored.run, name, *moved.words).exit_code == 4
        found = kvgate("show", stored.run, name, *moved.words, "--evidence", moved.var / "evidence")
        assert (found.exit_code, found.stderr) == (0, "")
        blobs = [*(moved.var / "evidence").glob("*/blobs/*/*")]
        for blob in blobs:
            blob.write_bytes(b"other bytes")
        assert kvgate("show", stored.run, name, *moved.words, "--evidence", moved.var / "evidence").exit_code in (4, 6)
    finally:
        aside.rename(away)


def lines(found: StoredAnswer | StoredFailure) -> str:
    return "\n".join(answer.told(found, (), Reader("en")))


def test_what_was_answered_cannot_play_with_the_terminal(kvgate: Kvgate, stored: Stored) -> None:
    found = kept(stored, evidence_of(kvgate, stored, "G1.2.9")[0])
    assert isinstance(found, StoredAnswer)
    hostile = replace(found, line="echo \x1b[2J")
    hostile.__dict__["stdout"] = b"\x1b]0;title\x07 \xff\r\n\tnext"
    said = lines(hostile)
    assert "\\x1b]0;title\\x07 \\xff\\x0d\n\tnext" in said
    assert "\x1b" not in said
    one = answer.as_json(hostile, ())
    assert one["stdout_form"] == "base64"
    assert base64.b64decode(str(one["stdout"])) == hostile.stdout


def test_a_question_without_an_answer_says_why(kvgate: Kvgate, stored: Stored) -> None:
    found = kept(stored, evidence_of(kvgate, stored, "G1.2.9")[0])
    common = {one.name: getattr(found, one.name) for one in fields(Question)}
    failed = StoredFailure(**common, reason="TimedOut", message="no answer within 5 s")
    assert "no answer: TimedOut: no answer within 5 s" in lines(failed)
    assert "stdout" not in lines(failed)
    one = answer.as_json(failed, ())
    assert (one["status"], one["stdout"], one["reason"]) == (None, None, "TimedOut")
    assert one.keys() == answer.as_json(found, ()).keys()
