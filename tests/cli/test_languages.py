"""Help, refusals, faults and findings in the reader's language, wherever that is said; keys of JSON never."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import click
import pytest
from click import core, decorators, exceptions, formatting, parser, types

from kvgate.cli import click_words
from kvgate.reports.messages import Reader
from tests.cli.conftest import ROOT, Kvgate
from tests.cli.test_bad_arguments import command
from tests.cli.test_shell import commands
from tests.invoking import invoked

CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help_is_chinese_throughout(kvgate: Kvgate, words: tuple[str, ...]) -> None:
    shown = kvgate(*words, "--help", "--lang", "zh").stdout
    assert shown.startswith("用法")
    found = command(words)
    for text in [found.help, *(one.help for one in found.params if isinstance(one, click.Option))]:
        assert text
        assert text.split("\n\n")[0] not in " ".join(shown.split())
        assert CHINESE.search(Reader("zh")(text)), text


@pytest.mark.parametrize(
    "line",
    [
        ("--lang", "zh", "explain", "G1.9.999"), ("explain", "--lang", "zh", "G1.9.999"), ("explain", "G1.9.999", "--lang=zh"),
        ("inventory", "--lang", "zh", "check", "nowhere.yaml"), ("inventory", "check", "nowhere.yaml", "--lang", "zh"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_language_is_told_before_or_after_the_command(kvgate: Kvgate, line: tuple[str, ...]) -> None:
    refused = kvgate(*line, LC_ALL="C.UTF-8")
    assert refused.exit_code == 4
    assert CHINESE.search(refused.stderr)


@pytest.mark.parametrize("name", ["KVGATE_LANG", "LC_ALL", "LANG"])
def test_the_language_follows_the_environment(kvgate: Kvgate, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("LC_ALL")
    monkeypatch.setenv(name, "zh_CN.UTF-8")
    assert kvgate("--help").stdout.startswith("用法")
    assert kvgate("runs", "--lang", "en", "--help").stdout.startswith("Usage: ")


def test_a_word_of_the_command_is_not_taken_for_the_language(kvgate: Kvgate) -> None:
    assert not CHINESE.search(kvgate("explain", "--", "--lang").stderr)
    assert kvgate("explain", "--lang", "fr").exit_code == 4


def test_faults_of_an_inventory_are_chinese_and_their_json_is_not(kvgate: Kvgate, tmp_path: Path) -> None:
    text = (ROOT / "inventories" / "demo.yaml").read_text()
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        text.replace("campaign: demo", "campaign: <name>")
        .replace("chunk: 512 KiB}]", "chunk: 512}]")
        .replace("rack: e", "rak: e")
        .replace("mtu: 9000", "mtu: 9k")
        .replace("role: array", "role: arry")
    )
    shown = kvgate("inventory", "check", bad, "--lang", "zh").stderr.splitlines()
    assert len(shown) > 5
    for line in shown[1:]:
        assert re.search(r"：发现：\S.*；应为：\S.+", line), line
        assert not re.search(r"found|wanted|one of|the key|a whole number", line), line
    told = kvgate("inventory", "check", bad, "--lang", "zh", "--json").stdout
    assert told == kvgate("inventory", "check", bad, "--json").stdout
    assert not CHINESE.search(told)
    assert len(json.loads(told)["faults"]) == len(shown) - 1


def test_what_click_says_is_what_the_catalogue_has() -> None:
    said = "".join(inspect.getsource(module) for module in (core, decorators, exceptions, formatting, parser, types))
    said = said.replace('"\n                    "', "")
    for phrase in click_words.WORDS:
        assert phrase.template.replace("\n", "\\n").replace("\t", "\\t") in said, phrase.template
    for text in click_words.IN_NUMBERS:
        assert text in said, text


def test_a_language_that_kvgate_does_not_speak_is_refused_by_name() -> None:
    for value in ("de", "fr_FR.UTF-8"):
        told = invoked("parse", env={"KVGATE_LANG": value})
        assert told.exit_code == 4
        assert f"found KVGATE_LANG={value}, wanted one of en, zh" in told.stderr
    for value in ("", "en", "zh_CN.UTF-8", "ZH"):
        assert invoked("parse", "--help", env={"KVGATE_LANG": value}).exit_code == 0
