"""No argument that a person can give ends in a traceback, a hang or a verdict: every command with every bad value."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from kvgate.cli import main
from tests.cli.conftest import ROOT, Kvgate, Stored
from tests.cli.test_shell import commands

#: Statuses that mean: refused, could not be read, could not be told. 0 only where the value is a good one there.
BAD = {4, 3, 6}


def _missing(folder: Path) -> str:
    return str(folder / "missing")


def _directory(folder: Path) -> str:
    return str(folder)


def _unreadable(folder: Path) -> str:
    path = folder / "unreadable"
    path.write_text("rack: x\n")
    path.chmod(0)
    return str(path)


def _binary(folder: Path) -> str:
    path = folder / "binary"
    path.write_bytes(bytes(range(256)) * 40)
    return str(path)


def _fifo(folder: Path) -> str:
    path = folder / "fifo"
    os.mkfifo(path)
    return str(path)


def _odd_name(folder: Path) -> str:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe\xe9.yaml"))
    path.write_text("rack: x\n")
    return str(path)


VALUES: dict[str, Callable[[Path], str]] = {
    "missing": _missing, "folder": _directory, "here": lambda _: ".",
    "root": lambda _: "/", "unreadable": _unreadable, "binary": _binary, "fifo": _fifo,
    "zeros": lambda _: "/dev/zero", "empty": lambda _: "", "blank": lambda _: " ", "huge": lambda _: "9" * 400,
    "odd-name": _odd_name, "brackets": lambda _: "[bold]{x}%s\\N", "terminal": lambda _: "\x1b[31m\x07\n",
    "dash": lambda _: "-", "negative": lambda _: "-1", "chinese": lambda _: "机柜",
}  # fmt: skip


def command(words: tuple[str, ...]) -> click.Command:
    found: click.Command | None = main
    for word in words:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None
    return found


def lines() -> list[tuple[str, ...]]:
    """One command line a command and argument or option: ``{}`` stands for the bad value."""
    found: list[tuple[str, ...]] = []
    for words in commands():
        if isinstance(command(words), click.Group):
            continue
        parameters = command(words).params
        fill = {
            "hosts": "10.0.0.1",
            "file": "{good}",
            "run": "x",
            "clause": "G1.2.9",
            "table": "runs",
            "command": "uname",
            "gates": "G9",
        }
        needed = [
            fill.get(str(one.name), "runs") for one in parameters if isinstance(one, click.Argument) and one.required
        ]
        for one in parameters:
            if isinstance(one, click.Option):
                if one.is_flag or one.name in ("lang",):
                    continue
                arguments = needed if words != ("demo",) else ["G9"]  # a gate that is not there: nothing is started
                if words == ("inventory", "draft") and one.name != "output":
                    arguments = [*arguments, "-o", "{folder}/draft.yaml"]
                if words == ("rack", "serve") and one.name != "port":
                    arguments = [*arguments, "--port", "65535"]  # no room for its hosts: nothing is started
                if words == ("ledger", "export"):
                    arguments = ["{folder}/exported-" + str(one.name)]
                if words == ("doctor",) and one.name != "inventory":
                    arguments = [*arguments, "--inventory", "{binary}"]
                found.append((*words, one.opts[-1] + "={}", *arguments))
            elif one.name == "file" and words == ("parse",):
                found.append((*words, "uname", "--", "{}"))
            elif words == ("inventory", "draft"):
                found.append((*words, "-o", "{folder}/draft.yaml", "--", "{}"))
            else:
                found.append((*words, "--", "{}"))
    return found


def _filled(word: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        word = word.replace(name, value)
    return word


@pytest.mark.parametrize("kind", VALUES)
def test_every_command_bears_every_bad_value(
    kvgate: Kvgate,
    stored: Stored,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    monkeypatch.chdir(tmp_path)  # a bad name is a good name of a file to write, now and then
    value = VALUES[kind](tmp_path)
    places = {
        "{folder}": str(tmp_path), "{binary}": _binary(tmp_path), "{good}": str(ROOT / "inventories" / "demo.yaml"), "{}": value,
    }  # fmt: skip
    for words in lines():
        line = [_filled(word, places) for word in words]
        done = kvgate(*line, **stored.environment)
        judged = {1} if line[0] in ("verify", "audit") else set()  # there it means: something asked for does not hold
        assert done.exit_code in BAD | {0} | judged, (line, done.exit_code, done.stderr)
        said = capfd.readouterr().err
        children = said if words[:2] == ("soak", "run") else ""  # there a gate in a process of its own refuses
        if done.exit_code:
            assert (done.stderr + children + done.stdout * bool(judged)).strip(), line
