"""``kvgate ledger``: a finished run moved to another ledger, and taken out as tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Kvgate, Stored


def test_a_ledger_moves_and_shows_the_same(kvgate: Kvgate, stored: Stored, tmp_path: Path) -> None:
    file, there = tmp_path / "rack.ledger", ["--ledger", f"sqlite:///{tmp_path}/there.db"]
    assert "rows written" in kvgate("ledger", "export", file, *stored.words).stdout
    first = kvgate("ledger", "import", file, *there)
    assert first.exit_code == 0, first.stderr
    for words in (["runs", "--json"], ["show", stored.run, "--json"]):
        assert kvgate(*words, *there).stdout == kvgate(*words, *stored.words).stdout
    again = kvgate("ledger", "export", file, *stored.words)
    assert again.exit_code == 4
    assert "there already" in again.stderr
    assert json.loads(kvgate("ledger", "import", file, *there, "--json").stdout)["added"] == 0


@pytest.mark.parametrize("text", ["", "{}\n", "\x00", "[1]\n"])
def test_what_is_no_exported_ledger_is_one_clear_line(kvgate: Kvgate, tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    refused = kvgate("ledger", "import", tmp_path / "file", "--ledger", f"sqlite:///{tmp_path}/x.db")
    assert refused.exit_code in (4, 6)
    assert str(tmp_path / "file") in refused.stderr
    assert not (tmp_path / "x.db").exists()


def test_tables_come_as_csv_and_as_files(kvgate: Kvgate, stored: Stored, tmp_path: Path) -> None:
    shown = json.loads(kvgate("show", stored.run, "--json", *stored.words).stdout)
    table = list(csv.DictReader(io.StringIO(kvgate("ledger", "table", "verdicts", *stored.words).stdout)))
    assert {(row["clause"], row["subject"], row["outcome"]) for row in table} == {
        (row["clause"], row["subject"], row["outcome"]) for row in shown["verdicts"]
    }
    numbers = kvgate("ledger", "table", "measurements", "-o", tmp_path / "m.parquet", *stored.words)
    assert numbers.exit_code == 0
    assert (tmp_path / "m.parquet").read_bytes()[:4] == b"PAR1"
    assert kvgate("ledger", "table", "runs", "--campaign", "none", *stored.words).stdout.count("\n") == 1
    assert kvgate("ledger", "table", "runs", "-o", tmp_path / "m.txt", *stored.words).exit_code == 4
