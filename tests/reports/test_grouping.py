"""What is alike is told once, and nothing is lost by it."""

from __future__ import annotations

import io

import pytest
from rich.table import Table

from checks.decision import Owed
from checks.phrase import Phrase, joined, say
from checks.verdict import Verdict
from kvgate.reports import grouping, terminal


def down(host: str) -> Phrase:
    return say("{text}", text=f"{host} refused the connection; is sshd running?")


def row(clause: str, subject: str, why: Phrase, blocking: bool = True) -> tuple[Owed, Verdict]:
    return Owed(clause, subject, blocking), Verdict.undecided(why)


def host(name: str, clauses: int = 5) -> list[tuple[Owed, Verdict]]:
    return [row(f"G1.1.{number}", name, down(name), number > 1) for number in range(1, clauses + 1)]


def test_hosts_that_are_down_alike_are_one_group() -> None:
    (group,) = grouping.alike([*host("node-01"), *host("node-02"), *host("node-03")])
    assert [str(reason).split()[0] for reason in group.reasons] == ["node-01", "node-02", "node-03"]
    assert len(group.rows) == 15
    assert group.clauses(blocking=True) == ["G1.1.2", "G1.1.3", "G1.1.4", "G1.1.5"]
    assert group.clauses(blocking=False) == ["G1.1.1"]


def test_a_clause_about_all_of_them_joins_the_group_and_is_not_told_again() -> None:
    whole = row("G1.1.26", "rack", joined([down("node-01"), down("node-02")]))
    first = row("G1.1.27", "rack", down("node-01"))
    (group,) = grouping.alike([*host("node-01"), *host("node-02"), whole, first])
    assert {owed.clause for owed, _ in group.rows} >= {"G1.1.26", "G1.1.27"}
    assert len(group.reasons) == 2


def test_a_reason_with_something_more_stays_on_its_own() -> None:
    more = row("G1.1.26", "rack", joined([down("node-01"), say("the switch is silent")]))
    (group,) = grouping.alike([*host("node-01"), more])
    assert more not in group.rows


def test_hosts_with_different_clauses_are_groups_of_their_own() -> None:
    assert len(grouping.alike([*host("node-01"), *host("fx100-a", clauses=6)])) == 2


def test_few_clauses_are_told_one_by_one() -> None:
    assert grouping.alike(host("node-01", clauses=grouping.MANY - 1)) == []


@pytest.mark.parametrize(
    ("clauses", "text"),
    [
        (["G1.2.1", "G1.2.2", "G1.2.3", "G1.2.9"], ["G1.2: 1-3 9"]),
        (["G1.2.10", "G1.2.9"], ["G1.2: 9 10"]),
        (["G1.1.1", "G1.2.1"], ["G1.1: 1", "G1.2: 1"]),
        ([], []),
    ],
)
def test_clauses_are_told_in_ranges(clauses: list[str], text: list[str]) -> None:
    assert list(grouping.spans(clauses)) == text


def test_subjects_with_the_same_finding_are_put_together_whatever_their_names() -> None:
    items = [Owed("G1.2.1", subject, True) for subject in ("node-01:S1", "node-02:S2", "node-03:S3")]
    texts = ["node-01: nvme is not installed", "node-02: nvme is not installed", "node-03: permission denied"]
    assert grouping.same(dict(zip(items, texts, strict=True))) == [items[:2], items[2:]]
    numbers = dict(zip(items, ["measured 1", "measured 2", "measured 1"], strict=True))
    assert grouping.same(numbers) == [[items[0], items[2]], [items[1]]]


def test_lines_have_no_blanks_at_their_end_where_no_terminal_is() -> None:
    stream = io.StringIO()
    table = Table.grid(padding=(0, 2))
    table.add_row("a", "bb", "")
    table.add_row("aaaa", "b", "")
    terminal.console(stream).print(table)
    lines = stream.getvalue().splitlines()
    assert [line.split() for line in lines] == [["a", "bb"], ["aaaa", "b"]]
    assert all(line == line.rstrip() for line in lines)
