"""``kvgate explain`` and ``kvgate runbook``: what a clause says, where its numbers come from, what to do about a STOP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvgate import agreement as agreements
from tests.cli.conftest import ROOT, Kvgate

CLAUSES = agreements.read().acceptance.clauses


def test_a_clause_is_explained_by_id_and_by_check_name_alike(kvgate: Kvgate) -> None:
    by_id, by_name = kvgate("explain", "G1.2.9"), kvgate("explain", CLAUSES["G1.2.9"].check)
    assert by_id.exit_code == by_name.exit_code == 0
    assert by_id.stdout == by_name.stdout
    for expected in (CLAUSES["G1.2.9"].text.en, "engineering default", "do on a STOP", "kvgate runbook G1.2.9"):
        assert expected in " ".join(by_id.stdout.split())


def test_every_clause_is_listed_and_explained(kvgate: Kvgate) -> None:
    shown = kvgate("explain").stdout
    listed = json.loads(kvgate("explain", "--json").stdout)
    assert list(listed) == list(CLAUSES)
    for name in CLAUSES:
        assert name in shown
    assert json.loads(kvgate("explain", "G1.2.9", "--json").stdout)["G1.2.9"] == listed["G1.2.9"]


@pytest.mark.parametrize(
    ("name", "near"),
    [("G1.2.99", "G1.2.9"), ("nvme.smart.media_error", "nvme.smart.media_errors"), ("g1.2.9", "G1.2.9"), ("xyz", "")],
)
@pytest.mark.parametrize("command", ["explain", "runbook"])
def test_an_unknown_clause_is_refused_with_what_is_near_it(kvgate: Kvgate, command: str, name: str, near: str) -> None:
    refused = kvgate(command, name)
    assert refused.exit_code == 4
    assert f"found {name!r}" in refused.stderr
    assert "`kvgate explain` lists them all" in refused.stderr
    assert near in refused.stderr
    assert refused.stdout == ""


@pytest.fixture
def overlaid(tmp_path: Path) -> Path:
    """Write an inventory whose campaign allows one media error more and makes the clause advisory."""
    (tmp_path / "campaign.yaml").write_text(
        "overlay:\n  G1.2.9:\n    weight: advisory\n    limits: {media_errors: {value: 1, unit: errors, origin: contract}}\n"
    )
    inventory = tmp_path / "rack.yaml"
    inventory.write_text("acceptance: campaign.yaml\n" + (ROOT / "inventories" / "demo.yaml").read_text())
    return inventory


def test_an_overlaid_number_is_shown_with_what_it_was(kvgate: Kvgate, overlaid: Path) -> None:
    shown = " ".join(kvgate("explain", "G1.2.9", "--inventory", overlaid).stdout.split())
    assert "overlaid: media_errors 0 errors -> 1 errors" in shown
    assert "overlaid: weight blocking -> advisory" in shown
    told = json.loads(kvgate("explain", "G1.2.9", "--inventory", overlaid, "--json").stdout)["G1.2.9"]
    assert (told["weight"], told["limits"]["media_errors"]["value"]) == ("advisory", 1)
    assert "G1.2.9 media_errors" in kvgate("inventory", "check", overlaid).stdout


def test_an_inventory_that_is_none_is_refused(kvgate: Kvgate, tmp_path: Path) -> None:
    refused = kvgate("explain", "G1.2.9", "--inventory", tmp_path / "none.yaml")
    assert refused.exit_code == 4
    assert "none.yaml" in refused.stderr


@pytest.mark.parametrize("name", [min(CLAUSES), "G1.2.9", "G1.4.20"])
def test_the_runbook_of_a_clause_says_how_to_confirm_and_how_to_mend(kvgate: Kvgate, name: str) -> None:
    shown = kvgate("runbook", name)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"### {name}")
    assert shown.stdout == kvgate("runbook", CLAUSES[name].check).stdout


def test_in_chinese_a_clause_reads_chinese(kvgate: Kvgate) -> None:
    shown = kvgate("--lang", "zh", "explain", "G1.2.9").stdout
    assert CLAUSES["G1.2.9"].text.zh in "".join(shown.split("\n"))
    assert CLAUSES["G1.2.9"].text.en not in shown


def test_the_language_follows_the_locale_and_yields_to_the_option(
    kvgate: Kvgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert CLAUSES["G1.2.9"].text.zh in "".join(kvgate("explain", "G1.2.9").stdout.split("\n"))
    assert CLAUSES["G1.2.9"].text.en in " ".join(kvgate("--lang", "en", "explain", "G1.2.9").stdout.split())
    assert kvgate("--lang", "fr", "explain").exit_code == 4


def test_the_runbook_is_found_from_every_folder(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "kvgate", "runbook", "G1.2.9"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("### G1.2.9")
