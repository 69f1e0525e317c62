"""A question that nobody answers ends a command with a sentence and never with the status of a STOP."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import click.termui
import pytest
from click.testing import CliRunner

from kvgate.cli import main
from tests.certificates.conftest import ROOT, Desk
from tests.invoking import lent


@pytest.fixture
def locked(passed: Desk) -> Desk:
    """The vendor's key has a passphrase, and no agent holds it."""
    passed.vendor.write(passed.folder / "locked", passphrase=b"secret").with_suffix(".pub").unlink()
    return passed


def _interrupted(prompt: str) -> str:
    raise KeyboardInterrupt


WORDS = {
    "certify": ("certify", "RUN", "--key", "locked", "--party", "vendor", "-o", "other.json"),
    "reopen": ("reopen", "--reason", "mended", "--key", "locked", "--party", "vendor"),
    "waive": (
        "waive",
        "RUN",
        "G1.2.3",
        "--reason",
        "agreed",
        "--until",
        "2099-01-01",
        "--key",
        "locked",
        "--party",
        "vendor",
    ),
    "cosign": ("cosign", "certificate.json", "--key", "locked", "--party", "customer"),
}


def ask(desk: Desk, command: str) -> tuple[int, str]:
    known = {"RUN": desk.runs[-1], "locked": str(desk.folder / "locked")}
    files = ("other.json", "certificate.json")
    words = [str(desk.folder / word) if word in files else known.get(word, word) for word in WORDS[command]]
    done = desk.kvgate(*words)
    return done.exit_code, done.output


@pytest.mark.parametrize("command", ["certify", "reopen", "waive"])
def test_a_passphrase_that_is_not_given_is_a_refusal(locked: Desk, command: str) -> None:
    status, told = ask(locked, command)
    assert status == 4, told
    assert "Aborted" not in told
    assert "the input ended where an answer was wanted" in told
    assert "ssh-add" in told
    assert not (locked.folder / "other.json").exists()


def test_nor_is_a_signature_given_that_nobody_confirmed(passed: Desk) -> None:
    assert passed.certify(passed.runs[-1]).exit_code == 0
    before = passed.certificate.read_bytes()
    done = passed.cosign()
    assert done.exit_code == 4, done.output
    assert "--yes" in done.output
    assert passed.certificate.read_bytes() == before


def test_ctrl_c_at_the_passphrase_is_an_interruption(locked: Desk, monkeypatch: pytest.MonkeyPatch) -> None:

    words = ["certify", locked.runs[-1], "--key", str(locked.folder / "locked"), "--party", "vendor"]
    place = locked.folder / "var"
    env = {"KVGATE_LEDGER": f"sqlite:///{place / 'kvgate.db'}", "KVGATE_EVIDENCE": str(place / "evidence")}
    with CliRunner().isolation(env=lent(env)) as (out, err, _):
        monkeypatch.setattr(click.termui, "hidden_prompt_func", _interrupted)
        with pytest.raises(SystemExit) as ended:
            main(words, prog_name="kvgate", standalone_mode=True)
        told = (out.getvalue() + err.getvalue()).decode()
    assert ended.value.code == 2
    assert "kvgate: interrupted" in told
    assert "Aborted" not in told


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("", "the input ended where an answer was wanted"), ("wrong\n", "does not open: wrong passphrase")],
)
def test_without_a_terminal_a_passphrase_is_a_line_of_the_input_and_nothing_warns(
    locked: Desk, given: str, wanted: str
) -> None:
    """A process of its own session has no terminal to ask at: getpass would warn that it cannot hide what nobody types."""
    place = locked.folder / "var"
    words = (
        "certify",
        locked.runs[-1],
        "--key",
        str(locked.folder / "locked"),
        "--party",
        "vendor",
        "-o",
        str(locked.folder / "x.json"),
    )
    more = {
        "KVGATE_LEDGER": f"sqlite:///{place / 'kvgate.db'}",
        "KVGATE_EVIDENCE": str(place / "evidence"),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [sys.executable, "-m", "kvgate", *words], input=given, env={**os.environ, **more}, cwd=ROOT, start_new_session=True,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert wanted in done.stderr
    assert "arning" not in done.stderr


def test_nor_does_an_input_that_is_closed(locked: Desk) -> None:
    place = locked.folder / "var"
    more = {
        "KVGATE_LEDGER": f"sqlite:///{place / 'kvgate.db'}",
        "KVGATE_EVIDENCE": str(place / "evidence"),
        "LC_ALL": "C.UTF-8",
    }
    words = ("certify", locked.runs[-1], "--key", str(locked.folder / "locked"), "--party", "vendor")
    line = shlex.join([sys.executable, "-m", "kvgate", *words])
    done = subprocess.run(
        ["sh", "-c", f"{line} <&-"], env={**os.environ, **more}, cwd=ROOT, start_new_session=True, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert "the input ended where an answer was wanted" in done.stderr
    assert "Traceback" not in done.stderr
