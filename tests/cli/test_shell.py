"""What shells and terminals expect: completion, pipes that close early, Ctrl-C, help for every command, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kvgate.cli import main
from kvgate.cli.parse import parsers
from tests.cli.conftest import ROOT, Kvgate, Stored


def commands(group: click.Group = main, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found.append((*before, name))
        if isinstance(command, click.Group):
            found += commands(command, (*before, name))
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_its_help(kvgate: Kvgate, words: tuple[str, ...]) -> None:
    for flag in ("-h", "--help"):
        shown = kvgate(*words, flag)
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.startswith("Usage: ")
        assert len(shown.stdout.splitlines()) > 4


def test_every_option_of_every_command_says_what_it_does() -> None:
    for words in commands():
        command: click.Command | None = main
        for word in words:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), word)
        assert command is not None
        assert not [one.name for one in command.params if isinstance(one, click.Option) and not one.help], words


def test_the_version_is_told(kvgate: Kvgate) -> None:
    assert kvgate("--version").stdout.startswith("kvgate 0.")
    assert kvgate("nonsense").exit_code == 4
    assert "No such command" in kvgate("nonsense").stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered_to_each_shell(kvgate: Kvgate, shell: str) -> None:
    told = kvgate(_KVGATE_COMPLETE=f"{shell}_source")
    assert told.exit_code == 0, told.stderr
    assert "_KVGATE_COMPLETE" in told.stdout


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("kvgate in", "inventory"),
        ("kvgate inventory dr", "draft"),
        ("kvgate inventory draft --ho", "--host-key"),
        ("kvgate demo --pl", "--platform"),
        ("kvgate demo --platform as", "ascend"),
    ],
)
def test_words_are_completed(kvgate: Kvgate, line: str, wanted: str) -> None:
    env = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert f"plain,{wanted}" in kvgate(_KVGATE_COMPLETE="bash_complete", **env).stdout.splitlines()


def offered(kvgate: Kvgate, line: str, **more: str) -> list[str]:
    """What bash is offered for a line that ends in the word begun, or in a blank."""
    env = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - (not line.endswith(" ")))}
    lines = kvgate(_KVGATE_COMPLETE="bash_complete", **env, **more).stdout.splitlines()
    return [entry.removeprefix("plain,") for entry in lines if entry]


def test_what_is_known_here_is_completed(kvgate: Kvgate) -> None:
    assert offered(kvgate, "kvgate explain G1.2.2") == ["G1.2.2", "G1.2.20", "G1.2.21", "G1.2.22", "G1.2.23"]
    assert offered(kvgate, "kvgate runbook nvme.smart.media") == ["nvme.smart.media_errors"]
    assert offered(kvgate, "kvgate parse nvme-smart") == ["nvme-smart-log"]
    assert "disk-media-errors" in offered(kvgate, "kvgate demo --fault disk-m")
    assert "G1" in offered(kvgate, "kvgate demo ")
    assert offered(kvgate, "kvgate runs --gate G1") == ["G1"]


def test_every_parser_is_offered(kvgate: Kvgate) -> None:
    assert set(offered(kvgate, "kvgate parse ")) == set(parsers())


def test_runs_of_the_ledger_in_force_are_completed(kvgate: Kvgate, stored: Stored, tmp_path: Path) -> None:
    for command in ("show", "judge", "report", "waive", "certify"):
        assert stored.run in offered(kvgate, f"kvgate {command} {stored.run[:4]}", **stored.environment), command
    url = stored.environment["KVGATE_LEDGER"]
    assert stored.run in offered(kvgate, f"kvgate show --ledger {url} 2")
    assert offered(kvgate, "kvgate show 2", KVGATE_LEDGER=f"sqlite:///{tmp_path / 'none.db'}") == []
    assert not list(tmp_path.glob("none*"))


def completed(kvgate: Kvgate, stored: Stored, *words: str) -> list[str]:
    env = {"COMP_WORDS": " ".join(["kvgate", *words]), "COMP_CWORD": str(len(words)), **stored.environment}
    told = kvgate(_KVGATE_COMPLETE="bash_complete", **env)
    assert told.stderr == ""
    return [line.removeprefix("plain,") for line in told.stdout.splitlines() if line]


def test_runs_and_their_evidence_ids_are_completed(kvgate: Kvgate, stored: Stored) -> None:
    assert completed(kvgate, stored, "show", stored.run[:4]) == [stored.run]
    assert completed(kvgate, stored, "judge", stored.run[:4]) == [stored.run]
    assert completed(kvgate, stored, "show", "1999") == []
    found = completed(kvgate, stored, "show", stored.run, "E1")
    assert found
    assert all(one.startswith("E1") for one in found)
    assert completed(kvgate, stored, "show", "1999", "E1") == []


def test_where_no_ledger_is_nothing_is_completed_and_nothing_said(kvgate: Kvgate, tmp_path: Path) -> None:
    nowhere = Stored(tmp_path / "nowhere", "x")
    assert completed(kvgate, nowhere, "show", "2") == []
    assert completed(kvgate, nowhere, "show", "2", "E") == []


def test_the_installed_program_completes_as_the_readme_says() -> None:
    assert "_KVGATE_COMPLETE=bash_source kvgate" in (ROOT / "README.md").read_text("utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_KVGATE_COMPLETE": "bash_source"}
    told = subprocess.run([Path(sys.executable).with_name("kvgate")], env=env, capture_output=True, text=True, cwd=ROOT)
    assert "complete -o nosort -F _kvgate_completion kvgate" in told.stdout, told.stderr


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = f"{sys.executable} -m kvgate explain | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")


@pytest.mark.parametrize(
    "words", [["explain", "--json"], ["explain"], ["runs"], ["show"], ["parse", "--list"], ["--help"], ["runs", "--help"]], ids=" ".join
)  # fmt: skip
def test_a_closed_pipe_from_the_start_is_no_error_either(stored: Stored, words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "kvgate", *words, *([stored.run] if words == ["show"] else [])],
        stdout=write, stderr=subprocess.PIPE, cwd=ROOT, env={**os.environ, **stored.environment}, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_no_stdout_at_all_is_borne() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m kvgate explain >&-"], stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stream_that_is_not_utf8_is_borne() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "kvgate", "explain", "G1.2.9", "--lang", "zh"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_is_one_clear_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kvgate", "explain", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
    assert done.returncode != 0


def test_ctrl_c_is_interrupted_and_no_verdict() -> None:
    # Where the tests run in the background of a shell, what they start ignores Ctrl-C.
    words = ["env", "--default-signal=INT", sys.executable, "-m", "kvgate", "parse", "uname"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdin is not None
    process.stdin.write(b"x" * 200_000)  # more than a pipe holds: it is reading
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (2, b"kvgate: interrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        ["parse", "uname", "{secret}"], ["inventory", "check", "{secret}"], ["explain", "--inventory", "{secret}"],
        ["inventory", "draft", "10.0.0.1", "--host-key", "SHA256:" + "A" * 43, "-o", "{folder}/no/draft.yaml"],
        ["rack", "serve", "--inventory-out", "/proc/rack.yaml"], ["demo", "--var", "/proc/var"], ["judge", "{folder}"],
        ["judge", "/dev/null"], ["runs", "--ledger", "sqlite:////proc/x/kvgate.db"],
    ],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_what_may_not_be_read_or_written_is_one_clear_line(kvgate: Kvgate, tmp_path: Path, words: list[str]) -> None:
    secret = tmp_path / "secret"
    secret.write_text("Linux 6.8.0 x86_64\n")
    secret.chmod(0)
    tmp_path.chmod(0o755)
    done = kvgate(*(word.format(secret=secret, folder=tmp_path) for word in words))
    readable = os.access(secret, os.R_OK) and "{secret}" in words  # root reads everything
    assert done.exit_code in ((0, 3, 4) if readable else (4, 6)), done.stderr
    assert done.exit_code == 0 or done.stderr.strip()
