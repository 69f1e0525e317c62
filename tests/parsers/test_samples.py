"""Every parser against its data files: real outputs are read to the right values, bad ones are refused with the reason."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import checks.parsers
from checks.probe import UnreadableOutput
from tests.parsers.samples import ROOT, Sample, parsers, plain, samples, text

#: What no tool prints: nothing, blanks, binary, and half a line.
GARBAGE = ("", "\n", " \n\t\n", "\x00\x01\x02", "garb", "{", "[[", "\ufffd\ufffd")


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.id)
def test_a_sample_is_read_as_written_beside_it(sample: Sample) -> None:
    parse = parsers()[sample.command]
    if sample.readable:
        assert plain(parse(text(sample.raw))) == sample.expected["fact"]
    else:
        with pytest.raises(UnreadableOutput) as refusal:
            parse(text(sample.raw))
        assert sample.expected["refused"] in str(refusal.value)


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.id)
def test_a_reading_says_where_it_comes_from(sample: Sample) -> None:
    assert sample.expected.keys() <= {"fact", "refused", "source", "made"}
    assert ("fact" in sample.expected) != ("refused" in sample.expected)
    assert sample.expected.get("refused", "x"), "an empty reason would match any refusal"
    assert sample.expected["source"].strip()


@pytest.mark.parametrize("command", parsers())
def test_a_parser_has_samples_of_both_kinds(command: str) -> None:
    kinds = {sample.readable for sample in samples() if sample.command == command}
    assert kinds == {True, False}, (
        f"tests/parsers/{command} lacks {'a refused' if True in kinds else 'a readable'} sample"
    )


@pytest.mark.parametrize("command", parsers())
@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
def test_garbage_is_refused(command: str, garbage: str) -> None:
    with pytest.raises(UnreadableOutput):
        parsers()[command](garbage)


@pytest.mark.parametrize("command", parsers())
def test_the_parser_file_is_named_after_its_command(command: str) -> None:
    name = command.replace("-", "_")
    assert (Path(checks.parsers.__path__[0]) / f"{name}.py").exists()


def test_every_text_has_its_reading_and_every_reading_its_text() -> None:
    files = [path for path in ROOT.rglob("*--*") if path.suffix in {".txt", ".json"}]
    alone = [p for p in files if not p.with_suffix({".txt": ".json", ".json": ".txt"}[p.suffix]).exists()]
    assert alone == []


def test_every_folder_belongs_to_a_parser() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(parsers())


def test_every_sample_name_says_version_and_case() -> None:
    wrong = [path.name for path in ROOT.rglob("*.txt") if path.parent != ROOT and "--" not in path.stem]
    assert wrong == []


def _index() -> Iterator[tuple[str, str, str]]:
    with (ROOT / "index.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield row["file"], row["family"], row["sha256"]


def test_no_public_sample_is_forgotten() -> None:
    """The 95 outputs that parsers must survive stand, unchanged, in a folder of their family."""
    kept: dict[str, set[str]] = {}
    for sample in samples():
        kept.setdefault(hashlib.sha256(sample.raw).hexdigest(), set()).add(sample.command)
    rows = list(_index())
    assert len(rows) == 95
    missing = [
        name
        for name, family, digest in rows
        if not any(command.replace("_", "-").startswith(family.replace("_", "-")) for command in kept.get(digest, ()))
    ]
    assert missing == []
