"""The shapes that many tools share are read strictly: what is cut, doubled or unknown is refused."""

from __future__ import annotations

import pytest

from checks import lexing
from checks.probe import UnreadableOutput


def refused(call: object, *args: object, says: str = "") -> None:
    with pytest.raises(UnreadableOutput, match=says):
        call(*args)  # type: ignore[operator]


def test_lines_need_a_final_newline() -> None:
    assert lexing.lines("a\nb\n") == ["a", "b"]
    refused(lexing.lines, "a\nb", says="may be cut")


@pytest.mark.parametrize("text", ["", " ", "\n", "\n\t \n"])
def test_lines_refuse_emptiness(text: str) -> None:
    refused(lexing.lines, text, says="empty")


def test_documents_are_found_within_talk() -> None:
    assert lexing.json_documents('note: x\n{"a": 1}\nmore talk\n  [2]\nlegend {not one}\n') == [{"a": 1}, [2]]


def test_a_bracket_inside_a_document_starts_no_other() -> None:
    assert lexing.json_documents('{"a":\n[1,\n{"b": 2}]}\n') == [{"a": [1, {"b": 2}]}]


def test_a_cut_document_is_refused_even_behind_a_whole_one() -> None:
    refused(lexing.json_documents, '{"a": 1}\n{"b": ', says="cannot be read")


def test_no_document_says_what_stands_there() -> None:
    refused(lexing.json_documents, "WARNING: No JSON data to report\n", says="No JSON data to report")
    refused(lexing.json_documents, "", says="no JSON")


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', '{"x": {"a": 1, "a": 1}}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', "[" * 200_000,
     '{"a": ' + "9" * 40 + "}", '{"a": ' + "9" * 5000 + "}"],
)  # fmt: skip
def test_documents_with_two_meanings_are_refused(text: str) -> None:
    refused(lexing.json_documents, text, says="cannot be read")


def test_a_counter_of_128_bits_is_read() -> None:
    assert lexing.json_document('{"a": 340282366920938463463374607431768211455}') == {"a": 2**128 - 1}


def test_placeholders_may_repeat_and_are_dropped() -> None:
    assert lexing.json_documents('{"0.00": 0, "0.00": 0, "a": 1}', placeholders=("0.00",)) == [{"a": 1}]
    refused(lexing.json_documents, '{"0.00": 0, "0.00": 0}', says="twice")


def test_one_document_means_one() -> None:
    assert lexing.json_document('{"a": 1}') == {"a": 1}
    refused(lexing.json_document, '{"a": 1}\n{"a": 2}', says="2 JSON documents")


def test_an_entry_has_the_kind_that_was_wanted() -> None:
    table = {"count": 3, "on": True, "name": "x", "none": None}
    assert lexing.entry(table, "count", int) == 3
    assert lexing.entry(table, "on", bool) is True
    assert lexing.entry(table, "none", (str, type(None))) is None
    refused(lexing.entry, table, "on", int, says="wanted int")
    refused(lexing.entry, table, "on", (int, float), says="wanted int or float")
    refused(lexing.entry, table, "name", int, says="wanted int")
    refused(lexing.entry, table, "absent", int, "disk", says="disk has no 'absent'")
    refused(lexing.entry, [1], "count", int, says="has no")
    refused(lexing.entry, None, "count", int, says="has no")


@pytest.mark.parametrize("text", ["7", " 7 ", "-7", "007"])
def test_whole_numbers(text: str) -> None:
    assert lexing.integer(text, "count") == int(text)


@pytest.mark.parametrize(
    "text", ["", " ", "N/A", "7.0", "7 %", "1,000", "1_000", "0x7", "+7", "1 2", "\u0667", "1" * 21, "7\n8"]
)
def test_what_is_no_whole_number(text: str) -> None:
    refused(lexing.integer, text, "count", says="count is")


@pytest.mark.parametrize("text", ["7", "7.5", "-0.25", "+1.0", " 7.5\n"])
def test_decimal_numbers(text: str) -> None:
    assert lexing.decimal(text, "load") == float(text)


@pytest.mark.parametrize("text", ["", "N/A", "nan", "inf", "1e5", "7,5", ".5", "7.", "1_0.0", "\u0667.5", "1" * 21])
def test_what_is_no_decimal_number(text: str) -> None:
    refused(lexing.decimal, text, "load", says="load is")


def test_a_tree_maps_path_to_value() -> None:
    text = "/sys/a/state:live\n/sys/a/address:traddr=1.2.3.4,trsvcid=4420\n/sys/a/empty:\n"
    assert lexing.tree(text) == {
        "/sys/a/state": "live",
        "/sys/a/address": "traddr=1.2.3.4,trsvcid=4420",
        "/sys/a/empty": "",
    }


def test_a_tree_keeps_all_lines_of_a_file() -> None:
    assert lexing.tree("/a:1\n/a:\n/a:3\n") == {"/a": "1\n\n3"}


def test_a_pci_address_in_a_path_is_no_separator() -> None:
    path = "/sys/bus/pci/devices/0000:c1:00.0/numa_node"
    assert lexing.tree(f"{path}:1\n") == {path: "1"}
    assert lexing.tree(f"{path}:a:b:c\n") == {path: "a:b:c"}


def test_a_value_that_is_a_pci_address_is_a_value() -> None:
    assert lexing.tree("/sys/class/nvme/nvme0/address:0000:41:00.0\n") == {
        "/sys/class/nvme/nvme0/address": "0000:41:00.0"
    }


def test_a_line_with_two_meanings_is_not_split_at_random() -> None:
    """The path's end looks like the begin of a PCI address: nobody can tell where the value starts."""
    refused(lexing.tree, "/sys/x/face:00:11.2\n", says="wanted /path:value")


@pytest.mark.parametrize("text", ["state:live\n", "/sys/a/state\n", "\n/a:1\n", "/a:1\ngrep: x: denied\n"])
def test_a_tree_refuses_other_lines(text: str) -> None:
    refused(lexing.tree, text, says="wanted /path:value")


def test_link_speeds_and_widths() -> None:
    assert lexing.link_speed("16.0 GT/s PCIe") == lexing.link_speed("16 GT/s") == 16.0
    assert lexing.link_speed("Unknown") is None
    refused(lexing.link_speed, "16", says="link speed")
    assert lexing.link_width("4") == 4
    assert [lexing.link_width(text) for text in ("0", "63", "255")] == [None, None, None]


def test_a_counter_table_needs_its_total() -> None:
    assert lexing.aer_total("RxErr 3\nTOTAL_ERR_COR 3", "TOTAL_ERR_COR") == 3
    refused(lexing.aer_total, "RxErr 3", "TOTAL_ERR_COR", says="may be cut")
    refused(lexing.aer_total, "TOTAL_ERR_COR 3\nTOTAL_ERR_COR 4", "TOTAL_ERR_COR", says="found 2")
