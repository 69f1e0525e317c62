"""The runbook in Chinese: title, meaning, numbers, commands and remedy of every clause, and no English sentence left."""

from __future__ import annotations

import re

import pytest

from kvgate import agreement as agreements
from kvgate.reports.messages import Reader
from kvgate.runbook import commands, sections
from tests.cli.conftest import Kvgate

CLAUSES = agreements.read().acceptance.clauses
HAN = re.compile(r"[\u4e00-\u9fff]")
#: Four words of prose; names, numbers and what stands between backticks or indented is the same in every language.
ENGLISH = re.compile(r"\b[a-z]{2,}(?: [a-z]{2,}){3,}\b")
HEADS = ("**含义**", "**手工确认**", "**STOP 时如何处理**", "英文全文：`kvgate --lang en runbook ")


def prose(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("    ")]
    return re.sub(r"`[^`]*`", "", "\n".join(lines))


@pytest.mark.parametrize("gate", ["G1", "G2", "G3", "G4"])
def test_every_clause_of_a_gate_is_told_in_chinese(kvgate: Kvgate, gate: str) -> None:
    for name, clause in CLAUSES.items():
        if not name.startswith(f"{gate}."):
            continue
        done = kvgate("--lang", "zh", "runbook", name)
        assert done.exit_code == 0, name
        shown = done.stdout
        assert shown.startswith(f"### {name} {clause.text.zh}"), name
        assert clause.remedy.zh in shown, name
        assert [head for head in HEADS if head not in shown] == [], name
        assert HAN.search(shown), name
        assert ENGLISH.search(prose(shown)) is None, (name, ENGLISH.search(prose(shown)))
        assert [one for one in commands(sections()[name]) if one not in shown] == [], name


def test_english_is_the_whole_section_with_the_agreed_sentence_numbers_and_remedy(kvgate: Kvgate) -> None:
    for name in ("G2.1.2", "G1.2.9", "G3.1.1"):
        shown = kvgate("--lang", "en", "runbook", name).stdout
        title, _, rest = sections()[name].partition("\n")
        clause = CLAUSES[name]
        assert shown.startswith(title), name
        assert rest.strip() in shown, name
        assert clause.text.en in shown, name
        assert clause.remedy.en in shown, name
        for key, limit in clause.limits.items():
            assert f"- `{key}`: {limit.value} " in shown, (name, key)
    media = kvgate("--lang", "en", "runbook", "G1.2.9").stdout
    assert "`media_errors`: 0 errors" in media
    assert "RAID0" in media


def test_every_unit_of_the_agreement_is_a_symbol_or_told_in_chinese() -> None:
    read = Reader("zh")
    units = {limit.unit for clause in CLAUSES.values() for limit in clause.limits.values()}
    assert [unit for unit in sorted(units) if len(unit) > 6 and not HAN.search(read.word(unit))] == []


def test_most_sections_name_commands_that_confirm_them() -> None:
    found = [name for name in CLAUSES if not commands(sections()[name])]
    assert len(found) <= 20, found
    assert commands("### X\n\n**By hand** `a b`, then `c`\n\n**Mend** `d`\n") == ("a b", "c")
    assert commands("### X\n\nConfirm by hand: `a`.\n\nMend: `d`\n") == ("a",)
