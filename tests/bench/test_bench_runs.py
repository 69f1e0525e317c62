"""The measurements run and bring every answer; how fast they are is no test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import certificates, fan_out, gate, soak, table
from bench.sample import Sample


@pytest.mark.parametrize("kind", ["openssh", "rack"])
def test_one_host_is_asked_in_every_way_that_needs_no_other_library(tmp_path: Path, kind: str) -> None:
    taken = fan_out.measure(kind, [1], fan_out.OURS, {1: 1}, tmp_path, Path(sys.executable))
    assert {one.way for one in taken} == set(fan_out.OURS)
    assert not [one.trouble for one in taken if one.trouble]
    assert all(one.wall > 0 and one.cpu > 0 and one.peak > 10_000_000 for one in taken)
    assert len(table.rows(taken)) == 2 + len(fan_out.OURS)


def test_a_client_that_fails_is_shown_and_counts_for_nothing(tmp_path: Path) -> None:
    [taken] = fan_out.measure("openssh", [1], ["fabric"], {1: 1}, tmp_path, Path("/bin/false"))
    assert taken.trouble
    assert taken.trouble in table.rows([taken])[-1]


def test_a_gate_run_is_taken_apart(tmp_path: Path) -> None:
    [run] = gate.measure(2, 1, tmp_path)
    assert run.status == 0
    assert 0 < run.probes < run.wall - run.interval


def test_a_certificate_is_verified_against_every_blob(tmp_path: Path) -> None:
    made = certificates.make(tmp_path, 20, 30, 500)
    assert sum(1 for _ in (made.folder / "blobs").glob("*/*.gz")) == 30
    taken = certificates.measure(made, 1)
    assert {one.way for one in taken} == set(certificates.WAYS)
    next((made.folder / "blobs").glob("*/*.gz")).unlink()
    with pytest.raises(RuntimeError, match="missing"):
        certificates.verify(made)


def test_a_table_is_put_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- gate -->\nold\n<!-- /gate -->\nafter\n")
    table.put("gate", "new", page)
    assert page.read_text() == "before\n<!-- gate -->\nnew\n<!-- /gate -->\nafter\n"
    with pytest.raises(ValueError, match="openssh"):
        table.put("openssh", "new", page)


def test_ratios_are_to_plain_ssh_with_as_many_hosts() -> None:
    samples = [Sample("ssh", 8, 2.0, 0.2, 1, 10, 5, 0), Sample("kvgate", 8, 1.0, 0.1, 1, 10, 5, 0)]
    samples += [Sample("ssh", 1, 9.0, 9.0, 1, 10, 5, 0)]
    [row] = [row for row in table.rows(samples) if "**kvgate**" in row]
    assert row.startswith("| 8 | **kvgate** | 1.00 | 0.50 | 0.10 | 0.50 |")


def test_a_soak_is_judged_from_its_samples(tmp_path: Path) -> None:
    few, many = soak.measure(1, 2, [100_000, 500], tmp_path)
    assert few["hours"] == many["hours"] == 1
    assert few["rows"] == many["rows"] > 5000
    assert few["files"] < many["files"]
    assert many["peak_mb"] > 50
