"""Everything a person reads can be read in both languages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from checks.phrase import Phrase, say
from kvgate import agreement
from kvgate.reports.messages import Reader, language
from lab.faults import chinese, every

ROOT = Path(__file__).parents[2]
LOCALE = ROOT / "kvgate" / "reports" / "locale"


def catalogue() -> dict[str, str]:
    with (LOCALE / "zh_CN" / "LC_MESSAGES" / "kvgate.po").open("rb") as file:
        return {_one(message.id): _one(message.string) for message in read_po(file) if message.id}


def _one(text: str | tuple[str, ...] | list[str]) -> str:
    """A message in several numbers stands under its singular; Chinese has one number."""
    return text if isinstance(text, str) else text[0]


def extracted(tmp_path: Path) -> set[str]:
    tool = Path(sys.executable).with_name("pybabel")
    out = tmp_path / "x.pot"
    command = [
        tool,
        "-q",
        "extract",
        "--no-location",
        "-k",
        "say",
        "-k",
        "read",
        "-o",
        out,
        "kvgate",
        "checks",
        "gates",
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    with out.open("rb") as file:
        return {_one(message.id) for message in read_po(file) if message.id}


def test_every_sentence_is_translated(tmp_path: Path) -> None:
    known = catalogue()
    missing = sorted(text for text in extracted(tmp_path) if not known.get(text))
    assert not missing, f"{len(missing)} sentences; run `make messages` and translate them"


def test_every_translation_keeps_its_placeholders() -> None:
    from string import Formatter

    def names(text: str) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(text) if name}

    with (LOCALE / "zh_CN" / "LC_MESSAGES" / "kvgate.po").open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    for message in messages:
        text = message.id if isinstance(message.id, str) else message.id[-1]  # the plural, whose form Chinese takes
        assert names(text) == names(_one(message.string)), text


def test_the_compiled_catalogue_is_the_written_one() -> None:
    read = Reader("zh")
    for text, said in catalogue().items():
        if said:
            assert said in (read._gettext(text), read._ngettext(text, "", 1)), "run `make messages`"


@pytest.mark.parametrize(("lang", "one", "two"), [("en", "1 host", "2 hosts"), ("zh", "1 台主机", "2 台主机")])
def test_a_number_takes_its_form(lang: str, one: str, two: str) -> None:
    read = Reader(lang)
    assert [read.ngettext("{count} host", "{count} hosts", count) for count in (1, 2)] == [one, two]


def test_a_sentence_without_translation_stays_english() -> None:
    assert Reader("zh")("no such {thing} here", thing="sentence") == "no such sentence here"


def test_a_translation_that_lost_a_placeholder_falls_back() -> None:
    assert Phrase("a {x}", (("x", 1),)).render(lambda _: "b {y}") == "a 1"


def test_phrases_nest() -> None:
    assert str(say("{a} of {b}", a=say("{n} disks", n=3), b=4)) == "3 disks of 4"


@pytest.mark.parametrize(
    ("wanted", "environment", "expected"),
    [
        (None, {}, "en"),
        (None, {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "en"),
        (None, {"LC_ALL": "C", "LANG": "zh_CN"}, "en"),
        (None, {"KVGATE_LANG": "zh", "LC_ALL": "C"}, "zh"),
    ],
)
def test_the_language_is_the_option_then_kvgate_lang_then_the_locale(
    wanted: str | None, environment: dict[str, str], expected: str
) -> None:
    assert language(wanted, environment) == expected


def test_both_languages_of_a_clause_name_the_same_commands() -> None:
    for name, clause in agreement.read().acceptance.clauses.items():
        for text in (clause.text, clause.remedy):
            told = [sorted(re.findall("`[^`]*`", words)) for words in (text.en, text.zh)]
            assert told[0] == told[1], name
            assert text.en.count("`") % 2 == 0, name


def test_no_chinese_sentence_is_written_with_half_width_marks() -> None:
    texts = [
        text.zh for clause in agreement.read().acceptance.clauses.values() for text in (clause.text, clause.remedy)
    ]
    wrong = [
        text
        for text in (*texts, *catalogue().values())
        if re.search(r"[\u4e00-\u9fff][,;:?!]|[,;?!][\u4e00-\u9fff]", text)
    ]
    assert not wrong


def test_one_thing_has_one_name_in_chinese() -> None:
    """A rack, a start ticket, a gate and a co-signature had two or three, some of them in one output."""
    others = {
        "机架": "机柜",
        "启动票据": "开始票据",
        "启动单": "开始票据",
        "副署": "会签",
        "共签": "会签",
        "门禁": "关卡",
    }
    assert not [(other, name, text) for text in catalogue().values() for other, name in others.items() if other in text]


def test_every_fault_of_the_lab_is_named_in_both_languages() -> None:
    assert set(chinese()) == set(every()), "lab/faults/chinese.yaml"


#: Units that are written alike in every language.
SYMBOLS = frozenset({"", "%", "°C", "B", "K", "GB/s", "GiB", "MiB", "h", "s", "ms", "us"})


def test_every_unit_of_the_agreement_is_told_in_chinese() -> None:
    units = {limit.unit for clause in agreement.read().acceptance.clauses.values() for limit in clause.limits.values()}
    reader = Reader("zh")
    assert not {unit for unit in units - SYMBOLS if reader.word(unit) == unit}
