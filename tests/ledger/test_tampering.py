"""Rows stay as they are; who changes them with the database in hand is noticed by name."""

from __future__ import annotations

import pytest

from checks.verdict import Outcome
from kvgate.errors import Damaged, Unwritable
from kvgate.ledger.repository import Ledger
from tests.ledger.sample import BAD, GOOD, complete, tamper

TABLES = ("campaign", "inventory_snapshot", "acceptance_revision", "owed", "verdict", "measurement", "decision", "run")


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_neither_changed_nor_deleted(ledger: Ledger, url: str, table: str) -> None:
    complete(ledger, GOOD, BAD, GOOD, GOOD)
    column = {"campaign": "name", "owed": "subject", "run": "code"}.get(table)
    column = column or {"inventory_snapshot": "content", "acceptance_revision": "content"}.get(table, "run")
    for statement in (f"UPDATE {table} SET {column} = 'x'", f"DELETE FROM {table}"):
        with pytest.raises(Unwritable, match="append-only"):
            tamper(url, statement, guarded=True)
    assert ledger.check() == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # a form that SQLite alone has
def test_a_row_is_not_replaced_by_inserting_over_it(ledger: Ledger, url: str) -> None:
    complete(ledger, GOOD, BAD, GOOD, GOOD)
    columns = (
        "id, run, clause, subject, judgement, {}, measured, required, unit, note, content, evidence, basis, reason, utc"
    )
    names, values = columns.format("outcome"), columns.format("'PASS'")
    with pytest.raises(Unwritable, match="append-only"):
        tamper(url, f"INSERT OR REPLACE INTO verdict ({names}) SELECT {values} FROM verdict WHERE id = 2", guarded=True)
    assert ledger.check() == []


def test_a_decided_run_is_not_opened_again(ledger: Ledger, url: str) -> None:
    complete(ledger, BAD)
    with pytest.raises(Unwritable, match="append-only"):
        tamper(url, "UPDATE run SET state = 'started'", guarded=True)


ATTACKS = {
    "a verdict turned": (
        ("UPDATE verdict SET outcome = 'PASS', content = (SELECT content FROM verdict WHERE id = 1) WHERE id = 2",),
        "verdicts of run .* are not those that decision 1 was made on",
    ),
    "a decision turned": (
        ("UPDATE decision SET outcome = 'PASS' WHERE seq = 1",), "decision 1 was changed: its column outcome says something else",
    ),
    "a decision turned with its content": (
        ("UPDATE decision SET outcome = 'PASS', content = replace(content, 'STOP', 'PASS') WHERE seq = 1",),
        "decision 1 was changed: its content has another hash",
    ),
    "a verdict removed": (
        ("DELETE FROM measurement", "DELETE FROM verdict WHERE id = 2"), "verdicts of run .* are not those that decision 1",
    ),
    "a decision removed": (("DELETE FROM decision WHERE seq = 1",), "decision 1 is missing from the log"),
    "a clause owed no more": (("DELETE FROM owed WHERE place = 3",), "what it owes, is not what its start ticket says"),
    "a clause made advisory": (("UPDATE owed SET blocking = false WHERE place = 1",), "is not what its start ticket says"),
    "a simulated run made real": (("UPDATE run SET simulated = false",), "is not what its start ticket says"),
    "a text that people read": (("UPDATE verdict SET measured = 'x4' WHERE id = 2",), "its texts are not those of its verdict"),
    "a measured number": (("UPDATE measurement SET value = 8",), "measurements of run .* were changed"),
    "the inventory": (("UPDATE inventory_snapshot SET content = 'rack: b'",), "inventory 1 was changed"),
    "the agreement": (("UPDATE acceptance_revision SET content = '{\"clauses\":{\"G\":1}}'",), "agreement 1 was changed"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_named(ledger: Ledger, url: str, attack: str) -> None:
    statements, named = ATTACKS[attack]
    complete(ledger, GOOD, BAD, GOOD, GOOD)
    complete(ledger, GOOD, GOOD, GOOD, GOOD)
    tamper(url, *statements)
    with pytest.raises(AssertionError, match=named):
        raise AssertionError("\n".join(ledger.check()))


def test_a_failed_run_deleted_with_everything_leaves_a_gap(ledger: Ledger, url: str) -> None:
    failed, _ = complete(ledger, BAD)
    complete(ledger, GOOD, GOOD, GOOD, GOOD)
    tables = ("measurement", "verdict", "owed", "decision")
    tamper(
        url,
        *(f"DELETE FROM {table} WHERE run = '{failed.id}'" for table in tables),
        f"DELETE FROM run WHERE id = '{failed.id}'",
    )
    found = "\n".join(ledger.check())
    assert "run number 1 is missing" in found
    assert "decision 1 is missing" in found
    assert "attempts at G1 in campaign fx100 are [2]" in found


def test_a_log_cut_at_its_end_is_noticed_by_its_anchor(ledger: Ledger, url: str) -> None:
    complete(ledger, GOOD, GOOD, GOOD, GOOD)
    run, _ = complete(ledger, BAD)
    anchor = ledger.head()
    assert ledger.check([anchor, (0, ledger.decisions()[0].prev)]) == []
    tamper(url, "DELETE FROM decision WHERE seq = 2", f"UPDATE run SET state = 'started' WHERE id = '{run.id}'")
    assert ledger.check() == []
    assert ledger.check([anchor]) == [
        "decision 2 is missing that was anchored outside: the log was cut or written anew"
    ]


def test_a_pass_that_the_rows_contradict_is_reported_and_never_a_pass(ledger: Ledger, url: str) -> None:
    run, _ = complete(ledger, GOOD, BAD, GOOD, GOOD)
    tamper(url, "UPDATE decision SET outcome = 'PASS'")
    standing = ledger.outcome(run)
    assert standing.outcome is Outcome.UNDECIDED
    assert standing.problems == (f"run {run.id} was decided PASS, but its verdict rows come to STOP",)


def test_a_decided_state_without_a_decision_is_never_a_pass(ledger: Ledger, url: str) -> None:
    run, _ = complete(ledger, GOOD, GOOD, GOOD, GOOD)
    tamper(url, "DELETE FROM decision")
    assert ledger.outcome(run).outcome is Outcome.UNDECIDED
    assert "has no decision of it" in ledger.outcome(run).problems[0]


def test_a_row_that_says_two_things_is_damaged(ledger: Ledger, url: str) -> None:
    run, _ = complete(ledger, GOOD, BAD, GOOD, GOOD)
    tamper(url, "UPDATE verdict SET outcome = 'PASS' WHERE id = 2")
    with pytest.raises(Damaged, match=r"verdict row 2 .* says PASS, its content STOP"):
        ledger.verdicts(run)
    assert ledger.outcome(run).outcome is Outcome.UNDECIDED
    assert "verdict row 2" in ledger.outcome(run).problems[0]
    assert any("verdict row 2" in problem for problem in ledger.check())


def test_a_row_that_is_no_verdict_is_damaged(ledger: Ledger, url: str) -> None:
    run, _ = complete(ledger, GOOD, BAD, GOOD, GOOD)
    for content in ("", "{}", "[]", '{"outcome":"PASS","outcome":"PASS"}', "[" * 100_000):
        tamper(url, f"UPDATE verdict SET content = '{content}' WHERE id = 2")
        with pytest.raises(Damaged, match="cannot be read"):
            ledger.verdicts(run)
