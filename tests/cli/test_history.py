"""``kvgate runs``, ``show`` and ``judge`` on a run that a fault stopped."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path

import pytest

from kvgate import agreement as agreements
from kvgate.codec import digest
from kvgate.ledger.repository import Ledger
from tests.cli.conftest import ROOT, Kvgate, Stored, started
from tests.ledger.sample import begin


def test_the_run_is_listed_and_shown_with_what_stopped_it(kvgate: Kvgate, stored: Stored) -> None:
    (listed,) = json.loads(kvgate("runs", *stored.words, "--json").stdout)
    assert (listed["run"], listed["outcome"], listed["gate"], listed["simulated"]) == (stored.run, "STOP", "G1", True)
    assert stored.run in kvgate("runs", *stored.words).stdout
    told = json.loads(kvgate("show", stored.run, *stored.words, "--json").stdout)
    assert {key: told[key] for key in listed if key != "missing"} | {"missing": len(told["missing"])} == listed
    stops = {row["clause"] for row in told["verdicts"] if row["outcome"] == "STOP"}
    assert stops == {"G1.2.9"}
    shown = kvgate("show", stored.run, *stored.words).stdout
    assert "G1.2.9" in shown
    assert "G1.2.10" not in shown
    assert "G1.2.10" in kvgate("show", stored.run, *stored.words, "--all").stdout


def test_a_stop_is_shown_with_what_to_do_as_the_gate_does(kvgate: Kvgate, stored: Stored) -> None:
    shown = " ".join(kvgate("show", stored.run, *stored.words).stdout.split())
    told = json.loads(kvgate("show", stored.run, *stored.words, "--json").stdout)
    remedies = {row["clause"]: row["remedy"] for row in told["verdicts"] if row["outcome"] == "STOP"}
    for clause, remedy in remedies.items():
        assert remedy
        assert shown.count(f"{clause} do: {remedy}") == 1
        assert f"more: kvgate runbook {clause}" in shown
    assert {row["remedy"] for row in told["verdicts"] if row["outcome"] == "PASS"} == {""}
    assert "kvgate runbook G1.2.10" not in shown
    chinese = kvgate("show", stored.run, *stored.words, "--lang", "zh").stdout
    assert "kvgate runbook G1.2.9" in chinese
    assert remedies["G1.2.9"] not in " ".join(chinese.split())


def test_the_evidence_id_that_is_suggested_leads_somewhere(kvgate: Kvgate, stored: Stored) -> None:
    shown = kvgate("show", stored.run, *stored.words).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("one answer as it was kept: ")]
    words = shlex.split(line.partition(": ")[2])
    assert kvgate(*words[1:]).exit_code == 0


def test_a_run_is_found_by_the_beginning_of_its_id(kvgate: Kvgate, stored: Stored) -> None:
    assert kvgate("show", stored.run[:-3], *stored.words).exit_code == 0


def test_filters_choose_runs(kvgate: Kvgate, stored: Stored) -> None:
    for words, count in (
        (["--gate", "G1"], 1),
        (["--gate", "G2"], 0),
        (["--campaign", "demo"], 1),
        (["--campaign", "x"], 0),
    ):
        assert len(json.loads(kvgate("runs", *stored.words, *words, "--json").stdout)) == count


@pytest.mark.parametrize("command", ["show", "judge"])
def test_an_unknown_run_is_refused(kvgate: Kvgate, stored: Stored, command: str) -> None:
    words = stored.words if command == "show" else ["--evidence", str(stored.var / "evidence")]
    refused = kvgate(command, "19990101T000000-00000000", *words)
    assert refused.exit_code == 4
    assert "19990101T000000-00000000" in refused.stderr


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "mysql://x/y",
        "sqlite://",
        "sqlite:///{folder}",
        "sqlite:///{folder}/text",
        "postgresql://127.0.0.1:1/x",
    ],
)
@pytest.mark.parametrize("command", [["runs"], ["show", "x"]])
def test_a_ledger_that_is_none_is_one_clear_line(kvgate: Kvgate, tmp_path: Path, url: str, command: list[str]) -> None:
    (tmp_path / "text").write_text("no database, only words\n" * 100)
    refused = kvgate(*command, "--ledger", url.format(folder=tmp_path))
    assert refused.exit_code in (4, 6)
    assert refused.stderr.strip()
    assert refused.stdout == ""


def test_a_stored_run_is_judged_again_to_the_same_decision(stored: Stored) -> None:
    again = started("judge", stored.run, "--evidence", stored.var / "evidence")
    assert again.returncode == 1, again.stderr
    assert "G1.2.9" in again.stdout


def test_a_campaign_whose_inventory_holds_a_key_that_moved_is_still_shown(kvgate: Kvgate, tmp_path: Path) -> None:
    """What an older version accepted stands in its ledger; a stricter rule must not hide the campaign."""
    text = (ROOT / "inventories" / "example-fx100-mi308x.yaml").read_text("utf-8")
    old = text.replace("\nserving:\n", "\nserving:\n  array_cache: 64 GB\n", 1)
    url = f"sqlite:///{tmp_path / 'old.db'}"
    with contextlib.closing(Ledger.open(url)) as book:
        content = agreements.read().canonical()
        begin(book, inventory=old, acceptance=content, acceptance_digest=digest(content))
    shown = kvgate("status", "--ledger", url, "--json")
    assert (shown.exit_code, "BadInput" in shown.stderr) == (0, False), shown.stderr
    assert json.loads(shown.stdout)["campaign"] == "fx100"


def test_a_run_that_has_no_end_says_how_it_is_gone_on_with_while_it_is_the_last(kvgate: Kvgate, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'kvgate.db'}"
    text = (ROOT / "inventories" / "example-fx100-mi308x.yaml").read_text("utf-8")
    content = agreements.read().canonical()
    with contextlib.closing(Ledger.open(url)) as book:
        more = {"inventory": text, "acceptance": content, "acceptance_digest": digest(content)}
        first = begin(book, **more)
        shown = kvgate("show", first.id, "--ledger", url).stdout
        assert "--only-stale; or close it: kvgate close" in shown
        book.interrupt(first, "the laptop went away")
        ended = kvgate("show", first.id, "--ledger", url).stdout
        assert "go on with what could not be told: pytest -m G1" in ended
        assert "kvgate close" not in ended
        begin(book, **more)
        assert "go on with" not in kvgate("show", first.id, "--ledger", url).stdout
