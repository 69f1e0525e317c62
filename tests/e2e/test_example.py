"""The run of G3 beside the runbooks: judged as when it was kept, and not at all like that where a byte of it is another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.example import FOLDER, PACKED, REPORT, came_of, unpacked
from tests.e2e.site import Site

AGAIN = "where that is meant: python -m tests.e2e.example /srv/kvgate-example"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Nothing but a folder: no rack and no ledger."""
    (tmp_path / "site").mkdir()
    return Site(tmp_path / "site", [])


def test_it_is_judged_as_when_it_was_kept(site: Site, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = site.kvgate("judge", str(unpacked(tmp_path / "run")), "--json", "--junitxml", str(report))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["gate"], told["outcome"], told["vouched"]) == ("G3", "PASS", False)
    assert told["same"] == len(EXPECTED)
    assert not told["differences"], AGAIN
    assert came_of(report) == EXPECTED, AGAIN
    assert {row["clause"] for row in EXPECTED} >= {"G3.1.1", "G3.2.2", "G3.3.1", "G3.4.1", "G3.5.1", "G3.9.2"}


def test_it_passes_no_more_where_a_byte_of_a_measured_load_is_another(site: Site, tmp_path: Path) -> None:
    run = unpacked(tmp_path / "run")
    largest = max(
        (path for path in run.rglob("*") if path.is_file() and "blobs" in path.parts),
        key=lambda path: path.stat().st_size,
    )
    largest.chmod(0o600)
    kept = bytearray(largest.read_bytes())
    kept[len(kept) // 2] ^= 1
    largest.write_bytes(kept)
    assert site.kvgate("judge", str(run)).returncode != 0


@pytest.mark.parametrize("language", sorted(REPORT))
def test_the_reports_that_are_kept_tell_what_was_judged(language: str) -> None:
    text = REPORT[language].read_text("utf-8")
    numbers = {row["clause"]: row["measured"].split(" %")[0] for row in EXPECTED if row["subject"] == "tp8/c8"}
    assert all(numbers[clause] in text for clause in ("G3.3.1", "G3.4.1"))
    assert {"en": "SIMULATED", "zh": "模拟"}[language] in text


def test_it_stays_small() -> None:
    assert PACKED.stat().st_size < 1_000_000
