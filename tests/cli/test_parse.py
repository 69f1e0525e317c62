"""``kvgate parse``: every parser by its command, from stdin and from a file; what cannot be read says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvgate.cli.parse import parsers
from tests.cli.conftest import Kvgate
from tests.parsers import seen

SAMPLES = Path(__file__).parents[1] / "parsers"


def sample(command: str, kind: str) -> tuple[Path, dict[str, object]]:
    for expected in sorted((SAMPLES / command).glob("*.json")):
        told: dict[str, object] = json.loads(expected.read_text("utf-8"))
        if kind in told:
            return expected.with_suffix(".txt"), told
    raise AssertionError(f"{command} has no {kind} sample")


def test_every_parser_is_listed_with_what_it_reads(kvgate: Kvgate) -> None:
    listed = json.loads(kvgate("parse", "--list", "--json").stdout)
    assert [one["command"] for one in listed] == sorted(parsers())
    shown = [line.split()[0] for line in kvgate("parse", "--list").stdout.splitlines()[1:] if not line.startswith(" ")]
    assert shown == sorted(parsers())
    assert kvgate("parse").stdout == kvgate("parse", "--list").stdout
    assert all(len(one["reads"].split()) > 3 for one in listed)


@pytest.mark.parametrize("command", sorted(parsers()))
def test_a_raw_output_becomes_its_fact_and_an_unreadable_one_a_reason(kvgate: Kvgate, command: str) -> None:
    file, told = sample(command, "fact")
    read = kvgate("parse", command, text=file.read_bytes())
    assert read.exit_code == 0, read.stderr
    assert json.loads(read.stdout) == told["fact"]
    assert json.loads(kvgate("parse", command, file).stdout) == told["fact"]
    file, told = sample(command, "refused")
    refused = kvgate("parse", command, text=file.read_bytes())
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert f"this output of {command} cannot be read: " in refused.stderr
    assert str(told["refused"]) in refused.stderr


@pytest.mark.parametrize("text", [b"", b"\xff\xfe\x00\x80" * 300, b"\x1f\x8b\x08\x00 no gzip\n"])
def test_whatever_comes_in_is_a_fact_or_refused(kvgate: Kvgate, text: bytes) -> None:
    for command in sorted(parsers()):
        assert kvgate("parse", command, text=text).exit_code in (0, 3), command


def test_the_versions_shown_are_those_that_the_tests_read(kvgate: Kvgate) -> None:
    assert seen.FILE.read_text("utf-8") == seen.text(), "run python -m tests.parsers.seen"
    listed = {one["command"]: one["seen"] for one in json.loads(kvgate("parse", "--list", "--json").stdout)}
    assert listed == seen.versions()


@pytest.mark.parametrize("size", [64 * 2**20 + 1])
def test_what_is_too_long_for_one_output_is_refused(kvgate: Kvgate, tmp_path: Path, size: int) -> None:
    file = tmp_path / "endless"
    with file.open("wb") as stream:
        stream.truncate(size)
    refused = kvgate("parse", "uname", file)
    assert refused.exit_code == 4
    assert "wanted the output of one command" in refused.stderr


def test_an_unknown_command_is_refused_with_what_is_near_it(kvgate: Kvgate) -> None:
    refused = kvgate("parse", "nvme-smart-logs")
    assert refused.exit_code == 4
    assert "near it: nvme-smart-log" in refused.stderr
    assert kvgate("parse", "qqq").exit_code == 4


def test_a_file_that_cannot_be_read_is_named(kvgate: Kvgate, tmp_path: Path) -> None:
    for place, said in ((tmp_path / "none", "does not exist"), (tmp_path, "is a directory")):
        refused = kvgate("parse", "uname", place)
        assert refused.exit_code == 4
        assert said in refused.stderr
