"""Whatever a host calls itself, the draft reads back as exactly that, and a remark stays a remark."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.draft.form import Entry, Item, Known, Open, Page, Remark
from kvgate.inventory import strict_yaml

ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@settings(max_examples=60)
@given(value=ANY, remark=ANY, number=st.integers(-(10**15), 10**15), words=st.lists(ANY, max_size=3), key=ANY)
def test_what_is_written_reads_back(value: str, remark: str, number: int, words: list[str], key: str) -> None:
    page = Page()
    page.mapping(
        [
            Remark(remark),
            Entry("text", Known(value, remark)),
            Entry("number", Known(number, remark)),
            Entry("flag", Known(True)),
            Entry("words", Known(tuple(words), remark)),
            Entry("table", [Entry(f"k{key}", Known(value, ""))]),
            Entry(
                "items", (Item([Remark(remark), Entry("a", Known(value, remark)), Entry("b", [Entry("c", Known(1))])]),)
            ),
            Entry("none", ()),
            Entry("open", Open(value, remark)),
        ]
    )
    read = strict_yaml.parse(page.text(), "draft")
    assert not read.faults
    assert read.data == {
        "text": value, "number": number, "flag": True, "words": tuple(words), "table": {f"k{key}": value},
        "items": ({"a": value, "b": {"c": 1}},), "none": (), "open": read.data["open"],
    }  # fmt: skip
    assert read.data["open"].startswith("<")
    assert read.data["open"].endswith(">")
    assert len(page.decisions) == 1


def test_numbers_versions_and_words_of_yaml_stay_text() -> None:
    for word in (
        "0555567",
        "7.2",
        "1e3",
        "true",
        "No",
        "null",
        "~",
        "12:30",
        "0x10",
        "2026-11-28",
        "- a",
        "a: b",
        "a #b",
        "<x>",
    ):
        page = Page()
        page.mapping([Entry("a", Known(word))])
        assert strict_yaml.parse(page.text(), "draft").data == {"a": word}, word


def test_plain_words_stay_plain() -> None:
    page = Page()
    page.mapping(
        [
            Entry("a", Known("SAMSUNG MZQL23T8HCLS-00A07", "")),
            Entry("b", Known("3840755982336 B", "")),
            Entry("c", Known("/dev/md0", "")),
        ]
    )
    assert page.text() == "a: SAMSUNG MZQL23T8HCLS-00A07\nb: 3840755982336 B\nc: /dev/md0\n"
