"""A sentence keeps its values until a reader's language is known; a bad translation never hides what was found."""

from __future__ import annotations

from checks.phrase import Phrase, say


def test_a_phrase_reads_as_english() -> None:
    assert str(say("{found} of {wanted} disks", found=3, wanted=4)) == "3 of 4 disks"


def test_a_translation_may_turn_the_words_around() -> None:
    phrase = say("{found} of {wanted} disks", found=3, wanted=4)
    assert phrase.render(lambda _: "应有 {wanted} 块盘，实有 {found} 块") == "应有 4 块盘，实有 3 块"


def test_a_phrase_within_a_phrase_is_translated_too() -> None:
    inner = say("degraded")
    table = {"state: {state}": "状态：{state}", "degraded": "降级"}
    assert say("state: {state}", state=inner).render(lambda text: table[text]) == "状态：降级"


def test_a_translation_with_a_wrong_placeholder_falls_back() -> None:
    phrase = say("{found} disks", found=3)
    for broken in (
        "{fond} 块盘",
        "{0} 块盘",
        "{found 块盘",
        "{found!x} 块盘",
        "{found:Q} 块盘",
        "{found.x} 块盘",
        "{found[0]} 块盘",
    ):
        assert phrase.render(lambda _, text=broken: text) == "3 disks"


def test_braces_of_a_value_are_no_placeholders() -> None:
    assert str(say("{text}", text="{x} and {0}")) == "{x} and {0}"
    assert str(say("{text}", text="{")) == "{"


def test_an_empty_phrase_is_empty() -> None:
    assert str(say("")) == ""
    assert str(Phrase("")) == ""


def test_equal_phrases_are_equal() -> None:
    assert say("{a}", a=1) == say("{a}", a=1) != say("{a}", a=2)
    assert len({say("{a}", a=1), say("{a}", a=1)}) == 1
