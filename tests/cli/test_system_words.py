"""What the operating system says is said in the reader's language, from one place."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest

from kvgate.certificates import canonical
from kvgate.errors import _SYSTEM, Unproven, Unwritable, because
from kvgate.evidence.durable import unwritable
from kvgate.ledger.engine import Store
from kvgate.reports.messages import Reader
from kvgate.reports.steps import Steps
from tests.invoking import invoked, invoked_any


@pytest.mark.parametrize("number", sorted(_SYSTEM), ids=lambda number: errno.errorcode[number])
def test_every_known_error_is_as_the_system_says_it_and_in_chinese(number: int) -> None:
    phrase = because(OSError(number, os.strerror(number)))
    assert str(phrase) == os.strerror(number)
    assert Reader("zh").phrase(phrase) != str(phrase)


def test_an_error_that_is_not_known_keeps_its_words() -> None:
    assert str(because(OSError(errno.EXDEV, "Invalid cross-device link"))) == "Invalid cross-device link"
    assert str(because(OSError("no number"))) == "no number"


@pytest.mark.parametrize(
    "words, told",
    [
        (("inventory", "check", "gone"), "没有该文件或目录"), (("verify", "gone"), "没有该文件或目录"),
        (("audit", "--anchor", "gone"), "不存在"), (("judge", "folder"), "含有 journal.jsonl 的目录"),
        (("status", "--inventory", "gone"), "尚无台账"), (("verify", "folder"), "是一个目录"),
        (("verify", "some", "--trust", "gone"), "没有该文件或目录"), (("stamp", "gone"), "没有该文件或目录"),
        (("ledger", "import", "gone"), "不存在"), (("inventory", "check", "under/file"), "不是目录"),
    ],
)  # fmt: skip
def test_no_command_says_in_english_what_the_system_said(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "some").write_text("{}")
    (tmp_path / "under").write_text("a file")
    here = {"gone", "folder", "some", "under/file"}
    given = [str(tmp_path / word) if word in here else word for word in words]
    env = {
        "KVGATE_LANG": "zh",
        "KVGATE_LEDGER": f"sqlite:///{tmp_path / 'kvgate.db'}",
        "KVGATE_EVIDENCE": str(tmp_path),
    }
    done = invoked_any(*given, env=env)
    assert isinstance(done.exception, SystemExit), done.output
    assert told in done.output
    for word in ("No such file", "Is a directory", "Not a directory", "Permission denied"):
        assert word not in done.output


def test_a_full_disk_says_to_give_the_same_command_again() -> None:
    told = str(unwritable(OSError(errno.ENOSPC, ""), "the certificate", Path("/x")))
    assert (
        "No space left on device; free space there, or choose another place, then give the same command again" in told
    )
    assert "设备上没有剩余空间" in Reader("zh").phrase(unwritable(OSError(errno.ENOSPC, ""), "x", Path("/x")).phrase)


@pytest.mark.parametrize(
    "data, why",
    [
        (b"null", "is nothing (null), wanted a JSON object"),
        (b"[1]", "is a list, wanted"),
        (b'"x"', "is a text, wanted"),
        (b"true", "is true or false, wanted"),
        (b"7", "is a number, wanted"),
        (b'{"a": ' + b"9" * 5000 + b"}", "found a whole number of 5000 digits"),
        (b'{"a": ', "it is no JSON (line 1, column 7)"),
        (b"\xff", "it is no UTF-8 text (byte 0)"),
        (b"[" * 100_000, "it is nested too deep"),
    ],
)
def test_a_document_that_is_none_is_told_in_words_of_our_own(data: bytes, why: str) -> None:
    with pytest.raises(Unproven) as found:
        canonical.parse(data, "the document")
    told = str(found.value)
    assert why in told
    for word in ("NoneType", "Exceeds", "set_int_max", "codec", "Expecting", "recursion"):
        assert word not in told


def test_a_ledger_that_cannot_be_made_says_what_helps_against_that_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(number: int) -> str:
        def refuse(*_: object, **__: object) -> None:
            raise OSError(number, "no")

        monkeypatch.setattr(Path, "mkdir", refuse)
        with pytest.raises(Unwritable) as found:
            Store.connect("sqlite:////nowhere/at/all/k.db")
        return str(found.value)

    assert "take write permission there" in told(errno.EACCES)
    for number, remedy in ((errno.ENOENT, "sqlite:///var/kvgate.db"), (errno.ENOSPC, "free space there")):
        assert remedy in told(number)
        assert "permission" not in told(number)


def test_progress_is_chinese_to_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_LANG", "zh")
    stream = io.StringIO()
    steps = Steps(stream, every=0.0)
    steps.total = 7
    steps("evidence", 3)
    assert stream.getvalue().startswith("证据：3/7，")


def test_a_folder_that_the_demo_cannot_make_is_named_with_what_to_do() -> None:
    for words in (("demo", "G1"), ("rack", "serve")):
        done = invoked(*words, "--var", "/dev/null/x")
        assert done.exit_code == 4
        assert "/dev/null/x" in done.output
        assert "could not be created" in done.output
        assert "--var" in done.output


def test_a_fault_that_nobody_knows_has_no_far_fetched_neighbour() -> None:
    told = invoked("demo", "G1", "--fault", "nofault").output
    assert "--list-faults" in told
    assert "near it" not in told
    assert "disk-media-errors" in invoked("demo", "G1", "--fault", "media").output
