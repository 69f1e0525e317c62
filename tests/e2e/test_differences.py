"""A stored run judged again says which verdicts differ and what changed meanwhile; an older build's run is judged, not refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Run
from tests.e2e.remade import remade
from tests.e2e.site import Site

OTHER = "0" * 64
SMART, ROOM, KERNEL, GID = "G1.2.9", "G1.1.23", "G1.1.2", "G1.4.1"


def folder(run: Run) -> Path:
    journal = run.site.journal()
    assert journal is not None
    return journal.parent


def judge(run: Run, where: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Exit status and JSON of judging a folder that no ledger knows."""
    ended = run.site.kvgate("judge", str(where), "--json", *more, KVGATE_LEDGER=f"sqlite:///{where}/none.db")
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "during collection" not in ended.stderr, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def turned(clause: str, **fields: object) -> Callable[[list[Any]], None]:
    """Change the stored verdicts of one clause."""

    def change(rows: list[Any]) -> None:
        found = [row for row in rows if row[0] == clause]
        assert found, clause
        for row in found:
            row[3].update(fields)

    return change


def reasons(told: dict[str, Any], clause: str) -> set[str]:
    return {reason for one in told["differences"] if one["clause"] == clause for reason in one["reasons"]}


def now_notes(told: dict[str, Any], clause: str) -> set[str]:
    return {one["now"]["note"] for one in told["differences"] if one["clause"] == clause and one["now"]}


def test_nothing_differs_where_nothing_changed(stopped: Run) -> None:
    status, told = judge(stopped, folder(stopped))
    assert (status, told["outcome"], told["then"]) == (1, "STOP", "STOP")
    assert (told["compared_with"], told["vouched"], told["differences"]) == ("evidence", False, [])
    assert told["same"] == len(stopped.site.show(stopped.id)["verdicts"])
    ended = stopped.site.kvgate("judge", stopped.id[:12], "--json")
    assert (json.loads(ended.stdout)["compared_with"], json.loads(ended.stdout)["vouched"]) == ("ledger", True)


def test_each_difference_is_named_with_what_changed(passed: Run, tmp_path: Path) -> None:
    def verdicts(rows: list[Any]) -> None:
        turned(SMART, outcome="STOP")(rows)
        turned(GID, outcome="STOP")(rows)
        turned(KERNEL, outcome="STOP")(rows)
        turned(ROOM, unit="GB")(rows)

    def modules(found: dict[str, Any]) -> None:
        for name in ("checks.parsers.nvme_smart_log", "checks.roce.criteria", "checks.parsers.stat_f"):
            assert name in found
            found[name] = OTHER

    status, told = judge(passed, remade(folder(passed), tmp_path / "then", verdicts=verdicts, modules=modules))
    assert status == 0
    assert reasons(told, SMART) == {"parser changed: checks.parsers.nvme_smart_log"}
    assert reasons(told, GID) == {"judging changed: checks.roce.criteria"}
    assert reasons(told, ROOM) == {"parser changed: checks.parsers.stat_f"}
    (neither,) = reasons(told, KERNEL)
    assert neither.startswith("neither code nor limits changed")
    assert {one["clause"] for one in told["differences"]} == {SMART, GID, KERNEL, ROOM}
    first = told["differences"][0]
    assert (first["then"]["outcome"], first["now"]["outcome"]) == ("STOP", "PASS")
    ended = passed.site.pytest(
        "-m", "G1", "--replay", str(tmp_path / "then"), "--ledger", f"sqlite:///{tmp_path}/none.db"
    )
    assert "STOP then, PASS now; parser changed: checks.parsers.nvme_smart_log" in " ".join(ended.stdout.split())
    assert "nobody vouches" in ended.stderr


def test_a_limit_that_changed_is_named_with_both_numbers(serve: Callable[..., Site]) -> None:
    site = serve("disk-media-errors")
    limit = "{value: 10, unit: errors, origin: contract}"
    (site.folder / "overlay.yaml").write_text(f"overlay: {{{SMART}: {{limits: {{media_errors: {limit}}}}}}}\n")
    site.inventory.write_text("acceptance: overlay.yaml\n" + site.inventory.read_text("utf-8"), "utf-8")
    assert site.gate().returncode == 0
    run = site.runs()[0]["run"]
    assert site.kvgate("judge", run).returncode == 0
    ended = site.kvgate("judge", run, "--by", "installed", "--json")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["then"], told["outcome"]) == (1, "PASS", "STOP")
    assert reasons(told, SMART) == {"limit changed: media_errors 10 errors -> 0 errors"}
    assert "PASS" in {one["then"]["outcome"] for one in told["differences"]}


def test_a_question_that_the_run_did_not_ask_is_named(passed: Run, tmp_path: Path) -> None:
    def line(fields: dict[str, Any]) -> None:
        if fields.get("key") == "stat -f / /var/log":
            fields["key"] = fields["line"] = "stat -f -c '%S %b %a %n' / /var/log"

    status, told = judge(passed, remade(folder(passed), tmp_path / "then", line=line))
    assert status == 6
    assert {one["clause"] for one in told["differences"]} == {ROOM}
    assert all("question changed" in reason and "stat (stat-f)" in reason for reason in reasons(told, ROOM))


def test_a_run_of_an_older_build_is_judged_as_far_as_this_one_can(passed: Run, tmp_path: Path) -> None:
    def acceptance(document: dict[str, Any]) -> None:
        clauses = document["clauses"]
        clauses["G1.9.99"] = {**clauses[KERNEL], "check": "host.of_old"}  # decided by no test any more
        del clauses["G1.2.10"]  # came later
        clauses[SMART]["limits"] = {}  # decided without a number then
        clauses[GID]["subject"] = "host"  # was about something else
        clauses[GID]["where"] = {}

    def start(fields: dict[str, Any]) -> None:
        fields["code"] = "0.0.9"
        del fields["modules"]

    status, told = judge(passed, remade(folder(passed), tmp_path / "then", acceptance=acceptance, start=start))
    assert (status, told["outcome"], told["code_then"]) == (6, "UNDECIDED", "0.0.9")
    assert now_notes(told, "G1.9.99") == {f"kvgate {told['code']} has no gate test that decides it"}
    assert any("limit media_errors" in note for note in now_notes(told, SMART))
    assert "this version decides it about one nic, the run's agreement about one host" in now_notes(told, GID)
    assert reasons(told, "G1.2.10") == {f"kvgate 0.0.9 owed it; this version, {told['code']}, does not"}
    assert any("kept no digests" in reason for reason in reasons(told, SMART))
    assert any("owes less" in one for one in told["trouble"])


def test_an_agreement_that_cannot_be_read_names_the_version_that_can(passed: Run, tmp_path: Path) -> None:
    where = remade(
        folder(passed),
        tmp_path / "then",
        acceptance=lambda document: document["clauses"][KERNEL].update(colour="red"),
        start=lambda fields: fields.update(code="9.9.9"),
    )
    ended = passed.site.kvgate("judge", str(where), KVGATE_LEDGER=f"sqlite:///{tmp_path}/none.db")
    assert ended.returncode == 4
    assert "made by kvgate 9.9.9" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_is_owed_no_more_does_not_pass(passed: Run, tmp_path: Path) -> None:
    def verdicts(rows: list[Any]) -> None:
        rows.append([rows[0][0], "node-99", True, *rows[0][3:]])

    status, told = judge(passed, remade(folder(passed), tmp_path / "then", verdicts=verdicts))
    assert (status, told["outcome"]) == (6, "UNDECIDED")
    assert [one["now"] for one in told["differences"]] == [None]


def test_a_folder_without_verdicts_says_that_there_is_nothing_to_compare_with(passed: Run, tmp_path: Path) -> None:
    def line(fields: dict[str, Any]) -> None:
        if "rows" in fields:
            fields["rows"] = "gone"

    where = remade(folder(passed), tmp_path / "then", line=line)
    ended = passed.site.kvgate("judge", str(where), KVGATE_LEDGER=f"sqlite:///{tmp_path}/none.db")
    assert ended.returncode == 0
    assert "nothing to compare with" in " ".join(ended.stdout.split())


def test_a_beginning_that_several_runs_share_is_refused_with_their_names(passed: Run, tmp_path: Path) -> None:
    for name in ("20260101T000000-aa", "20260101T000000-ab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").write_text("")
    for beginning, said in (("2026", "2 runs below"), ("2027", "wanted a run"), ("", "wanted a run")):
        ended = passed.site.kvgate("judge", beginning, KVGATE_EVIDENCE=str(tmp_path))
        assert ended.returncode == 4, ended.stderr
        assert said in ended.stderr


def test_evidence_is_found_where_the_ledger_says_that_it_lies(passed: Run, tmp_path: Path) -> None:
    ended = passed.site.kvgate("judge", passed.id[:-2], KVGATE_EVIDENCE=str(tmp_path))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("words", [("judge", "2020"), ("show", "2020")])
def test_an_unknown_beginning_is_refused(passed: Run, words: tuple[str, ...]) -> None:
    ended = passed.site.kvgate(*words)
    assert ended.returncode == 4
    assert "2020" in ended.stderr
